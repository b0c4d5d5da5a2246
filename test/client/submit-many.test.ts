import { describe, expect, it } from 'vitest';
import type { Submission } from '../../src/client/request.ts';
import { serverDefaults, wireDefaults } from '../../src/core/defaults.ts';
import { html, People, refusal, reset } from './people.ts';

const many = (count: number): Submission[] =>
  Array.from({ length: count }, (_, n) => ({ type: 'demo/hello', schemaVersion: 1, input: { n } }));

const batchSizes = (people: People): number[] =>
  people.bodies('/tasks/batch').map((body) => (body as unknown[]).length);

describe('submitMany', () => {
  it('goes in batches within the limits and keeps the order', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const { batch } = serverDefaults;
    const count = batch + 50;
    const outcomes = await people.settled(producer.submitMany(many(count)));
    expect(batchSizes(people)).toEqual([batch, 50]);
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    const { tasks } = await people.settled(producer.listPage({ include: 'input', limit: 500 }));
    const inputs = new Map(tasks.map(({ id, input }) => [id, input]));
    expect(outcomes.map((one) => one.ok && inputs.get(one.task.id))).toEqual(
      many(count).map(({ input }) => input),
    );
  });

  it('goes in batches of fewer bytes than the limit', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const large = many(9).map((one) => ({ ...one, input: 'x'.repeat(200_000) }));
    const outcomes = await people.settled(producer.submitMany(large));
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    expect(batchSizes(people)).toEqual([5, 4]);
  });

  it('tells a bad one without hurting the others', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const [a, b, c] = many(3);
    const outcomes = await people.settled(
      producer.submitMany([
        a!,
        { ...b!, input: Number.NaN },
        { ...c!, idempotencyKey: 'same' },
        { ...c!, idempotencyKey: 'same', input: 'other' },
        { ...c!, input: 'x'.repeat(300_000) },
      ]),
    );
    expect(outcomes).toMatchObject([
      { ok: true, replayed: false },
      { ok: false, error: { code: 'INVALID_REQUEST' } },
      { ok: true },
      { ok: false, error: { code: 'IDEMPOTENCY_CONFLICT' } },
      { ok: false, error: { code: 'PAYLOAD_TOO_LARGE' } },
    ]);
    expect(await people.settled(producer.submitMany([{ ...b!, type: 'a@1' }]))).toMatchObject([
      { ok: false, error: { code: 'INVALID_REQUEST' } },
    ]);
  });

  it('repeats a batch whose answer was lost, and makes no task twice', async () => {
    const people = await People.start();
    const producer = await people.producer();
    let lost = 0;
    people.mishap = async (go, { path }) => {
      if (path !== '/tasks/batch' || lost++ > 0) return undefined;
      await go();
      return reset();
    };
    const outcomes = await people.settled(producer.submitMany(many(10)));
    expect(outcomes).toMatchObject(Array(10).fill({ ok: true, replayed: true }));
    const { tasks } = await people.settled(producer.listPage());
    expect(tasks).toHaveLength(10);
  });

  it('repeats only what got no answer, by itself what a batch left out', async () => {
    const people = await People.start();
    const producer = await people.producer();
    let first = true;
    people.mishap = async (go, { path }) => {
      if (path !== '/tasks/batch' || !first) return undefined;
      first = false;
      const items = (await (await go()).json()) as unknown[];
      const busy = {
        status: 429,
        body: { status: 429, code: 'RATE_LIMITED', retryAfterMs: 3_000 },
      };
      return Response.json([...items.slice(0, 2), busy]);
    };
    const outcomes = await people.settled(producer.submitMany(many(5)));
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    expect(batchSizes(people)).toEqual([5, 1]);
    expect(people.bodies('/tasks')).toHaveLength(2);
    expect(people.sent.at(-1)?.at).toBeGreaterThanOrEqual(3_000);
  });

  it('believes no answer that names another submission', async () => {
    const people = await People.start();
    const producer = await people.producer();
    people.mishap = async (go, { path }) =>
      path === '/tasks/batch'
        ? Response.json(((await (await go()).json()) as []).reverse())
        : undefined;
    const keys = ['a', 'b', 'c', 'd'];
    const given = many(4).map((one, n) => ({ ...one, idempotencyKey: keys[n] }));
    const outcomes = await people.settled(producer.submitMany(given));
    expect(outcomes.map((one) => one.ok && one.task.idempotencyKey)).toEqual(keys);
    expect(batchSizes(people)).toEqual([4]);
  });

  it('asks what a batch left out no longer than its time', async () => {
    const people = await People.start();
    const producer = await people.producer({ timeoutMs: 12_000 });
    people.mishap = async (_, { path, method }) => {
      if (path === '/tasks/batch') return Response.json([]);
      if (method === 'POST') await people.world.clock.sleep(20_000);
      return undefined;
    };
    const outcomes = await people.settled(producer.submitMany(many(9)));
    expect(outcomes).toMatchObject(Array(9).fill({ ok: false, error: { retryable: true } }));
    expect(people.bodies('/tasks')).toHaveLength(2);
  });

  it('halves a batch that is refused whole, down to single calls', async () => {
    const people = await People.start();
    const producer = await people.producer();
    people.mishap = (_, { path, body }) =>
      path === '/tasks/batch' && JSON.stringify(body).includes('"n":2') ? html(413) : undefined;
    const outcomes = await people.settled(producer.submitMany(many(4)));
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    expect(batchSizes(people)).toEqual([4, 2, 2, 1, 1]);
    expect(people.bodies('/tasks')).toHaveLength(1);
  });

  it('halves a batch whose answer is too large to be read: its tasks are done, and come with results', async () => {
    const people = await People.start();
    const producer = await people.producer();
    people.mishap = async (go, { path }) => {
      if (path !== '/tasks/batch') return undefined;
      const items = (await (await go()).json()) as { status: number; body: object }[];
      const result = 'r'.repeat(wireDefaults.answerBytes / 3);
      return Response.json(
        items.map((item) => ({ ...item, body: { ...item.body, status: 'succeeded', result } })),
      );
    };
    const outcomes = await people.settled(producer.submitMany(many(4)));
    expect(outcomes).toMatchObject(Array(4).fill({ ok: true, replayed: true }));
    expect(batchSizes(people)).toEqual([4, 2, 2]);
  });

  it('says of one whose own answer is too large that the call may have had its effect', async () => {
    const people = await People.start();
    const producer = await people.producer();
    people.mishap = async (go, { method, path }) => {
      const answer = await go();
      if (method !== 'POST') return answer;
      const text = await answer.text();
      const blanks = ' '.repeat(wireDefaults.answerBytes);
      return new Response(`${text}${blanks}`, { status: path === '/tasks' ? 201 : 200 });
    };
    const [outcome] = await people.settled(producer.submitMany(many(1)));
    expect(outcome).toMatchObject({
      ok: false,
      error: {
        code: 'NOT_THE_CONTRACT',
        retryable: false,
        message: expect.stringContaining('beyond the limit of 8388608 bytes'),
        hint: expect.stringContaining('may have had its effect'),
        details: { cause: 'too-large' },
      },
    });
    expect(batchSizes(people)).toEqual([1]);
    expect(people.bodies('/tasks')).toHaveLength(1);
  });

  it('asks once for the limits when a batch is refused whole, and keeps to smaller ones from then on', async () => {
    const people = await People.start();
    const producer = await people.producer();
    await people.settled(producer.submitMany(many(2)));
    // Another one answers at that address from now on.
    people.mishap = async (go, { path, body }) => {
      if (path === '/tasks/batch' && (body as unknown[]).length > 3) return html(413);
      if (path !== '/') return undefined;
      const info = (await (await go()).json()) as { limits: object };
      return Response.json({ ...info, limits: { ...info.limits, batch: 3 } });
    };
    for (const count of [8, 7]) {
      const outcomes = await people.settled(producer.submitMany(many(count)));
      expect(outcomes.every(({ ok }) => ok)).toBe(true);
    }
    expect(batchSizes(people)).toEqual([2, 8, 4, 2, 2, 4, 2, 2, 3, 3, 1]);
    expect(people.sent.filter(({ path }) => path === '/')).toHaveLength(2);
  });

  it('ends with what it has when its time is over', async () => {
    const people = await People.start();
    const producer = await people.producer();
    people.mishap = (_, { path }) => (path === '/tasks/batch' ? html(502) : undefined);
    const outcomes = await people.settled(producer.submitMany(many(2), { timeoutMs: 3_000 }));
    expect(outcomes).toMatchObject(
      Array(2).fill({ ok: false, error: { code: 'NOT_THE_CONTRACT' } }),
    );
    expect(people.nowMs).toBeLessThanOrEqual(3_000);
  });

  it('tells each one where the key is refused, at once', async () => {
    const people = await People.start();
    const producer = await people.producer();
    people.mishap = () => refusal(401, 'UNAUTHENTICATED');
    const outcomes = await people.settled(producer.submitMany(many(2)));
    expect(outcomes).toMatchObject(
      Array(2).fill({ ok: false, error: { code: 'UNAUTHENTICATED' } }),
    );
    expect(people.nowMs).toBe(0);
  });

  it('sends nothing for nothing', async () => {
    const people = await People.start();
    expect(await people.settled((await people.producer()).submitMany([]))).toEqual([]);
    expect(people.sent).toEqual([]);
  });
});
