import { describe, expect, it } from 'vitest';
import type { CallOptions } from '../../src/client/service-client.ts';
import { Producer } from '../../src/client/task-producer.ts';
import { workerDefaults } from '../../src/core/defaults.ts';
import { submitDefaults } from '../../src/core/submit-defaults.ts';
import { WireFault } from '../../src/wire/fault.ts';
import type { WireFetch } from '../../src/wire/fetch.ts';
import { html, People, refusal, reset } from './people.ts';

type Options = CallOptions & { idempotencyKey?: string };

const submitAll = (
  producer: Producer,
  count: number,
  options: (n: number) => Options = () => ({}),
) => Array.from({ length: count }, (_, n) => producer.submit('demo/hello', 1, { n }, options(n)));

/** What went out: the number of tasks of each call, single ones as 0. */
const calls = (people: People): number[] =>
  people.sent
    .filter(({ method }) => method === 'POST')
    .map(({ path, body }) => (path === '/tasks/batch' ? (body as unknown[]).length : 0));

const inputs = (people: People, path: string): unknown[] =>
  people
    .bodies(path)
    .flatMap((body) => [body].flat().map((one) => (one as { input: unknown }).input));

const onBatch = (
  people: People,
  answer: (go: () => Promise<Response>) => Response | Promise<Response>,
) => {
  people.mishap = (go, { path }) => (path === '/tasks/batch' ? answer(go) : undefined);
};

describe('submissions at the same time', () => {
  it('go as one call at once, and all others together behind it', async () => {
    const people = await People.start();
    const tasks = await people.settled(Promise.all(submitAll(await people.producer(), 20)));
    expect(calls(people)).toEqual([0, 19]);
    expect(people.nowMs).toBeLessThanOrEqual(submitDefaults.gatherMs);
    const { tasks: kept } = await people.settled(
      (await people.producer()).listPage({ include: 'input', limit: 500 }),
    );
    const byId = new Map(kept.map(({ id, input }) => [id, input]));
    expect(tasks.map(({ id }) => byId.get(id))).toEqual(tasks.map((_, n) => ({ n })));
    expect(tasks.every(({ replayed, stored }) => !replayed && !stored)).toBe(true);
  });

  it('are calls of their own one after the other, and where nothing is under way', async () => {
    const people = await People.start();
    const producer = await people.producer();
    for (let n = 0; n < 3; n++) await people.settled(producer.submit('a', 1, n));
    expect(calls(people)).toEqual([0, 0, 0]);
    expect(people.nowMs).toBe(0);
  });

  it('are calls of their own where it is switched off', async () => {
    const people = await People.start();
    await people.settled(Promise.all(submitAll(await people.producer({ batch: false }), 5)));
    expect(calls(people)).toEqual([0, 0, 0, 0, 0]);
  });

  it('do not wait for a slow answer', async () => {
    const people = await People.start();
    const producer = await people.producer();
    people.mishap = async (_, { body }) => {
      if (inputOf(body) === 0) await people.world.clock.sleep(5_000);
      return undefined;
    };
    const first = producer.submit('a', 1, 0);
    await people.settled(producer.submit('a', 1, 1));
    expect(people.nowMs).toBe(submitDefaults.gatherMs);
    await people.settled(first);
  });

  it('go in batches within the limits of the contract, large ones alone', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const large = Array.from({ length: 30 }, () => producer.submit('a', 1, 'x'.repeat(80_000)));
    const huge = producer.submit('a', 1, 'x'.repeat(200_000));
    await people.settled(Promise.all([...submitAll(producer, 150), ...large, huge]));
    expect(Math.max(...calls(people))).toBeLessThanOrEqual(100);
    for (const body of people.bodies('/tasks/batch'))
      expect(JSON.stringify(body).length).toBeLessThanOrEqual(1_048_576);
    expect(inputs(people, '/tasks')).toContain('x'.repeat(200_000));
  });

  it('learn smaller limits of the control plane', async () => {
    const people = await People.start();
    const producer = await people.producer();
    people.mishap = async (go, { path }) => {
      if (path !== '/') return undefined;
      const info = (await (await go()).json()) as { limits: object };
      return Response.json({ ...info, limits: { ...info.limits, batch: 3 } });
    };
    await people.settled(Promise.all(submitAll(producer, 5)));
    await people.settled(Promise.all(submitAll(producer, 7)));
    expect(calls(people)).toEqual([0, 4, 0, 3, 3]);
  });
});

const inputOf = (body: unknown): unknown => (body as { input?: unknown } | undefined)?.input;

describe('each submission of a batch', () => {
  it('has its own answer: taken, replayed, in conflict, too large', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const key = 'one';
    const first = await people.settled(producer.submit('a', 1, 1, { idempotencyKey: key }));
    const seen = await people.settled(
      Promise.allSettled([
        producer.submit('a', 1, 0),
        producer.submit('a', 1, 1, { idempotencyKey: key }),
        producer.submit('a', 1, 2, { idempotencyKey: key }),
        producer.submit('a', 1, 3, { pool: 'gpu' }),
      ]),
    );
    expect(seen).toMatchObject([
      { value: { replayed: false } },
      { value: { id: first.id, replayed: true } },
      { reason: { code: 'IDEMPOTENCY_CONFLICT', retryable: false, details: { status: 409 } } },
      { value: { replayed: false, pool: 'gpu' } },
    ]);
    expect(calls(people)).toEqual([0, 0, 3]);
  });

  it('is repeated by itself where it is told to wait, with the same body', async () => {
    const people = await People.start();
    let first = true;
    onBatch(people, async (go) => {
      const items = (await (await go()).json()) as unknown[];
      if (!first) return Response.json(items);
      first = false;
      const body = { status: 503, code: 'UNAVAILABLE', retryAfterMs: 3_000 };
      return Response.json([{ status: 503, body }, ...items.slice(1)]);
    });
    const seen = await people.settled(Promise.all(submitAll(await people.producer(), 4)));
    expect(seen.map(({ replayed }) => replayed)).toEqual([false, true, false, false]);
    expect(people.nowMs).toBeGreaterThanOrEqual(3_000);
    expect(calls(people)).toEqual([0, 3, 0]);
    expect(people.bodies('/tasks')[1]).toEqual((people.bodies('/tasks/batch')[0] as unknown[])[0]);
  });

  it('is repeated by itself where its answer is missing', async () => {
    const people = await People.start();
    onBatch(people, async (go) => Response.json(((await (await go()).json()) as []).slice(0, 2)));
    const seen = await people.settled(Promise.all(submitAll(await people.producer(), 4)));
    expect(seen.map(({ replayed }) => replayed)).toEqual([false, false, false, true]);
  });

  it.each([
    ['empty', () => Response.json([])],
    [
      'nonsense for each',
      async (go: () => Promise<Response>) =>
        Response.json(((await (await go()).json()) as []).map(() => ({ status: 299, body: 1 }))),
    ],
  ])('is repeated by itself where the answer is %s', async (_, answer) => {
    const people = await People.start();
    // Answers take a while, so that repetitions meet.
    people.mishap = async (go, { path }) => {
      await people.world.clock.sleep(50);
      return path === '/tasks/batch' ? answer(go) : undefined;
    };
    await people.settled(Promise.all(submitAll(await people.producer(), 30)));
    expect(calls(people).filter((count) => count > 0)).toEqual([29]);
  });

  it('is repeated by itself where it is answered with the task of another', async () => {
    const people = await People.start();
    const producer = await people.producer();
    onBatch(people, async (go) => Response.json(((await (await go()).json()) as []).reverse()));
    const keys = (n: number) => ({ idempotencyKey: `key-${n}` });
    const seen = await people.settled(Promise.all(submitAll(producer, 5, keys)));
    expect(seen.map(({ idempotencyKey }) => idempotencyKey)).toEqual(
      seen.map((_, n) => keys(n).idempotencyKey),
    );
    expect(new Set(seen.map(({ id }) => id)).size).toBe(5);
  });

  it('ends at its own time, and its neighbours go on', async () => {
    const people = await People.start();
    const producer = await people.producer();
    people.mishap = async (_, { path }) => {
      if (path === '/tasks/batch') await people.world.clock.sleep(4_000);
      return undefined;
    };
    const [, hurried, patient] = submitAll(producer, 3, (n) => ({
      timeoutMs: n === 1 ? 50 : 60_000,
    }));
    await expect(people.settled(hurried!)).rejects.toMatchObject({
      code: 'UNREACHABLE',
      details: { cause: 'timeout' },
    });
    expect(people.nowMs).toBe(50);
    expect(await people.settled(patient!)).toMatchObject({ replayed: false });
    expect(calls(people)).toEqual([0, 2]);
  });

  it('ends at its own time where it had waited for long before the others came', async () => {
    const people = await People.start();
    const producer = await people.producer({ timeoutMs: 0 });
    const { clock } = people.world;
    const { requestTimeoutMs: most } = workerDefaults;
    // All calls are busy for half of the time, and the next one hangs.
    people.mishap = async (_, { path }) => {
      if (path === '/tasks/batch') return new Promise<never>(() => {});
      await clock.sleep(most / 2);
      return undefined;
    };
    const busy = [];
    for (let n = 0; n < submitDefaults.batchCalls; n++) {
      busy.push(producer.submit('a', 1, n));
      await people.settled(clock.sleep(submitDefaults.gatherMs));
    }
    const ends: number[] = [];
    const waits = async (from: number) => {
      await expect(producer.submit('a', 1, 'waits')).rejects.toMatchObject({ code: 'UNREACHABLE' });
      ends.push(people.nowMs - from);
    };
    const early = waits(people.nowMs);
    await people.settled(clock.sleep(most / 4));
    await people.settled(Promise.all([...busy, early, waits(people.nowMs)]));
    expect(calls(people)).toEqual([...busy.map(() => 0), 2]);
    expect(ends).toEqual([most, most]);
  });

  it('ends when it is aborted, waiting or under way, and its neighbours go on', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const [early, late] = [new AbortController(), new AbortController()];
    people.mishap = async (_, { path }) => {
      if (path === '/tasks/batch') late.abort();
      await people.world.clock.sleep(5);
      return undefined;
    };
    const signals = [undefined, early.signal, late.signal, undefined];
    const all = Promise.allSettled(submitAll(producer, 4, (n) => ({ signal: signals[n] })));
    early.abort();
    expect(await people.settled(all)).toMatchObject([
      { status: 'fulfilled' },
      { reason: { code: 'ABORTED' } },
      { reason: { code: 'ABORTED' } },
      { status: 'fulfilled' },
    ]);
    expect(calls(people)).toEqual([0, 2]);
  });

  it('ends the call with it where nobody is left who waits for it', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const stop = new AbortController();
    let given: AbortSignal | undefined;
    const fetch = people.fetch;
    people.mishap = () => undefined;
    const { client } = await people.client('task-producer', {
      fetch: (url, init) => {
        if (!url.endsWith('/batch')) return fetch(url, init);
        given = init.signal;
        return new Promise(() => stop.abort());
      },
    });
    const request = { type: 'a', schemaVersion: 1, input: 1 };
    const { signal } = stop;
    const all = [
      client.submit(request),
      client.submit(request, { signal }),
      client.submit(request, { signal }),
    ];
    expect(await people.settled(Promise.allSettled(all))).toMatchObject([
      { status: 'fulfilled' },
      { reason: { code: 'ABORTED' } },
      { reason: { code: 'ABORTED' } },
    ]);
    expect(given?.aborted).toBe(true);
    await people.settled(producer.submit('a', 1, 1));
  });
});

describe('a batch that fails as a whole', () => {
  it.each([
    ['is not known', () => refusal(404, 'NOT_FOUND')],
    ['has a method that is not known', () => refusal(405, 'UNSUPPORTED_OPERATION')],
    ['is too large', () => html(413)],
    ['has a bad item', () => refusal(400, 'INVALID_REQUEST')],
    ['meets a page', () => html(404)],
    ['meets a page of success', () => html(200)],
  ])(
    'because it %s goes as single calls at once, and so do others for a while',
    async (_, answer) => {
      const people = await People.start();
      const producer = await people.producer();
      onBatch(people, answer);
      const seen = await people.settled(Promise.all(submitAll(producer, 4)));
      expect(seen.every(({ replayed }) => !replayed)).toBe(true);
      expect(calls(people)).toEqual([0, 3, 0, 0, 0]);
      await people.settled(Promise.all(submitAll(producer, 3)));
      expect(calls(people)).toEqual([0, 3, 0, 0, 0, 0, 0, 0]);
      expect(people.nowMs).toBeLessThanOrEqual(submitDefaults.gatherMs);
      people.mishap = () => undefined;
      await people.settled(people.world.clock.sleep(submitDefaults.batchPauseMs));
      await people.settled(Promise.all(submitAll(producer, 3)));
      expect(calls(people).slice(8)).toEqual([0, 2]);
    },
  );

  it('by a lost answer is repeated as single calls with the same keys, and makes no task twice', async () => {
    const people = await People.start();
    const producer = await people.producer();
    onBatch(people, async (go) => {
      await go();
      return reset();
    });
    const seen = await people.settled(Promise.all(submitAll(producer, 5)));
    expect(seen.map(({ replayed }) => replayed)).toEqual([false, true, true, true, true]);
    expect(calls(people)).toEqual([0, 4, 0, 0, 0, 0]);
    expect((await people.settled(producer.listPage())).tasks).toHaveLength(5);
  });

  it('with 429 waits as each of its submissions would', async () => {
    const people = await People.start();
    const producer = await people.producer();
    onBatch(people, () => refusal(429, 'RATE_LIMITED', { 'retry-after': '7' }));
    const seen = await people.settled(Promise.all(submitAll(producer, 4)));
    expect(seen).toHaveLength(4);
    expect(calls(people).slice(0, 2)).toEqual([0, 3]);
    expect(people.sent.filter(({ method }) => method === 'POST')[2]?.at).toBeGreaterThan(7_000);
  });

  it('with 429 goes together again after the wait', async () => {
    const people = await People.start();
    const producer = await people.producer();
    people.mishap = async () => {
      const busy = people.nowMs < 3_000;
      await people.world.clock.sleep(20);
      return busy ? refusal(429, 'RATE_LIMITED', { 'retry-after': '3' }) : undefined;
    };
    await people.settled(Promise.all(submitAll(producer, 60)));
    const again = people.sent.filter(({ method, at }) => method === 'POST' && at >= 3_000);
    expect(again.some(({ path }) => path === '/tasks/batch')).toBe(true);
    expect(again.length).toBeLessThan(30);
  });

  it.each([
    ['busy and says for how long', () => html(503, { 'retry-after': '3' }), 3_000],
    ['without anybody behind it', () => html(502), 1],
  ])('at a proxy that is %s waits as each of its submissions would', async (_, answer, atLeast) => {
    const people = await People.start();
    const producer = await people.producer();
    people.mishap = () => (people.nowMs < 1 ? answer() : undefined);
    const first = Promise.all(submitAll(producer, 30));
    await people.settled(first);
    const posts = people.sent.filter(({ method }) => method === 'POST');
    expect(posts.filter(({ at }) => at < atLeast).map(({ path }) => path)).toEqual([
      '/tasks',
      '/tasks/batch',
    ]);
  });

  it('because of the key is refused for each, at once', async () => {
    const people = await People.start();
    const producer = await people.producer();
    people.mishap = () => refusal(401, 'UNAUTHENTICATED');
    const seen = await people.settled(Promise.allSettled(submitAll(producer, 3)));
    expect(seen).toMatchObject(Array(3).fill({ reason: { code: 'UNAUTHENTICATED' } }));
    expect(people.nowMs).toBeLessThanOrEqual(submitDefaults.gatherMs);
  });

  it('because the key is of another project is refused for each', async () => {
    const people = await People.start();
    const producer = await people.producer({ project: 'another' });
    const seen = await people.settled(Promise.allSettled(submitAll(producer, 3)));
    expect(seen).toMatchObject(Array(3).fill({ reason: { code: 'PROJECT_MISMATCH' } }));
  });

  it('that hangs holds up at most so many calls, and what waits behind them has its own time', async () => {
    const people = await People.start();
    const producer = await people.producer({ timeoutMs: 0 });
    people.mishap = () => new Promise<never>(() => {});
    const seen = await people.settled(Promise.allSettled(submitAll(producer, 1_500)));
    expect(
      seen.every((one) => one.status === 'rejected' && one.reason.details.cause === 'timeout'),
    ).toBe(true);
    expect(calls(people)).toHaveLength(submitDefaults.batchCalls);
    expect(people.nowMs).toBeLessThanOrEqual(
      workerDefaults.requestTimeoutMs + submitDefaults.gatherMs,
    );
  });
});

describe('a client that is closed', () => {
  const closed = { status: 'rejected', reason: { code: 'CLIENT_CLOSED', retryable: false } };

  it('ends those that wait for others, for a next try or for an answer of a closed connection', async () => {
    const people = await People.start();
    const fetch: WireFetch = (_, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        cut.push(() => reject(new WireFault('cut', 'The connection was closed.')));
      });
    const cut: (() => void)[] = [];
    const { client, close } = await people.client('task-producer', { fetch });
    const all = Promise.allSettled(submitAll(new Producer(client), 10));
    const others = Promise.allSettled([
      client.getTask('tsk_1'),
      client.submit(body, { timeoutMs: 0 }),
    ]);
    await people.settled(people.world.clock.sleep(1));
    await close();
    for (const one of cut) one();
    expect(await people.settled(all)).toMatchObject(Array(10).fill(closed));
    expect(await people.settled(others)).toMatchObject([closed, closed]);
    expect(people.nowMs).toBe(1);
  });

  it('wakes whoever waits before the next try', async () => {
    const people = await People.start();
    const { client, close } = await people.client('task-producer');
    people.mishap = () => html(503, { 'retry-after': '30' });
    const all = Promise.allSettled([client.submit(body), client.getTask('tsk_1')]);
    await people.settled(people.world.clock.sleep(1_000));
    await close();
    expect(await people.settled(all)).toMatchObject([closed, closed]);
    expect(people.nowMs).toBe(1_000);
  });

  it('asks nothing any more', async () => {
    const people = await People.start();
    const { client, again, close } = await people.client('task-producer');
    const producer = new Producer(client);
    await close();
    const all = [producer.submit('a', 1, 1), again().getTask('tsk_1'), producer.get('tsk_1')];
    expect(await Promise.allSettled(all)).toMatchObject([closed, closed, closed]);
    expect(await producer.submitMany([{ type: 'a', schemaVersion: 1, input: 1 }])).toMatchObject([
      { ok: false, error: { code: 'CLIENT_CLOSED' } },
    ]);
    expect(people.sent).toEqual([]);
  });

  const body = { type: 'a', schemaVersion: 1, input: 1 };
});

it('a signal that many submissions share has one listener, and keeps none', async () => {
  const people = await People.start();
  const producer = await people.producer();
  const { signal } = new AbortController();
  const counted = { added: 0, open: 0 };
  const [add, remove] = [signal.addEventListener, signal.removeEventListener];
  signal.addEventListener = (...given: Parameters<typeof add>) => {
    counted.added++;
    counted.open++;
    add.apply(signal, given);
  };
  signal.removeEventListener = (...given: Parameters<typeof remove>) => {
    counted.open--;
    remove.apply(signal, given);
  };
  people.mishap = () => (people.nowMs < 1 ? html(503) : undefined);
  await people.settled(Promise.all(submitAll(producer, 200, () => ({ signal }))));
  expect(counted.open).toBe(0);
  expect(counted.added).toBeLessThan(10);
});
