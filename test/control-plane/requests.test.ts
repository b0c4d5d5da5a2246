import { beforeEach, describe, expect, it } from 'vitest';
import { operations, ops, parseJson, problem, problemCodes } from '../../src/contract/index.ts';
import { type CallOptions, World } from './world.ts';

/** What comes in at the door: bodies, headers, addresses, and the shape of every refusal. */

let world: World;
beforeEach(async () => {
  world = await World.start();
});

const post = (text: string, options: CallOptions = {}) =>
  world.call('POST', '/tasks', { text, ...options });
const wrap = (input: string) => `{"type":"demo/hello","schemaVersion":1,"input":${input}}`;

describe('a body', () => {
  it.each([
    ['9007199254740993', 'input', /beyond 2\^53/],
    ['{"a":[0,1e400]}', 'input.a[1]', /no double/],
    ['{"items":[0,0,0,-0]}', 'input.items[3]', /-0/],
    ['{"a":1,"a":2}', 'input.a', /twice/],
    ['"\\ud800"', 'input', /lone surrogate/],
    [`${'['.repeat(600)}${']'.repeat(600)}`, expect.stringMatching(/^input/), /nested deeper/],
  ])('%s is refused with its path (F47)', async (input, path, message) => {
    const reply = await post(wrap(input));
    expect(reply).toMatchObject({
      status: 400,
      body: {
        code: 'INVALID_REQUEST',
        issues: [{ path, message: expect.stringMatching(message) }],
      },
    });
  });

  it('comes back equal in value, whatever is in it (F47)', async () => {
    const input =
      '{"n":1.10,"big":9007199254740991,"e":1e21,"zero":"\\u0000","__proto__":{"x":1},"ключ":"😀","10":1,"9":2,"s":"<\\/script>"}';
    const created = await post(wrap(input));
    expect(created.status).toBe(201);
    const view = await world.call('GET', `/tasks/${created.body.id}`);
    const expected = JSON.parse(input);
    expect(view.body.input).toEqual(expected);
    expect(Object.hasOwn(view.body.input, '__proto__')).toBe(true);
    const [attempt] = await world.claim();
    expect(attempt.input).toEqual(expected);
    await world.call('POST', `/attempts/${attempt.attemptId}/complete`, {
      text: `{"taskId":"${attempt.taskId}","attemptId":"${attempt.attemptId}","fence":1,"leaseToken":"${attempt.leaseToken}","result":${input}}`,
    });
    expect((await world.task(created.body.id)).result).toEqual(expected);
  });

  it('that is no JSON is refused with the place', async () => {
    expect(await post('{"type": demo}')).toMatchObject({
      status: 400,
      body: { code: 'INVALID_REQUEST', detail: expect.stringMatching(/line 1, column 10/) },
    });
    expect((await post('', { headers: { 'content-type': 'application/json' } })).status).toBe(400);
  });

  it('that is no UTF-8 is refused, not mended', async () => {
    const key = await world.key('task-producer');
    const response = await world.app.fetch(
      new Request('http://cp.test/api/tasks/v1/tasks', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: new Uint8Array([...Buffer.from(wrap('"')).subarray(0, -1), 0xff, 0x22, 0x7d]),
      }),
    );
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ issues: [{ message: 'is not valid UTF-8' }] });
  });

  it('of another type, or compressed, is 415', async () => {
    const refused: Record<string, string>[] = [
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    ];
    for (const headers of refused)
      expect(await post(wrap('1'), { headers })).toMatchObject({
        status: 415,
        body: { code: 'UNSUPPORTED_MEDIA_TYPE' },
      });
    for (const type of [
      'application/json; charset=utf-8',
      'application/vnd.x+json',
      'Application/JSON',
    ])
      expect((await post(wrap('1'), { headers: { 'content-type': type } })).status).toBe(201);
  });

  it('over the cap is 413 and read no further than its bound, whether it says its length or not', async () => {
    const key = await world.key('task-producer');
    let pulled = 0;
    const endless = () =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          pulled += 65_536;
          controller.enqueue(new Uint8Array(65_536).fill(0x20));
        },
      });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const sent = (more: Record<string, string>) =>
      world.app.fetch(
        new Request('http://cp.test/api/tasks/v1/tasks', {
          method: 'POST',
          headers: { ...headers, ...more },
          body: endless(),
          duplex: 'half',
        } as RequestInit),
      );
    const announced = await sent({ 'content-length': '50000000' });
    expect(announced.status).toBe(413);
    expect(pulled).toBeLessThan(200_000);
    const unannounced = await sent({});
    expect(unannounced.status).toBe(413);
    expect(await unannounced.json()).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      limitBytes: 1_048_576,
    });
    expect(pulled).toBeLessThan(36_000_000);
  });

  it('names every faulty field, up to a bound', async () => {
    const reply = await world.call('POST', '/tasks', {
      body: {
        type: 'demo/hello@1',
        schemaVersion: 0,
        priority: 101,
        labels: { a: 1 },
        callbackUrl: 'https://x',
        files: [],
        policy: { maxAttempts: 0, retries: 3 },
      },
    });
    expect(reply.status).toBe(400);
    const paths = reply.body.issues.map(({ path }: { path: string }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        'type',
        'schemaVersion',
        'input',
        'priority',
        'labels.a',
        'callbackUrl',
        'files',
        'policy.maxAttempts',
        'policy.retries',
      ]),
    );
    expect(
      reply.body.issues.find(({ path }: { path: string }) => path === 'type').message,
    ).toContain('send type "demo/hello" and schemaVersion 1');
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`x${i}`, i]));
    expect(
      (await world.call('POST', '/tasks', { body: many })).body.issues.length,
    ).toBeLessThanOrEqual(20);
  });

  it('may name no type that is none (F39)', async () => {
    for (const type of ['café', 'cafe\u0301', '', '/a', 'a//b', 'a'.repeat(201), '.hidden'])
      expect(
        await world.call('POST', '/tasks', { body: { type, schemaVersion: 1, input: 1 } }),
      ).toMatchObject({
        status: 400,
        body: { issues: [{ path: 'type' }] },
      });
    const types = ['Resize', 'resize'];
    for (const type of types) await world.submit({ type });
    const { body } = await world.call('GET', '/types');
    expect(body.types.map((t: { type: string }) => t.type)).toEqual(types);
  });
});

describe('inline values', () => {
  const exactly = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`;

  it('are taken up to inlineBytes as they were sent, in single calls and batches', async () => {
    expect((await post(wrap(exactly(262_144)))).status).toBe(201);
    const over = await post(wrap(exactly(262_145)));
    expect(over).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE', path: 'input' } });
    // Bytes, not characters; and as sent, with spaces and escapes.
    expect((await post(wrap(`"${'é'.repeat(131_071)}x"`))).status).toBe(413);
    expect((await post(wrap(`[${' '.repeat(262_200)}1]`))).status).toBe(413);
    // Spaces around the value are not the value.
    expect(
      (await post(`{"type":"demo/hello","schemaVersion":1,"input": ${' '.repeat(300_000)} 1 }`))
        .status,
    ).toBe(201);
    const batch = await world.call('POST', '/tasks/batch', {
      text: `[${wrap('1')}, ${wrap(exactly(262_145))} ,${wrap(exactly(262_144))}]`,
    });
    expect(batch.body.map(({ status }: { status: number }) => status)).toEqual([201, 413, 201]);
  });

  it('of results and checkpoints have limits of their own', async () => {
    const { attempt } = await world.running();
    const send = (op: string, more: string) => {
      const { leaseToken: _, ...shown } = attempt;
      return world.call('POST', `/attempts/${shown.attemptId}/${op}`, {
        text: `{"taskId":"${attempt.taskId}","fence":1,"leaseToken":"${attempt.leaseToken}",${more}}`,
      });
    };
    const checkpoint = await send('progress', `"n":1,"checkpoint":${exactly(65_537)}`);
    expect(checkpoint).toMatchObject({ status: 413, body: { path: 'checkpoint' } });
    expect((await send('progress', `"n":1,"checkpoint":${exactly(65_536)}`)).status).toBe(200);
    expect((await send('complete', `"result":${exactly(262_145)}`)).status).toBe(413);
    const inBatch = await world.call('POST', '/attempts/batch', {
      text: `{"reports":[{"op":"complete","attemptId":"${attempt.attemptId}","taskId":"${attempt.taskId}","fence":1,"leaseToken":"${attempt.leaseToken}","result":${exactly(262_145)}}]}`,
    });
    expect(inBatch.body.results[0]).toMatchObject({
      status: 413,
      body: { code: 'PAYLOAD_TOO_LARGE' },
    });
    expect((await send('complete', `"result":${exactly(262_144)}`)).status).toBe(200);
  });
});

it('takes details up to twice of what a worker cuts them to', async () => {
  const { attempt } = await world.running();
  const details = (bytes: number) => ({ text: 'x'.repeat(bytes) });
  const lost = await world.report(attempt, 'lost', {
    reason: 'lease',
    begun: true,
    details: details(40_000),
  });
  expect(lost).toMatchObject({ status: 413, body: { path: 'details' } });
  const error = { code: 'X', message: 'm', retryable: false, details: details(40_000) };
  expect((await world.report(attempt, 'fail', { error })).body.path).toBe('error.details');
  expect(
    (await world.report(attempt, 'fail', { error: { ...error, details: details(30_000) } })).status,
  ).toBe(200);
});

describe('the contract’s version', () => {
  it('is answered on everything, missing counts as 1, another one is 426', async () => {
    const plain = await world.call('GET', '/tasks');
    expect(plain.headers.get('interlock-contract')).toBe('1');
    expect(
      (await world.call('GET', '/tasks', { headers: { 'interlock-contract': '1' } })).status,
    ).toBe(200);
    for (const path of ['/', '/tasks', '/claims']) {
      const reply = await world.call(path === '/claims' ? 'POST' : 'GET', path, {
        headers: { 'interlock-contract': '2' },
      });
      expect(reply).toMatchObject({
        status: 426,
        body: { code: 'CONTRACT_UNSUPPORTED', supported: [1] },
      });
      expect(reply.headers.get('interlock-contract')).toBe('1');
    }
  });
});

describe('addresses', () => {
  it('work with and without a slash at the end, open ones without a key', async () => {
    for (const path of ['/api/tasks/v1', '/api/tasks/v1/']) {
      const response = await world.app.fetch(new Request(`http://cp.test${path}`));
      expect(await response.json()).toMatchObject({
        contracts: [1],
        limits: {
          inlineBytes: 262_144,
          batch: 256,
          leaseMs: { min: 5_000, default: 30_000, max: 600_000 },
        },
        features: expect.arrayContaining(['hints', 'progress']),
      });
    }
    const { body } = await world.call('GET', '/openapi.json', { key: undefined });
    // The one for reports is there once for each op.
    const paths = new Set(operations.map(({ path }) => path)).size - 1 + ops.length;
    expect(Object.keys(body.paths)).toHaveLength(paths);
  });

  it('that nobody has are 404, methods that they lack are 405, both as problems', async () => {
    for (const path of ['/nothing', '/tasks/a/b/c'])
      expect(await world.call('GET', path)).toMatchObject({
        status: 404,
        body: { code: 'NOT_FOUND', kind: 'route' },
      });
    const outside = await world.app.fetch(new Request('http://cp.test/elsewhere'));
    expect(outside.headers.get('content-type')).toBe('application/problem+json');
    const method = await world.call('DELETE', '/tasks');
    expect(method).toMatchObject({
      status: 405,
      body: { code: 'UNSUPPORTED_OPERATION', status: 405 },
    });
    expect(method.headers.get('allow')?.split(', ').sort()).toEqual(['GET', 'POST']);
  });

  it('that have a name of their own are no task of that name', async () => {
    for (const method of ['GET', 'OPTIONS']) {
      const { status, headers } = await world.call(method, '/tasks/batch');
      expect([status, headers.get('allow')], method).toEqual([405, 'POST']);
    }
    expect((await world.call('GET', '/tasks/tsk_batch')).status).toBe(404);
  });

  it('of unknown reports are UNSUPPORTED_OPERATION on both routes', async () => {
    const { attempt } = await world.running();
    expect(await world.report(attempt, 'stream', { chunks: [] })).toMatchObject({
      status: 400,
      body: { code: 'UNSUPPORTED_OPERATION' },
    });
    const batch = await world.call('POST', '/attempts/batch', {
      body: { reports: [{ ...attempt, op: 'toString' }, { ...attempt, op: 'renew' }, 7] },
    });
    expect(batch.body.results).toMatchObject([
      { status: 400, body: { code: 'UNSUPPORTED_OPERATION' } },
      { status: 200, body: { accepted: true, op: 'renew' } },
      { status: 400, body: { code: 'INVALID_REQUEST' } },
    ]);
  });
});

describe('batches of reports', () => {
  it('answer in order, each for itself, and hash the same body as the single route', async () => {
    const { attempt } = await world.running();
    const other = await world.running({}, {}, 'w2');
    const four = ({ taskId, attemptId, fence, leaseToken }: Record<string, unknown>) => ({
      taskId,
      attemptId,
      fence,
      leaseToken,
    });
    const batch = await world.call('POST', '/attempts/batch', {
      body: {
        reports: [
          { op: 'complete', ...four(attempt), result: 1 },
          { op: 'complete', ...four(attempt), result: 1 },
          { op: 'complete', ...four(attempt), result: 2 },
          { op: 'complete', ...four(other.attempt), attemptId: 'att_none', result: 1 },
          { op: 'renew', ...four(other.attempt) },
        ],
      },
    });
    expect(batch.body.results).toMatchObject([
      { status: 200, body: { accepted: true } },
      { status: 200, body: { accepted: true, replayed: true } },
      { status: 409, body: { code: 'STALE_ATTEMPT' } },
      { status: 404, body: { code: 'NOT_FOUND', kind: 'attempt' } },
      { status: 200, body: { accepted: true, leaseMs: 30_000 } },
    ]);
    expect((await world.report(attempt, 'complete', { result: 1 })).body.replayed).toBe(true);
  });

  it('fail whole where they are too many, too large or no JSON', async () => {
    const { attempt } = await world.running();
    const send = (reports: unknown[]) =>
      world.call('POST', '/attempts/batch', { body: { reports } });
    expect((await send(Array(257).fill({ ...attempt, op: 'renew' }))).status).toBe(413);
    expect((await send(['x'.repeat(1_100_000)])).status).toBe(413);
    expect((await world.call('POST', '/attempts/batch', { text: '{"reports":[' })).status).toBe(
      400,
    );
    expect((await send([])).body).toEqual({ results: [] });
  });

  it('take the address as it is: what the body says otherwise is a mistake', async () => {
    const { attempt } = await world.running();
    expect(await world.report(attempt, 'renew', { op: 'complete' })).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'op' }] },
    });
    expect((await world.report(attempt, 'renew', { op: 'renew', future: true })).status).toBe(200);
  });
});

describe('a problem', () => {
  it('has its code’s status and points into the catalogue of failures', async () => {
    const page = await world.app.fetch(new Request('http://cp.test/failures'));
    const html = await page.text();
    for (const code of Object.keys(problemCodes)) expect(html).toContain(`id="${code}"`);
    for (const code of ['OUTCOME_UNKNOWN', 'HANDLER_ERROR']) expect(html).toContain(`id="${code}"`);
    const reply = await world.call('GET', '/tasks/tsk_none');
    expect(reply.headers.get('content-type')).toBe('application/problem+json');
    expect(problem.parse(reply.body)).toMatchObject({
      type: '/failures#NOT_FOUND',
      status: 404,
      hint: problemCodes.NOT_FOUND.next,
      requestId: reply.headers.get('interlock-request-id'),
    });
  });

  it('of our own making tells nothing of the inside, and is in the log', async () => {
    const broken = new World();
    const key = await broken.key('task-producer');
    broken.store.task = () => Promise.reject(new Error(`secret inside, ${key}`));
    const reply = await broken.call('GET', '/tasks/tsk_1', { key });
    expect(reply).toMatchObject({ status: 500, body: { code: 'INTERNAL' } });
    expect(reply.text).not.toContain('secret inside');
    expect(broken.log).toMatchObject([
      { level: 'error', event: 'request.failed', fields: { requestId: reply.body.requestId } },
    ]);
  });

  it('of a store that cannot keep anything is 503 with a time to come again', async () => {
    const { attempt } = await world.running();
    const key = await world.key('task-worker');
    await world.store.close();
    const reply = await world.call('POST', `/attempts/${attempt.attemptId}/renew`, {
      key,
      body: attempt,
    });
    expect(reply).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    expect(reply.headers.get('retry-after')).toBe('1');
    const batch = await world.call('POST', '/attempts/batch', {
      key,
      body: { reports: [{ ...attempt, op: 'renew' }] },
    });
    expect(batch.body.results[0]).toMatchObject({ status: 503, body: { retryAfterMs: 1_000 } });
  });
});

it('asks calls without fields for no body', async () => {
  const { task } = await world.running();
  expect((await world.call('POST', `/tasks/${task.id}/cancel`)).status).toBe(200);
});

it('parses what it sends: every answer is I-JSON', async () => {
  const { task } = await world.running(
    {},
    { input: { a: [1, 2.5, '\u2028', null] }, labels: { 'ü"': '\n' } },
  );
  for (const path of [
    '/',
    '/tasks?include=input',
    `/tasks/${task.id}`,
    '/workers',
    '/types',
    '/doctor',
  ])
    expect(parseJson((await world.call('GET', path)).text).ok, path).toBe(true);
});
