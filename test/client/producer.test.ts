import { describe, expect, it } from 'vitest';
import type { SubmitOptions } from '../../src/client/request.ts';
import { TaskError } from '../../src/contract/index.ts';
import { html, People, refusal, reset } from './people.ts';

const failure = async (work: Promise<unknown>): Promise<TaskError> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof TaskError) return error;
  throw new Error(`no TaskError: ${error}`);
};

describe('submit', () => {
  it('makes a task and returns it', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const task = await people.settled(
      producer.submit('demo/hello', 1, { name: 'Ada', at: new Date(0) }, { labels: { a: 'b' } }),
    );
    expect(task).toMatchObject({ status: 'queued', type: 'demo/hello', replayed: false });
    expect(people.bodies('/tasks')).toEqual([
      {
        type: 'demo/hello',
        schemaVersion: 1,
        input: { name: 'Ada', at: '1970-01-01T00:00:00.000Z' },
        labels: { a: 'b' },
        idempotencyKey: expect.stringMatching(/^req_/),
      },
    ]);
  });

  it('repeats after a lost answer with the same body, and makes one task', async () => {
    const people = await People.start();
    let lost = 2;
    people.mishap = async (go) => {
      if (lost === 0) return undefined;
      lost--;
      await go();
      return reset();
    };
    const producer = await people.producer();
    const task = await people.settled(producer.submit('demo/hello', 1, null));
    expect(task.replayed).toBe(true);
    const bodies = people.bodies('/tasks');
    expect(bodies).toHaveLength(3);
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
    const all = await people.settled(producer.listPage());
    expect(all.tasks.map(({ id }) => id)).toEqual([task.id]);
  });

  it.each([
    ['a proxy’s page', () => html(502)],
    ['a page that says 200', () => html(200)],
    ['an empty object', () => Response.json({})],
    ['a busy control plane', () => refusal(503, 'UNAVAILABLE')],
    ['too many requests', () => refusal(429, 'RATE_LIMITED')],
  ])('asks again after %s', async (_, answer) => {
    const people = await People.start();
    people.mishap = () => (people.sent.length <= 2 ? answer() : undefined);
    const producer = await people.producer();
    expect(await people.settled(producer.submit('a', 1, 1))).toMatchObject({ status: 'queued' });
    expect(people.sent).toHaveLength(3);
  });

  it('waits as long as Retry-After says, and longer by jitter only', async () => {
    const people = await People.start();
    people.mishap = () =>
      people.sent.length === 1 ? refusal(429, 'RATE_LIMITED', { 'retry-after': '7' }) : undefined;
    const producer = await people.producer();
    await people.settled(producer.submit('a', 1, 1));
    expect(people.sent[1]?.at).toBeGreaterThanOrEqual(7_000);
    expect(people.sent[1]?.at).toBeLessThan(8_000);
  });

  it('gives up when its time is over, with the last reason', async () => {
    const people = await People.start();
    people.mishap = reset;
    const producer = await people.producer({ timeoutMs: 5_000 });
    const error = await people.settled(failure(producer.submit('a', 1, 1)));
    expect(error).toMatchObject({
      code: 'UNREACHABLE',
      retryable: true,
      details: { cause: 'cut' },
    });
    expect(people.nowMs).toBeLessThanOrEqual(5_000);
    expect(people.sent.length).toBeGreaterThan(3);
    // Jittered and growing: no two gaps alike.
    const gaps = people.sent.slice(1).map(({ at }, i) => at - (people.sent[i]?.at ?? 0));
    expect(new Set(gaps).size).toBe(gaps.length);
  });

  it('does not repeat what does not mend itself', async () => {
    const people = await People.start();
    const producer = await people.producer();
    people.mishap = () => new Response(null, { status: 303, headers: { location: '/login' } });
    expect(await people.settled(failure(producer.submit('a', 1, 1)))).toMatchObject({
      code: 'NOT_THE_CONTRACT',
      retryable: false,
      details: { cause: 'redirect' },
    });
    expect(people.sent).toHaveLength(1);
  });

  it('ends at once when it is aborted', async () => {
    const people = await People.start();
    const stop = new AbortController();
    people.mishap = () => {
      stop.abort();
      return reset();
    };
    const producer = await people.producer();
    const { signal } = stop;
    const error = await people.settled(failure(producer.submit('a', 1, 1, { signal })));
    expect(people.nowMs).toBe(0);
    expect(['ABORTED', 'UNREACHABLE']).toContain(error.code);
  });

  it('is a conflict with another request under the same key, and a replay with the same', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const one = { idempotencyKey: 'one' };
    const first = await people.settled(producer.submit('a', 1, { n: 1 }, one));
    const again = await people.settled(producer.submit('a', 1, { n: 1 }, one));
    expect(again).toMatchObject({ id: first.id, replayed: true });
    expect(await people.settled(failure(producer.submit('a', 1, { n: 2 }, one)))).toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
      retryable: false,
      hint: expect.any(String),
    });
  });

  it('tells a key of the wrong kind', async () => {
    const people = await People.start();
    const { client } = await people.client('task-worker');
    expect(await people.settled(failure(client.listTasks()))).toMatchObject({
      code: 'SCOPE_DENIED',
      details: { status: 403 },
    });
  });

  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  it.each([
    ['NaN', { a: [1, Number.NaN] }, 'input.a[1]', /NaN/],
    ['an infinity', { a: -Infinity }, 'input.a', /Infinity/],
    ['an integer beyond 2^53', { a: 2 ** 53 }, 'input.a', /send a string/],
    ['a BigInt', { 'a b': 1n }, 'input["a b"]', /send a string/],
    ['a function', { a: () => 1 }, 'input.a', /function/],
    ['a symbol', { a: Symbol('x') }, 'input.a', /symbol/],
    ['a Map', { a: new Map() }, 'input.a', /send an array/],
    ['a Set', { a: new Set() }, 'input.a', /Set/],
    ['a cycle', cycle, 'input.self', /cycle/],
    ['a lone surrogate', { a: 'x\ud800' }, 'input.a', /surrogate/],
    ['a lone surrogate in a name', { 'x\udc00': 1 }, undefined, /surrogate/],
  ])(
    'refuses %s in the input before anything is sent, with its path',
    async (_, input, path, words) => {
      const people = await People.start();
      const producer = await people.producer();
      const error = await people.settled(failure(producer.submit('a', 1, input)));
      expect(error.code).toBe('INVALID_REQUEST');
      expect(error.message).toMatch(words);
      if (path) expect(error.details?.issues).toMatchObject([{ path }]);
      expect(people.sent).toEqual([]);
    },
  );

  type Args = readonly [string, number, unknown, SubmitOptions];
  it.each<[string, Args, string, RegExp]>([
    ['a type with a version', ['demo/hello@1', 1, {}, {}], 'type', /schemaVersion 1/],
    ['a type that is none', ['café', 1, {}, {}], 'type', /segments/],
    ['a version of 0', ['a', 0, {}, {}], 'schemaVersion', /integer from 1/],
    ['a priority out of range', ['a', 1, {}, { priority: 101 }], 'priority', /./],
    ['a name that it does not know', ['a', 1, {}, { prioritty: 1 } as object], '', /prioritty/],
    [
      'a date without a zone',
      ['a', 1, {}, { notBeforeAt: '2026-01-01' }],
      'notBeforeAt',
      /RFC 3339/,
    ],
  ])('refuses %s before anything is sent', async (_, args, path, words) => {
    const people = await People.start();
    const producer = await people.producer();
    const error = await people.settled(failure(producer.submit(...args)));
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', details: { issues: [{ path }] } });
    expect(error.message).toMatch(words);
    expect(people.sent).toEqual([]);
  });

  it('sends what JSON makes of the input, and comes back equal', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const input = {
      a: 1.1,
      b: undefined,
      c: '\u0000é😀',
      d: [undefined],
      __proto__: 1,
      e: '9007199254740993',
    };
    const { id } = await people.settled(producer.submit('a', 1, input));
    const { tasks } = await people.settled(producer.listPage({ include: 'input' }));
    expect(tasks[0]?.id).toBe(id);
    expect(tasks[0]?.input).toEqual(JSON.parse(JSON.stringify(input)));
  });

  it('takes nothing for null', async () => {
    const people = await People.start();
    const producer = await people.producer();
    await people.settled(producer.submit('a', 1, undefined));
    expect(people.bodies('/tasks')).toMatchObject([{ input: null }]);
  });
});

describe('a project that is named', () => {
  it('is checked once against that of the key', async () => {
    const people = await People.start();
    const right = await people.producer({ project: 'default' });
    await people.settled(Promise.all([right.submit('a', 1, 1), right.submit('a', 1, 2)]));
    expect(people.sent.filter(({ path }) => path === '/doctor')).toHaveLength(1);
    const wrong = await people.producer({ project: 'other' });
    expect(await people.settled(failure(wrong.submit('a', 1, 1)))).toMatchObject({
      code: 'PROJECT_MISMATCH',
      message: expect.stringContaining('"default"'),
    });
    expect(people.bodies('/tasks')).toHaveLength(2);
  });

  it('is checked again after a check that got no answer', async () => {
    const people = await People.start();
    const producer = await people.producer({ project: 'default' });
    people.mishap = (_, { path }) =>
      path === '/doctor' && people.sent.length === 1 ? reset() : undefined;
    expect(await people.settled(producer.submit('a', 1, 1))).toMatchObject({ status: 'queued' });
  });
});

it('is no secret what a key source is good for: a key refused is read again', async () => {
  const people = await People.start();
  const good = await people.world.key('task-producer');
  let key = 'il_old';
  const { openClient } = await import('../../src/client/open-client.ts');
  const { Producer } = await import('../../src/client/task-producer.ts');
  const { client } = openClient(
    {
      serviceUrl: 'http://127.0.0.1:7420',
      fetch: people.fetch,
      key: {
        current: () => key,
        reload: async () => {
          key = good;
          return key;
        },
      },
    },
    people.world,
  );
  const task = await people.settled(new Producer(client).submit('a', 1, 1));
  expect(task.status).toBe('queued');
  expect(people.sent).toHaveLength(2);
});

it.each([
  [{ idempotencykey: 'x' }, 'the request has no field "idempotencykey" (is idempotencyKey meant?)'],
  [{ policy: { maxAttempts: 0 } }, 'policy.maxAttempts must be at least 1'],
  [{ policy: { maxAttempt: 2 } }, 'policy has no field "maxAttempt" (is maxAttempts meant?)'],
  [{ policy: { tries: 2 } }, 'policy has no field "tries"; it may hold maxAttempts, '],
  [
    { policy: { backoff: { initalMs: 2 } } },
    'policy.backoff has no field "initalMs" (is initialMs meant?)',
  ],
  [{ priority: 'high' }, 'priority must be a number'],
  [{ priority: 101 }, 'priority must be at most 100'],
])('a request that cannot be is refused in words of ours: %j', async (options, says) => {
  const people = await People.start();
  const producer = await people.producer();
  const refused = await failure(producer.submit('a', 1, 1, options as SubmitOptions));
  expect(refused.code).toBe('INVALID_REQUEST');
  expect(refused.message).toContain(`The request is not valid: ${says}`);
});

it('the next step of a refused request names where its issues are', async () => {
  const people = await People.start();
  const producer = await people.producer();
  const found = await failure(producer.submit('a', 1, Number.NaN));
  people.mishap = () => refusal(400, 'INVALID_REQUEST');
  const told = await people.settled(failure(producer.submit('a', 1, 1)));
  for (const { hint } of [found, told])
    expect(hint).toBe('Correct the fields named in `details.issues` and send it again.');
});

describe('what is given with a call, by programs without types', () => {
  const wrong = [
    [{ timeoutMs: 'abc' }, 'The option timeoutMs of a call is a text; it must be'],
    [{ timeoutMs: Number.NaN }, 'The option timeoutMs of a call is NaN; it must be'],
    [{ timeoutMs: -5 }, 'The option timeoutMs of a call is -5; it must be'],
    [{ timeoutMs: null }, 'The option timeoutMs of a call is null; it must be'],
    [{ signal: 5 }, 'The option signal of a call is 5; it must be an AbortSignal'],
    [{ signal: null }, 'The option signal of a call is null; it must be an AbortSignal'],
    [null, 'The options of a call are one object, and it got null.'],
    [5, 'The options of a call are one object, and it got 5.'],
  ] as const;

  it.each(wrong)('refuses %j in every call before anything is sent', async (given, message) => {
    const people = await People.start();
    const producer = await people.producer();
    const how = given as never;
    const submission = { type: 'a', schemaVersion: 1, input: null };
    const calls = [
      () => producer.submit('a', 1, null, how),
      () => producer.submitMany([submission], how),
      () => producer.submitMany([], how),
      () => producer.get('tsk_1', how),
      () => producer.listPage({}, how),
      () => producer.await('tsk_1', how),
    ];
    for (const call of calls) {
      const refused = await failure((async () => call())());
      expect(refused.code).toBe('INVALID_OPTION');
      expect(refused.message).toContain(message);
    }
    expect(people.sent).toEqual([]);
  });

  it('takes a time without an end', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const how = { timeoutMs: Number.POSITIVE_INFINITY, signal: new AbortController().signal };
    expect(await people.settled(producer.submit('a', 1, null, how))).toMatchObject({ type: 'a' });
  });

  it.each([undefined, null, 'x', 7, {}])(
    'refuses %j as a list of submissions with an error of its own',
    async (list) => {
      const people = await People.start();
      const producer = await people.producer();
      expect(await failure(producer.submitMany(list as never))).toMatchObject({
        code: 'INVALID_REQUEST',
        message: expect.stringContaining('submitMany takes a list of submissions, and got '),
      });
    },
  );

  it('tells what is no submission within a list, and submits the others', async () => {
    const people = await People.start();
    const producer = await people.producer();
    const list = [null, 'x', { type: 'a', schemaVersion: 1, input: null }] as never[];
    const [none, text, good] = await people.settled(producer.submitMany(list));
    for (const one of [none, text])
      expect(one).toMatchObject({ ok: false, error: { code: 'INVALID_REQUEST' } });
    expect(good).toMatchObject({ ok: true });
  });
});
