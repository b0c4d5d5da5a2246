import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { makeKey } from '../../src/control-plane/keys.ts';
import { serveControlPlane } from '../../src/control-plane/serve.ts';
import { TaskProducer } from '../../src/index.ts';
import { openDataFolder } from '../../src/stores/data-folder.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';
import { startLossyProxy } from '../client/lossy.ts';
import { startProxy } from '../e2e/proxy.ts';
import { type Plane, silent, startPlane } from './plane.ts';
import { interlock } from './run.ts';
import { temporaryFolder } from './world.ts';

const STORE = ['tasks', 'submit', 'demo/hello', '--store-and-forward'];

/** A port of this machine on which nobody listens. */
async function deadUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

/** A person with an outbox and a producer's key. */
async function person() {
  const plane = await startPlane();
  const outbox = join(temporaryFolder(), 'outbox');
  const env = { ...plane.env('task-producer'), INTERLOCK_OUTBOX: outbox };
  const run = (argv: string[], more: Record<string, string> = {}) =>
    interlock(argv, { env: { ...env, ...more } });
  const intents = () => readdirSync(join(outbox, 'intents'));
  return { plane, outbox, env, run, intents };
}

async function tasksOf(plane: Pick<Plane, 'url'>, key: string) {
  const producer = new TaskProducer({ serviceUrl: plane.url, key });
  const tasks = [];
  for await (const task of producer.list({ include: ['input'] })) tasks.push(task);
  await producer.close();
  return tasks;
}

describe('tasks submit --store-and-forward', () => {
  it('submits at once while the control plane answers, and leaves nothing', async () => {
    const { plane, run, intents } = await person();
    const ran = await run([...STORE, '--input', '{"name":"Ada"}']);
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.out).toMatch(/^tsk_\w+ {2}demo\/hello@1 is queued/);
    expect(intents()).toEqual([]);
    expect(await tasksOf(plane, plane.key('task-producer'))).toHaveLength(1);
  });

  it('keeps it while the control plane is away, tells so with 0, and submits it once with the next one', async () => {
    const { plane, run, intents, outbox } = await person();
    const url = await deadUrl();
    const away = { INTERLOCK_URL: url };
    const stored = await run([...STORE, '--input', '"first"'], away);
    expect(stored.code).toBe(0);
    expect(stored.out).toContain(`stored  demo/hello@1 waits in ${outbox} as req_`);
    expect(stored.err).toContain('interlock tasks outbox flush');
    expect(intents()).toHaveLength(1);
    // For the address that it was stored for, and no other.
    const other = await run([...STORE, '--input', '"second"']);
    expect(other.err).toContain(url);
    expect((await tasksOf(plane, plane.key('task-producer'))).map(({ input }) => input)).toEqual([
      'second',
    ]);
    const flushed = await run(['tasks', 'outbox', 'flush']);
    expect(flushed.code).toBe(14);
    expect(flushed.err).toContain(`--stored-for ${url}`);
    const moved = await run(['tasks', 'outbox', 'flush', '--stored-for', url]);
    expect(moved.code).toBe(0);
    expect(moved.out).toMatch(/^tsk_\w+ {2}demo\/hello@1 req_\w+\n$/);
    expect(
      (await tasksOf(plane, plane.key('task-producer'))).map(({ input }) => input).sort(),
    ).toEqual(['first', 'second']);
  });

  it('submits what was stored before with the next one, and tells it', async () => {
    const { plane, run, intents } = await person();
    const proxy = await startProxy(plane.url);
    onTestFinished(() => proxy.close());
    const bent = { INTERLOCK_URL: proxy.url };
    proxy.judge(() => 'cut');
    await run([...STORE, '--input', '1'], bent);
    await run([...STORE, '--input', '2'], bent);
    proxy.judge(() => 'pass');
    const ran = await run([...STORE, '--input', '3'], bent);
    expect(ran.err).toContain('2 stored before were submitted too');
    expect(intents()).toEqual([]);
    expect(
      (await tasksOf(plane, plane.key('task-producer'))).map(({ input }) => input).sort(),
    ).toEqual([1, 2, 3]);
  });

  it('refuses another request under a key that waits here already, and stores nothing of it', async () => {
    const { run, intents } = await person();
    const away = { INTERLOCK_URL: await deadUrl() };
    const key = ['--idempotency-key', 'A', '--input'];
    expect((await run([...STORE, ...key, '{"a":1,"b":2}'], away)).code).toBe(0);
    const other = await run([...STORE, ...key, '{"a":2}'], away);
    expect(other.code).toBe(79);
    expect(other.err).toMatch(/IDEMPOTENCY_CONFLICT/);
    expect(other.err).toContain('not stored');
    expect(intents()).toHaveLength(1);
    // The same one again is one task, and for another control plane it is another key.
    expect((await run([...STORE, ...key, '{"b":2,"a":1}'], away)).code).toBe(0);
    const elsewhere = { INTERLOCK_URL: await deadUrl() };
    expect((await run([...STORE, ...key, '{"a":2}'], elsewhere)).code).toBe(0);
  });

  it('says in JSON what was stored; with --wait it ends with 14', async () => {
    const { run, outbox } = await person();
    const away = { INTERLOCK_URL: await deadUrl() };
    const stored = await run([...STORE, '--idempotency-key', 'k-1', '--json', '--wait'], away);
    expect(stored.code).toBe(14);
    expect(JSON.parse(stored.out)).toEqual({
      stored: true,
      idempotencyKey: 'k-1',
      type: 'demo/hello',
      schemaVersion: 1,
      storedAt: expect.any(String),
      outbox,
      why: { code: 'UNREACHABLE', message: expect.any(String) },
    });
  });

  it('keeps it where the key is refused, ends with 14 and does not let it rest: nothing goes out before it is mended', async () => {
    const { run, intents, plane } = await person();
    const wrong = { INTERLOCK_PRODUCER_KEY: 'il_not_a_key_of_this_one' };
    const refused = await run(STORE, wrong);
    expect(refused.code).toBe(14);
    expect(refused.out).toMatch(/^stored /);
    expect(refused.err).toMatch(/next .*interlock keys new.* Nothing stored here is submitted/);
    expect((await run([...STORE, '--json'], wrong)).code).toBe(14);
    expect(intents()).toHaveLength(2);
    const list = await run(['tasks', 'outbox', 'list']);
    expect(list.err).toMatch(/Mend the key .*, then: \S*interlock tasks outbox flush --url http/);
    const doctor = await run(['tasks', 'doctor']);
    expect(doctor.code).toBe(20);
    expect(doctor.out).toMatch(/fail +local outbox +2 submissions wait .*\n +fix: Mend the key/);
    const flushed = await run(['tasks', 'outbox', 'flush'], wrong);
    expect(flushed.code).toBe(14);
    expect(flushed.err).toMatch(
      /next .*interlock keys new.* Then again: \S*interlock tasks outbox flush/,
    );
    expect((await run(['tasks', 'outbox', 'flush'])).code).toBe(0);
    expect(await tasksOf(plane, plane.key('task-producer'))).toHaveLength(2);
    const mended = await run(['tasks', 'doctor']);
    expect(mended.out).toMatch(/ok +local outbox +nothing waits/);
  });

  it('stores nothing that is not valid or too large', async () => {
    const { run, intents } = await person();
    await run(STORE, { INTERLOCK_URL: await deadUrl() });
    expect(intents()).toHaveLength(1);
    const invalid = await run([...STORE, '--priority', '7', '--not-before', 'yesterday']);
    expect(invalid.code).toBe(65);
    const large = await run([...STORE, '--input', JSON.stringify('x'.repeat(300_000))]);
    expect(large.code).toBe(65);
    expect(intents()).toHaveLength(1);
    const alone = await run(['tasks', 'submit', 'demo/hello', '--outbox', '/tmp/nowhere']);
    expect(alone).toMatchObject({ code: 64, err: expect.stringContaining('--store-and-forward') });
  });

  it('sends it directly where the folder cannot be made, and tells that nothing is stored where that fails too', async () => {
    const { run, plane } = await person();
    const file = join(temporaryFolder(), 'a file');
    writeFileSync(file, '');
    const INTERLOCK_OUTBOX = join(file, 'outbox');
    const direct = await run(STORE, { INTERLOCK_OUTBOX });
    expect(direct).toMatchObject({ code: 0, err: expect.stringContaining('sent directly') });
    expect(await tasksOf(plane, plane.key('task-producer'))).toHaveLength(1);
    const failed = await run(STORE, { INTERLOCK_OUTBOX, INTERLOCK_URL: await deadUrl() });
    expect(failed.code).toBe(74);
    expect(failed.err).toContain('OUTBOX_UNWRITABLE');
    expect(failed.err).toContain('Nothing is stored');
    expect(failed.err).toMatch(/idempotency key req_/);
  });

  it('refuses a folder that others may write into', async () => {
    const { run, plane } = await person();
    const open = join(temporaryFolder(), 'open');
    mkdirSync(join(open, 'other things'), { recursive: true });
    chmodSync(open, 0o777);
    const ran = await run(STORE, { INTERLOCK_OUTBOX: open });
    expect(ran).toMatchObject({ code: 74, err: expect.stringContaining('OUTBOX_UNSAFE') });
    expect(await tasksOf(plane, plane.key('task-producer'))).toEqual([]);
  });
});

describe('tasks outbox', () => {
  it('list shows what waits: age, type, key, address, tries and the last answer; also as JSON', async () => {
    const { run, outbox } = await person();
    const empty = await run(['tasks', 'outbox', 'list']);
    expect(empty).toMatchObject({
      code: 0,
      out: '',
      err: `There is no folder ${outbox}: nothing was ever stored there. Is it the right one?\n`,
    });
    const url = await deadUrl();
    const away = { INTERLOCK_URL: url, INTERLOCK_PROJECT: 'default' };
    await run([...STORE, '--idempotency-key', 'k-1'], away);
    await run([...STORE, '--idempotency-key', 'k-2', '--input', '"secret input"'], away);
    const list = await run(['tasks', 'outbox', 'list']);
    expect(list.out).toMatch(/STATE +AGE +TYPE +IDEMPOTENCY KEY +FOR +TRIES +LAST ANSWER\n/);
    expect(list.out).toMatch(
      new RegExp(`waiting +.* m?s +demo/hello@1 +k-1 +${url} default +\\d+ +UNREACHABLE: `),
    );
    expect(list.out).not.toContain('secret');
    expect(list.err).toContain('2 submissions wait');
    expect(list.err).toContain('The last try was');
    expect(list.err).toContain(`interlock tasks outbox flush --url ${url} --outbox ${outbox}\n`);
    const flushed = await run(['tasks', 'outbox', 'flush', '--url', url]);
    expect(flushed.code).toBe(14);
    expect(flushed.err).toMatch(/next .*running and reachable.* Then again: .*flush --url http/);
    const json = JSON.parse((await run(['tasks', 'outbox', 'list', '--json'])).out);
    expect(json).toMatchObject({
      folder: outbox,
      corrupt: 0,
      lastTry: { code: 'UNREACHABLE' },
      entries: [
        { state: 'waiting', idempotencyKey: 'k-1', serviceUrl: url, project: 'default', tries: 2 },
        { state: 'waiting', idempotencyKey: 'k-2', tries: 1 },
      ],
    });
  });

  it('flush sets aside what is refused, submits the rest, and ends with 14', async () => {
    const { plane, run, outbox } = await person();
    const proxy = await startProxy(plane.url);
    onTestFinished(() => proxy.close());
    const bent = { INTERLOCK_URL: proxy.url };
    await run([...STORE, '--idempotency-key', 'k', '--input', '1'], bent);
    proxy.judge(() => 'cut');
    await run([...STORE, '--idempotency-key', 'k', '--input', '2'], bent);
    await run([...STORE, '--input', '3'], bent);
    proxy.judge(() => 'pass');
    const flushed = await run(['tasks', 'outbox', 'flush', '--json'], bent);
    expect(flushed.code).toBe(14);
    expect(JSON.parse(flushed.out)).toMatchObject({
      folder: outbox,
      submitted: [{ taskId: expect.stringMatching(/^tsk_/), replayed: false }],
      refused: [{ idempotencyKey: 'k', code: 'IDEMPOTENCY_CONFLICT' }],
      left: 0,
    });
    const list = await run(['tasks', 'outbox', 'list']);
    expect(list.out).toMatch(/refused .* k .*IDEMPOTENCY_CONFLICT: /);
    expect(list.err).toMatch(
      new RegExp(`1 refused and never sent again.*\n  ${outbox}/refused/\\S+\\.jsonl\n`),
    );
    expect((await run(['tasks', 'outbox', 'flush'], bent)).code).toBe(0);
    expect(
      (await tasksOf(plane, plane.key('task-producer'))).map(({ input }) => input).sort(),
    ).toEqual([1, 3]);
  });

  it('flush with a key of another project makes no second task of what was sent with the first', async () => {
    const [ports, data] = [{ clock: systemClock(), random: systemRandom() }, temporaryFolder()];
    const plane = await serveControlPlane({ ...ports, listen: '127.0.0.1:0', data, log: silent });
    onTestFinished(() => plane.stop());
    const visit = openDataFolder(data, { ...ports, as: 'visitor' });
    const keyOf = async (project: string) =>
      (await makeKey({ ...ports, ...visit }, { kind: 'task-producer', project, name: project }))
        .key;
    const [a, b] = [await keyOf('a'), await keyOf('b')];
    await visit.close();
    const outbox = join(temporaryFolder(), 'outbox');
    const run = (argv: string[], env: Record<string, string>) =>
      interlock(argv, { env: { INTERLOCK_OUTBOX: outbox, ...env } });
    const proxy = await startLossyProxy(plane.url);
    const mine = { INTERLOCK_URL: proxy.url, INTERLOCK_PRODUCER_KEY: a };
    // Its effect is there, its answer is not.
    proxy.loses = (path) => path.startsWith('/tasks');
    expect((await run([...STORE, '--input', '1'], mine)).out).toContain('stored');
    expect(proxy.lost).toBeGreaterThan(0);
    proxy.loses = () => false;
    const other = await run(['tasks', 'outbox', 'flush'], { ...mine, INTERLOCK_PRODUCER_KEY: b });
    expect(other.code).toBe(14);
    expect(other.err).toContain('1 for project "a": use a key of that project');
    expect(await tasksOf(plane, b)).toEqual([]);
    const flushed = await run(['tasks', 'outbox', 'flush'], mine);
    expect(flushed).toMatchObject({ code: 0 });
    expect(flushed.out).toContain('submitted before');
    expect(await tasksOf(plane, a)).toHaveLength(1);
    expect(readdirSync(join(outbox, 'intents'))).toEqual([]);
  });

  it('discard removes what was refused when somebody says yes, and never what waits', async () => {
    const { plane, run, outbox } = await person();
    const proxy = await startProxy(plane.url);
    onTestFinished(() => proxy.close());
    const bent = { INTERLOCK_URL: proxy.url };
    const discard = (...argv: string[]) => run(['tasks', 'outbox', 'discard', ...argv], bent);
    for (const key of ['a', 'b', 'c']) await run([...STORE, '--idempotency-key', key], bent);
    proxy.judge(() => 'cut');
    for (const key of ['a', 'b', 'c'])
      await run([...STORE, '--idempotency-key', key, '--input', '2'], bent);
    proxy.judge(() => 'pass');
    await run(['tasks', 'outbox', 'flush'], bent);
    await run([...STORE, '--idempotency-key', 'w'], { INTERLOCK_URL: await deadUrl() });
    const files = () => readdirSync(join(outbox, 'refused'));
    expect(files()).toHaveLength(3);

    expect(await discard()).toMatchObject({ code: 64 });
    expect(await discard('a', '--all')).toMatchObject({ code: 64 });
    const unasked = await discard('a');
    expect(unasked).toMatchObject({ code: 64, err: expect.stringContaining('needs --yes') });
    expect(await discard('nobody', '--yes')).toMatchObject({ code: 66 });
    expect(await discard('w', '--yes')).toMatchObject({ code: 79 });
    expect(files()).toHaveLength(3);

    const gone = await discard('a', '--yes');
    expect(gone).toMatchObject({ code: 0, out: expect.stringMatching(/^discarded .* a \(IDEMP/) });
    const [file = ''] = files();
    expect((await discard(join(outbox, 'refused', file), '-y')).code).toBe(0);
    const rest = await discard('--all', '--yes', '--json');
    expect(JSON.parse(rest.out)).toMatchObject({
      folder: outbox,
      discarded: [{ file: expect.stringContaining('refused') }],
    });
    expect(files()).toEqual([]);
    expect((await run(['tasks', 'outbox', 'list'])).out).toMatch(/^waiting .* w /m);
  });

  it('flush ends with 14 where something cannot be read, and names it', async () => {
    const { run, outbox } = await person();
    await run(STORE);
    mkdirSync(join(outbox, 'intents', '1700000000000-0123456789abcdef.jsonl'));
    const flushed = await run(['tasks', 'outbox', 'flush']);
    expect(flushed.code).toBe(14);
    expect(flushed.err).toMatch(
      /why .*0123456789abcdef\.jsonl cannot be read \(is no regular file\)/,
    );
  });

  it('is looked at by doctor: what waits is a warning, what was refused a failure', async () => {
    const { plane, run } = await person();
    const proxy = await startProxy(plane.url);
    onTestFinished(() => proxy.close());
    const bent = { INTERLOCK_URL: proxy.url };
    const lines = async () =>
      (await run(['tasks', 'doctor'], bent)).out.split('\n').filter((line) => /outbox/.test(line));
    expect(await lines()).toContainEqual(
      expect.stringMatching(/^ok +local outbox +.* is not there/),
    );
    await run([...STORE, '--idempotency-key', 'k', '--input', '1'], bent);
    expect(await lines()).toContainEqual(expect.stringMatching(/^ok +local outbox +nothing waits/));
    proxy.judge(() => 'cut');
    await run([...STORE, '--idempotency-key', 'k', '--input', '2'], bent);
    proxy.judge(() => 'pass');
    const waits =
      /^warn +local outbox +1 submission waits in .*, the oldest for .*; the last try failed: /;
    expect(await lines()).toContainEqual(expect.stringMatching(waits));
    await run(['tasks', 'outbox', 'flush'], bent);
    expect((await lines()).join('\n')).toMatch(
      /ok +local outbox +nothing waits.*\nfail +outbox refused +1 submission was refused/,
    );
  });

  it('has a help page, and names what was meant', async () => {
    expect((await interlock(['tasks', 'outbox'])).out).toContain('tasks outbox flush');
    expect((await interlock(['tasks', 'outbox', 'flsh'])).err).toContain('tasks outbox flush');
    expect((await interlock(['tasks', '--help'])).out).toContain('tasks outbox list');
  });
});

/** Where a command is killed; `whole`: nowhere. */
const POINTS = ['early', 'stored', 'arrived', 'answered', 'lost', 'whole'] as const;

describe('a producer that is killed', () => {
  it('with kill -9 at any point leaves at most its record: after a flush there is one task for each submission', async () => {
    const { plane, run, env, intents } = await person();
    const proxy = await startLossyProxy(plane.url);
    const program = join(import.meta.dirname, '../../src/cli/interlock.ts');
    const submit = async (name: string, point: (typeof POINTS)[number]) => {
      const child = spawn(
        process.execPath,
        [program, ...STORE, '--idempotency-key', name, '--input', `"${name}"`, '--json'],
        {
          env: { ...process.env, ...env, INTERLOCK_URL: proxy.url },
          stdio: ['ignore', 'pipe', 'ignore'],
        },
      );
      onTestFinished(() => void child.kill('SIGKILL'));
      const kill = () => void child.kill('SIGKILL');
      proxy.arrives = (_, body) => {
        if (point === 'arrived' && body.includes(name)) kill();
      };
      proxy.loses = (_, body) => {
        if (!body.includes(name)) return false;
        if (point === 'answered' || point === 'lost') kill();
        return point === 'lost';
      };
      const before = existsSync(outbox) ? intents().length : 0;
      const look = setInterval(() => {
        if (point === 'stored' && existsSync(outbox) && intents().length > before) kill();
      }, 1);
      // While the program is being loaded, most of the time.
      const early = point === 'early' ? setTimeout(kill, 50 + Math.random() * 300) : undefined;
      let out = '';
      child.stdout.on('data', (data) => {
        out += data;
      });
      await new Promise((resolve) => child.once('close', resolve));
      clearInterval(look);
      clearTimeout(early);
      return out !== '';
    };
    const { INTERLOCK_OUTBOX } = env;
    const outbox = join(INTERLOCK_OUTBOX, 'intents');
    const surely: string[] = [];
    for (const round of [0, 1])
      for (const point of POINTS) {
        const name = `${point}-${round}`;
        const told = await submit(name, point);
        // What reached its folder or the control plane is there for good, told or not.
        if (told || (point !== 'early' && point !== 'stored')) surely.push(name);
      }
    proxy.arrives = () => {};
    proxy.loses = () => false;
    const flushed = await run(['tasks', 'outbox', 'flush', '--json'], { INTERLOCK_URL: proxy.url });
    expect(flushed.code, flushed.err + flushed.out).toBe(0);
    expect(intents().filter((name) => name.endsWith('.jsonl'))).toEqual([]);
    const inputs = (await tasksOf(plane, plane.key('task-producer'))).map(({ input }) => input);
    expect(new Set(inputs).size).toBe(inputs.length);
    expect(inputs).toEqual(expect.arrayContaining(surely));
    expect(surely).toContain('whole-1');
  }, 120_000);
});
