import { describe, expect, it, onTestFinished } from 'vitest';
import { SimulatedHost } from '../../sim/process-info.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import { openClient } from '../../src/client/open-client.ts';
import { TaskError } from '../../src/contract/index.ts';
import { spoolDefaults } from '../../src/core/defaults.ts';
import { FOLDER, OutboxWorld } from './outbox-world.ts';
import { html, refusal, reset } from './people.ts';

const HOUR = 3_600_000;

const failure = async (work: Promise<unknown>): Promise<TaskError> => {
  const error = await work.then(
    (value) => value,
    (thrown: unknown) => thrown,
  );
  if (error instanceof TaskError) return error;
  throw new Error(`no TaskError: ${JSON.stringify(error)}`);
};

describe('a producer with an outbox', () => {
  it('makes the submission durable before it is sent for the first time, and forgets it when it was answered', async () => {
    const world = await OutboxWorld.start();
    const { producer, outbox } = await world.producer();
    let before = 0;
    world.people.mishap = (_, { path }) => {
      if (path !== '/tasks/batch') return undefined;
      before = world.files('intents').length;
      const trace = world.disk.trace.join('\n');
      expect(trace).toMatch(
        /syncFile .*intents[^\n]*\n(.*\n)*rename .*intents[^\n]*\n(.*\n)*syncFolder .*intents/,
      );
      return undefined;
    };
    const task = await world.settled(producer.submit('demo/hello', 1, { name: 'Ada' }));
    expect(task).toMatchObject({ stored: false, status: 'queued', replayed: false });
    expect(before).toBe(1);
    await world.settled(outbox.stop());
    expect(world.files('intents')).toEqual([]);
  });

  it('resolves as stored when nobody answers, and submits it once when somebody does', async () => {
    const world = await OutboxWorld.start();
    const told: unknown[] = [];
    const { producer, outbox, log } = await world.producer({
      onSubmitted: (submission, task) => told.push([submission.idempotencyKey, task.input]),
    });
    world.people.mishap = reset;
    const made = await world.settled(producer.submit('demo/hello', 1, 'away'));
    if (!made.stored) throw new Error('submitted');
    expect(made).toMatchObject({ stored: true, type: 'demo/hello', schemaVersion: 1 });
    expect(made.idempotencyKey).toMatch(/^req_/);
    expect(made.why).toMatchObject({ code: 'UNREACHABLE' });
    // As a program writes it into its log, with the reason.
    expect(JSON.parse(JSON.stringify(made))).toMatchObject({
      idempotencyKey: made.idempotencyKey,
      why: { name: 'TaskError', code: 'UNREACHABLE', message: made.why.message, retryable: true },
    });
    const taken = producer.await(made as unknown as string);
    await expect(taken).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining(`${made.idempotencyKey} is stored and has no task yet`),
    });
    expect(log.of('outbox.away')).toHaveLength(1);
    world.people.mishap = () => undefined;
    await world.advance(60_000);
    expect(await world.inputs()).toEqual(['away']);
    expect(told).toHaveLength(1);
    expect(world.files('intents')).toEqual([]);
    await world.settled(outbox.stop());
  });

  it('makes one task where the answer was lost after the effect, also across a crash', async () => {
    const world = await OutboxWorld.start();
    const first = await world.producer();
    world.people.mishap = async (go, { path }) => {
      if (path !== '/tasks/batch') return undefined;
      await go();
      return reset();
    };
    const made = await world.settled(first.producer.submit('demo/hello', 1, 'once'));
    expect(made.stored).toBe(true);
    first.kill();
    world.people.mishap = () => undefined;
    const second = await world.producer();
    await world.settled(second.outbox.start());
    await world.advance(5_000);
    expect(await world.inputs()).toEqual(['once']);
    expect(world.files('intents')).toEqual([]);
    await world.settled(second.outbox.stop());
  });

  it('waits for an answer as long as the call says, and is stored after that', async () => {
    const world = await OutboxWorld.start();
    const { producer, outbox } = await world.producer();
    world.people.mishap = reset;
    const late = producer.submit('a', 1, 'comes', { timeoutMs: 20_000 });
    await world.advance(5_000);
    world.people.mishap = () => undefined;
    expect(await world.settled(late)).toMatchObject({ stored: false });
    world.people.mishap = reset;
    const startMs = world.people.nowMs;
    const never = await world.settled(producer.submit('a', 1, 'not now', { timeoutMs: 20_000 }));
    expect(never.stored).toBe(true);
    expect(world.people.nowMs - startMs).toBeGreaterThanOrEqual(20_000);
    await world.settled(outbox.stop());
  });

  it('gives up waiting at a signal, and keeps the submission', async () => {
    const world = await OutboxWorld.start();
    const { producer, outbox } = await world.producer();
    world.people.mishap = reset;
    const controller = new AbortController();
    const made = producer.submit('a', 1, 1, { timeoutMs: 60_000, signal: controller.signal });
    await world.advance(1_000);
    controller.abort();
    expect((await world.settled(made)).stored).toBe(true);
    expect(world.files('intents')).toHaveLength(1);
    await world.settled(outbox.stop());
  });

  it('sends what waits in the order of its submission, in batches', async () => {
    const world = await OutboxWorld.start();
    const { producer, outbox } = await world.producer();
    world.people.mishap = reset;
    for (let i = 0; i < 5; i++) await world.settled(producer.submit('a', 1, i));
    const many = Array.from({ length: 230 }, (_, i) => ({
      type: 'a',
      schemaVersion: 1,
      input: 5 + i,
    }));
    const outcomes = await world.settled(producer.submitMany(many));
    expect(outcomes.every((one) => one.ok && one.stored?.stored)).toBe(true);
    world.people.mishap = () => undefined;
    world.people.sent.splice(0);
    await world.advance(60_000);
    expect(world.sentInputs()).toEqual(Array.from({ length: 235 }, (_, i) => i));
    expect(await world.inputs()).toHaveLength(235);
    expect(world.people.bodies('/tasks/batch').map((body) => (body as unknown[]).length)).toEqual([
      100, 100, 35,
    ]);
    expect(world.files('intents')).toEqual([]);
    await world.settled(outbox.stop());
  });

  it('comes back sooner when any other call is answered', async () => {
    const world = await OutboxWorld.start();
    const { producer, outbox } = await world.producer();
    world.people.mishap = reset;
    await world.settled(producer.submit('a', 1, 'soon'));
    await world.advance(300_000);
    world.people.mishap = () => undefined;
    const atMs = world.people.nowMs;
    await world.settled(producer.listPage());
    await world.advance(10);
    expect(world.files('intents')).toEqual([]);
    expect(world.people.nowMs - atMs).toBeLessThan(1_000);
    await world.settled(outbox.stop());
  });

  it('asks at most every 40 s or so while nobody answers, and honours Retry-After', async () => {
    const world = await OutboxWorld.start();
    const { producer, outbox } = await world.producer();
    world.people.mishap = reset;
    await world.settled(producer.submit('a', 1, 1));
    await world.advance(600_000);
    expect(world.people.sent.length).toBeGreaterThan(14);
    expect(world.people.sent.length).toBeLessThan(60);
    world.people.mishap = (_, { path }) =>
      path === '/tasks/batch' ? refusal(429, 'RATE_LIMITED', { 'retry-after': '300' }) : undefined;
    await world.advance(45_000);
    const asked = world.people.bodies('/tasks/batch').length;
    await world.advance(250_000);
    expect(world.people.bodies('/tasks/batch')).toHaveLength(asked);
    await world.settled(outbox.stop());
  });
});

describe('what the control plane refuses', () => {
  it('is thrown to whoever waits, and is stored no more', async () => {
    const world = await OutboxWorld.start();
    const { producer, outbox } = await world.producer();
    await world.settled(producer.submit('a', 1, 1, { idempotencyKey: 'k' }));
    const error = await world.settled(failure(producer.submit('a', 1, 2, { idempotencyKey: 'k' })));
    expect(error.code).toBe('IDEMPOTENCY_CONFLICT');
    await world.settled(outbox.stop());
    expect([...world.files('intents'), ...world.files('refused')]).toEqual([]);
  });

  it('is never stored where the contract already says so', async () => {
    const world = await OutboxWorld.start();
    const { producer, outbox } = await world.producer();
    const error = await world.settled(failure(producer.submit('no type', 1, 1)));
    expect(error.code).toBe('INVALID_REQUEST');
    const large = await world.settled(failure(producer.submit('a', 1, 'x'.repeat(300_000))));
    expect(large.code).toBe('PAYLOAD_TOO_LARGE');
    expect(large.message).toContain('262144');
    expect(world.files('intents')).toEqual([]);
    expect(world.people.bodies('/tasks/batch')).toEqual([]);
    await world.settled(outbox.stop());
  });

  it('is set aside with the answer and told when nobody waits, and holds up nothing', async () => {
    const world = await OutboxWorld.start();
    const told: string[] = [];
    const { producer, outbox, log } = await world.producer({
      onRefused: ({ idempotencyKey }, error) => told.push(`${idempotencyKey} ${error.code}`),
    });
    await world.settled(producer.submit('a', 1, 'first', { idempotencyKey: 'k' }));
    world.people.mishap = reset;
    await world.settled(producer.submit('a', 1, 'another', { idempotencyKey: 'k' }));
    await world.settled(producer.submit('a', 1, 'behind'));
    world.people.mishap = () => undefined;
    await world.advance(60_000);
    expect(await world.inputs()).toEqual(['behind', 'first']);
    expect(told).toEqual(['k IDEMPOTENCY_CONFLICT']);
    expect(log.of('outbox.refused')).toHaveLength(1);
    const [file = ''] = world.files('refused');
    const text = Buffer.from(world.disk.platter.get(file)?.bytes ?? []).toString();
    expect(JSON.parse(text)).toMatchObject({
      kind: 'refused',
      answer: { code: 'IDEMPOTENCY_CONFLICT', status: 409 },
      record: { body: { input: 'another' } },
    });
    expect(world.files('intents')).toEqual([]);
    await world.settled(outbox.stop());
  });

  it('and kept where the key is wrong: told, and sent with the right one', async () => {
    const world = await OutboxWorld.start();
    const { producer, outbox, log } = await world.producer();
    let asked = 0;
    world.people.mishap = (_, { path }) => {
      if (path === '/') return undefined;
      asked++;
      return refusal(401, 'UNAUTHENTICATED');
    };
    const made = await world.settled(producer.submit('a', 1, 'kept'));
    expect(made).toMatchObject({ stored: true, why: { code: 'UNAUTHENTICATED' } });
    await world.advance(600_000);
    expect(log.of('outbox.key')).toHaveLength(1);
    // At most a minute apart, and no hot loop.
    expect(asked).toBeGreaterThan(8);
    expect(asked).toBeLessThan(25);
    world.people.mishap = () => undefined;
    await world.advance(90_000);
    expect(await world.inputs()).toEqual(['kept']);
    await world.settled(outbox.stop());
  });

  it('a submission over which a proxy stumbles each time holds up nothing behind it', async () => {
    const world = await OutboxWorld.start();
    const { producer, outbox } = await world.producer();
    world.people.mishap = reset;
    for (const input of ['good 1', 'poison', 'good 2', 'good 3'])
      await world.settled(producer.submit('a', 1, input));
    world.people.mishap = (_, { body }) =>
      JSON.stringify(body ?? null).includes('poison') ? html(502) : undefined;
    await world.advance(120_000);
    expect(await world.inputs()).toEqual(['good 1', 'good 2', 'good 3']);
    expect(world.files('intents')).toHaveLength(1);
    const more = await world.settled(producer.submit('a', 1, 'good 4'));
    expect(more.stored).toBe(false);
    await world.settled(outbox.stop());
  });
});

describe('several processes with one outbox', () => {
  it('may all store and send at once: one task each', async () => {
    const world = await OutboxWorld.start();
    const producers = await Promise.all([1, 2, 3].map(() => world.producer()));
    world.people.mishap = reset;
    const stored = producers.flatMap(({ producer }, p) =>
      Array.from({ length: 10 }, (_, i) => producer.submit('a', 1, `${p}/${i}`)),
    );
    const made = await world.settled(Promise.all(stored));
    expect(made.every((one) => one.stored)).toBe(true);
    world.people.mishap = () => undefined;
    await world.advance(120_000);
    const inputs = await world.inputs();
    expect(inputs).toHaveLength(30);
    expect(new Set(inputs).size).toBe(30);
    // Idle ones look now and then.
    const before = world.disk.steps;
    await world.advance(600_000);
    expect(world.disk.steps - before).toBeLessThan(200);
    expect(world.files('intents')).toEqual([]);
    for (const { outbox } of producers) await world.settled(outbox.stop());
  });

  it('send what one of them left that was killed, also while it held the lock', async () => {
    const world = await OutboxWorld.start();
    const early = await world.producer();
    world.people.mishap = reset;
    await world.settled(early.producer.submit('a', 1, 'early'));
    early.kill();
    // It finds what the other left, takes the lock for it, and is killed too.
    const heir = await world.producer();
    await world.settled(heir.outbox.start());
    await world.advance(5_000);
    heir.kill();
    world.people.mishap = () => undefined;
    const last = await world.producer();
    await world.settled(last.outbox.start());
    await world.advance(60_000);
    expect(await world.inputs()).toEqual(['early']);
    expect(world.files('intents')).toEqual([]);
    await world.settled(last.outbox.stop());
  });

  it('one of them waits for an answer that another one got', async () => {
    const world = await OutboxWorld.start();
    const patient = await world.producer();
    world.people.mishap = reset;
    const waiting = patient.producer.submit('a', 1, 'shared', { timeoutMs: 120_000 });
    await world.advance(100);
    const [file = ''] = world.files('intents');
    expect(file).not.toBe('');
    // As the other one does after an answer.
    world.disk.platter.change([file, undefined]);
    world.people.mishap = () => undefined;
    expect(await world.settled(waiting)).toMatchObject({ stored: false });
    await world.settled(patient.outbox.stop());
  });
});

describe('a holder of the lock that is out of sight', () => {
  it('does not keep back what this process stored itself, and is waited for when it has died', async () => {
    const world = await OutboxWorld.start();
    const early = await world.producer();
    world.people.mishap = reset;
    await world.settled(early.producer.submit('a', 1, 'early'));
    early.kill();
    const other = new SimulatedHost('other');
    other.bootId = 'boot-9';
    const far = await world.producer({ host: other });
    await world.settled(far.outbox.start());
    await world.advance(2_000);
    far.kill();
    world.people.mishap = () => undefined;
    const here = await world.producer();
    const startMs = world.people.nowMs;
    const own = await world.settled(here.producer.submit('a', 1, 'own'));
    expect(own.stored).toBe(false);
    expect(world.people.nowMs - startMs).toBeLessThan(4_000);
    expect(await world.inputs()).toEqual(['own']);
    // Ten seconds without a sign of life.
    await world.advance(15_000);
    expect(await world.inputs()).toEqual(['early', 'own']);
    await world.settled(here.outbox.stop());
  });

  it('is waited for no longer than the producer lives', async () => {
    const world = await OutboxWorld.start();
    const early = await world.producer();
    world.people.mishap = reset;
    await world.settled(early.producer.submit('a', 1, 'early'));
    early.kill();
    const other = new SimulatedHost('other');
    other.bootId = 'boot-9';
    const far = await world.producer({ host: other });
    await world.settled(far.outbox.start());
    await world.advance(2_000);
    far.kill();
    const here = await world.producer();
    await world.settled(here.outbox.start());
    await world.advance(500);
    await world.settled(here.outbox.stop());
    await world.advance(60_000);
    // It got the lock when nobody wanted it any more, and gave it back.
    world.people.mishap = () => undefined;
    const next = await world.producer();
    await world.settled(next.outbox.start());
    await world.advance(5_000);
    expect(await world.inputs()).toEqual(['early']);
    await world.settled(next.outbox.stop());
  });
});

describe('many at once', () => {
  it('have an outcome each: a task, stored, refused or not valid, in their order', async () => {
    const world = await OutboxWorld.start();
    const { producer, outbox } = await world.producer();
    const one = (input: unknown, more = {}) => ({ type: 'a', schemaVersion: 1, input, ...more });
    await world.settled(producer.submit('a', 1, 'first', { idempotencyKey: 'k' }));
    world.people.mishap = async (go, { path }) => {
      if (path !== '/tasks/batch') return undefined;
      const answer = await go();
      const items = (await answer.json()) as { status: number; body: unknown }[];
      items[2] = { status: 503, body: { status: 503, code: 'UNAVAILABLE', detail: 'busy' } };
      return Response.json(items);
    };
    const outcomes = await world.settled(
      producer.submitMany([
        one('taken'),
        one('refused', { idempotencyKey: 'k' }),
        one('stored'),
        { ...one('not valid'), schemaVersion: 0 },
        one('taken too'),
      ]),
    );
    const shown = outcomes.map((made) =>
      made.ok ? (made.stored ? made.stored.why.code : made.task.status) : made.error.code,
    );
    expect(shown).toEqual([
      'queued',
      'IDEMPOTENCY_CONFLICT',
      'UNAVAILABLE',
      'INVALID_REQUEST',
      'queued',
    ]);
    world.people.mishap = () => undefined;
    await world.advance(60_000);
    expect(await world.inputs()).toEqual(['first', 'stored', 'taken', 'taken too']);
    expect([...world.files('intents'), ...world.files('refused')]).toEqual([]);
    await world.settled(outbox.stop());
  });
});

describe('names of files', () => {
  it('sort by age also where the clock went back', async () => {
    const world = await OutboxWorld.start();
    const { clock } = world.people.world;
    world.people.mishap = reset;
    const first = await world.producer();
    await world.settled(first.producer.submit('a', 1, 1));
    clock.jumpWall(-3_600_000);
    await world.settled(first.producer.submit('a', 1, 2));
    first.kill();
    clock.jumpWall(-3_600_000);
    const second = await world.producer();
    await world.settled(second.producer.submit('a', 1, 3));
    world.people.mishap = () => undefined;
    world.people.sent.splice(0);
    await world.advance(60_000);
    expect(world.sentInputs()).toEqual([1, 2, 3]);
    await world.settled(second.outbox.stop());
  });
});

describe('an outbox keeps apart what is for', () => {
  it('the project that its key belongs to, once that is known', async () => {
    const world = await OutboxWorld.start();
    const { producer, outbox } = await world.producer();
    await world.settled(producer.submit('a', 1, 0));
    world.people.mishap = reset;
    await world.settled(producer.submit('a', 1, 'away'));
    const [file = ''] = world.files('intents');
    const text = Buffer.from(world.disk.platter.get(file)?.bytes ?? []).toString();
    expect(text).toContain('"project":"default"');
    await world.settled(outbox.stop());
  });

  it('another address, until somebody says that it is the same control plane', async () => {
    const world = await OutboxWorld.start();
    const { clock, random } = world.people.world;
    const there = openClient(
      { serviceUrl: 'http://127.0.0.1:7421/', key: 'il_a', fetch: reset },
      { clock, random },
    );
    const first = await world.producer({ open: there });
    await world.settled(first.producer.submit('a', 1, 'there'));
    first.kill();
    const second = await world.producer();
    await world.settled(second.outbox.start());
    await world.advance(120_000);
    expect(await world.inputs()).toEqual([]);
    const [told] = second.log.of('outbox.elsewhere');
    expect(told?.text).toContain('http://127.0.0.1:7421');
    // Once, not with every look.
    expect(second.log.of('outbox.elsewhere')).toHaveLength(1);
    expect(world.files('intents')).toHaveLength(1);
    await world.settled(second.outbox.stop());
  });

  it('another project, and says so', async () => {
    const world = await OutboxWorld.start();
    const first = await world.producer({ project: 'default' });
    world.people.mishap = reset;
    await world.settled(first.producer.submit('a', 1, 'here'));
    first.kill();
    const [file = ''] = world.files('intents');
    const text = Buffer.from(world.disk.platter.get(file)?.bytes ?? []).toString();
    expect(text).toContain('"project":"default"');
    expect(text).not.toMatch(/il_/);
    world.people.mishap = (go, { path }) =>
      path === '/doctor'
        ? go().then(async (answer) =>
            Response.json({ ...((await answer.json()) as object), project: 'other' }),
          )
        : undefined;
    const other = await world.producer();
    await world.settled(other.outbox.start());
    await world.advance(60_000);
    expect(await world.inputs()).toEqual([]);
    expect(other.log.of('outbox.elsewhere')).toHaveLength(1);
    expect(world.files('intents')).toHaveLength(1);
    await world.settled(other.outbox.stop());
  });
});

describe('a disk that does not take it', () => {
  it('sends directly, and tells the caller that nothing was stored where that fails too', async () => {
    const world = await OutboxWorld.start();
    const { producer, outbox } = await world.producer({ timeoutMs: 2_000 });
    await world.settled(outbox.start());
    const full = world.disk.fail({ step: 'write', path: /intents/, code: 'ENOSPC' });
    expect(await world.settled(producer.submit('a', 1, 'direct'))).toMatchObject({ stored: false });
    world.people.mishap = reset;
    const error = await world.settled(failure(producer.submit('a', 1, 'lost')));
    expect(error).toMatchObject({ code: 'OUTBOX_UNWRITABLE', details: { reason: 'ENOSPC' } });
    expect(error.message).toContain('not stored');
    expect(error.hint).toContain(String(error.details?.idempotencyKey));
    full.clear();
    expect((await world.settled(producer.submit('a', 1, 'kept'))).stored).toBe(true);
    await world.settled(outbox.stop());
  });

  it('refuses with OUTBOX_FULL above its bounds, and takes more when there is room again', async () => {
    const world = await OutboxWorld.start();
    const { producer, outbox } = await world.producer();
    await world.settled(outbox.start());
    const mounted = world.disk.mount();
    // One of a thousand bytes short of the bound, by another process.
    await mounted.writeFile(
      `${FOLDER}/intents/0000000000001-0000000000000000.jsonl`,
      new Uint8Array(256 * 1_048_576 - 100),
    );
    const error = await world.settled(failure(producer.submit('a', 1, 1)));
    expect(error).toMatchObject({ code: 'OUTBOX_FULL' });
    await mounted.remove(`${FOLDER}/intents/0000000000001-0000000000000000.jsonl`);
    await world.advance(1);
    expect((await world.settled(producer.submit('a', 1, 1))).stored).toBe(false);
    await world.settled(outbox.stop());
  });

  it.each(['EMFILE', 'EIO'])(
    'that cannot be read (%s) is asked again with patience',
    async (code) => {
      const world = await OutboxWorld.start();
      const { producer, outbox, log } = await world.producer();
      await world.settled(outbox.start());
      const bad = world.disk.fail({ step: 'read', path: /intents/, code });
      const made = producer.submit('a', 1, 'kept');
      await world.advance(1);
      const before = world.disk.steps;
      await world.advance(90_000);
      expect(world.disk.steps - before).toBeLessThan(200);
      expect((await world.settled(made)).stored).toBe(true);
      expect(log.entries.filter(({ level }) => level !== 'debug').length).toBeLessThan(3);
      bad.clear();
      await world.advance(60_000);
      expect(await world.inputs()).toEqual(['kept']);
      await world.settled(outbox.stop());
    },
  );

  it('a damaged record is put aside and stops nothing else', async () => {
    const world = await OutboxWorld.start();
    const first = await world.producer();
    world.people.mishap = reset;
    await world.settled(first.producer.submit('a', 1, 'bent'));
    await world.settled(first.producer.submit('a', 1, 'good'));
    first.kill();
    const [file = ''] = world.files('intents');
    const content = world.disk.platter.get(file);
    if (!content) throw new Error('no file');
    content.bytes = Buffer.from(Buffer.from(content.bytes).toString().replace('bent', 'bEnt'));
    world.people.mishap = () => undefined;
    const second = await world.producer();
    await world.settled(second.outbox.start());
    await world.advance(60_000);
    expect(await world.inputs()).toEqual(['good']);
    expect(world.files('corrupt')).toHaveLength(1);
    expect(world.files('intents')).toEqual([]);
    await world.settled(second.outbox.stop());
  });
});

describe('what was refused', () => {
  it('goes when its time is over, also while a producer lives, and not because a clock was set ahead', async () => {
    const before = { ...spoolDefaults };
    onTestFinished(() => void Object.assign(spoolDefaults, before));
    Object.assign(spoolDefaults, { setAsideKeptMs: 3 * HOUR, clockEvenMs: 2 * HOUR });
    const world = await OutboxWorld.start();
    const first = await world.producer();
    await world.settled(first.producer.submit('a', 1, 'one', { idempotencyKey: 'k' }));
    world.people.mishap = reset;
    await world.settled(first.producer.submit('a', 1, 'another', { idempotencyKey: 'k' }));
    first.kill();
    world.people.mishap = () => undefined;
    // It takes what others left, so it looks after the folder from now on.
    const { outbox } = await world.producer();
    await world.settled(outbox.start());
    await world.advance(60_000);
    expect(world.files('refused')).toHaveLength(1);
    world.people.world.clock.jumpWall(240 * HOUR);
    await world.advance(2 * HOUR);
    expect(world.files('refused')).toHaveLength(1);
    await world.advance(2 * HOUR);
    expect(world.files('refused')).toEqual([]);
    await world.settled(outbox.stop());
  });
});

describe('what a killed writer left unfinished', () => {
  it('is removed when it is older than any write can take', async () => {
    const world = await OutboxWorld.start();
    const early = await world.producer();
    world.people.mishap = reset;
    await world.settled(early.producer.submit('a', 1, 1));
    early.kill();
    const other = world.disk.mount();
    // The name that the disk's library gives a file before it is renamed.
    const leftover = `${FOLDER}/intents/0000000000001-0000000000000000.jsonl.77`;
    await other.appendFile(leftover, 'half a rec');
    const young = await world.producer();
    await world.settled(young.outbox.start());
    await world.advance(1_000);
    await world.settled(young.outbox.stop());
    expect(world.disk.platter.get(leftover)).toBeDefined();
    await world.advance(3_600_001);
    const old = await world.producer();
    await world.settled(old.outbox.start());
    await world.advance(1_000);
    await world.settled(old.outbox.stop());
    expect(world.disk.platter.get(leftover)).toBeUndefined();
    expect(world.files('intents')).toHaveLength(1);
  });
});

describe('a power cut', () => {
  it('before any step of the disk costs no submission that was told as stored, and doubles none', async () => {
    // How many steps a whole run takes.
    const steps = async (cutAt: number | undefined, seed: number) => {
      const world = await OutboxWorld.start();
      const first = await world.producer();
      const told: number[] = [];
      let cut = false;
      if (cutAt !== undefined)
        world.disk.crashBefore(cutAt, () => {
          cut = true;
          world.powerCut(new SimulatedRandom(seed));
        });
      let calls = 0;
      world.people.mishap = (_, { path }) => {
        if (cut) return reset();
        if (path !== '/tasks/batch') return undefined;
        return ++calls % 2 === 0 ? reset() : undefined;
      };
      for (let i = 0; i < 4; i++)
        void first.producer.submit('a', 1, i).then(() => {
          if (!cut) told.push(i);
        });
      await world.advance(2_000);
      for (let i = 4; i < 6; i++)
        void first.producer.submit('a', 1, i).then(() => {
          if (!cut) told.push(i);
        });
      await world.advance(20_000);
      const taken = world.disk.steps;
      if (!cut) await world.settled(first.outbox.stop());
      world.people.mishap = () => undefined;
      const second = await world.producer();
      await world.settled(second.outbox.start());
      await world.advance(60_000);
      const inputs = await world.inputs();
      expect(new Set(inputs).size, `doubled, cut at ${cutAt}`).toBe(inputs.length);
      for (const i of told) expect(inputs, `lost, cut at ${cutAt}`).toContain(i);
      expect(world.files('intents')).toEqual([]);
      await world.settled(second.outbox.stop());
      return taken;
    };
    const all = await steps(undefined, 0);
    expect(all).toBeGreaterThan(20);
    for (let at = 1; at <= all; at++) await steps(at, at);
  });
});
