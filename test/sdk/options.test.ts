import { describe, expect, it } from 'vitest';
import { TaskError, TaskOperator, TaskProducer, TaskWorker } from '../../src/index.ts';

const GOOD = { serviceUrl: 'http://127.0.0.1:7420', key: 'il_x' };
const faces = { TaskProducer, TaskOperator, TaskWorker } as unknown as Record<
  string,
  new (
    options?: unknown,
  ) => object
>;

/** The error that a constructor throws. */
function refusal(name: string, options?: unknown): TaskError {
  const Face = faces[name] as new (options?: unknown) => object;
  try {
    new Face(options);
  } catch (error) {
    if (error instanceof TaskError) return error;
    throw error;
  }
  throw new Error(`${name} took it`);
}

describe.each(Object.keys(faces))('%s, before anything else is done', (name) => {
  it('takes what it needs, also with options that are undefined', () => {
    const Face = faces[name] as new (options?: unknown) => object;
    expect(new Face({ ...GOOD, proxy: undefined, caFile: undefined })).toBeInstanceOf(Face);
    const key = { current: () => 'il_x', reload: async () => 'il_x' };
    expect(new Face({ ...GOOD, key })).toBeInstanceOf(Face);
  });

  it('refuses options that are no object', () => {
    for (const none of [undefined, null, 'il_x'])
      expect(refusal(name, none)).toMatchObject({ code: 'INVALID_OPTION' });
  });

  it('refuses an option that it does not know, and names the nearest one', () => {
    const error = refusal(name, { ...GOOD, servceUrl: 'http://127.0.0.1:1' });
    expect(error).toMatchObject({
      code: 'INVALID_OPTION',
      message: `${name} has no option "servceUrl". Did you mean serviceUrl?`,
      hint: expect.stringContaining('serviceUrl, key, '),
      details: { option: 'servceUrl', nearest: 'serviceUrl' },
    });
    expect(refusal(name, { ...GOOD, colour: 'red' }).message).toBe(
      `${name} has no option "colour".`,
    );
  });

  it('refuses to be without a key, and one that can be none, without quoting it', () => {
    for (const key of [undefined, null, ''])
      expect(refusal(name, { ...GOOD, key })).toMatchObject({ code: 'KEY_MISSING' });
    expect(refusal(name, { serviceUrl: GOOD.serviceUrl })).toMatchObject({ code: 'KEY_MISSING' });
    expect(refusal(name, { ...GOOD, key: 'two words' })).toMatchObject({ code: 'KEY_MALFORMED' });
    for (const key of [7, {}, { current: () => 'il_x' }])
      expect(refusal(name, { ...GOOD, key })).toMatchObject({ code: 'INVALID_OPTION' });
  });

  it('refuses an address that leads nowhere', () => {
    for (const serviceUrl of [undefined, '', 7, 'nope', 'ftp://127.0.0.1'])
      expect(refusal(name, { ...GOOD, serviceUrl })).toMatchObject({ code: 'INVALID_ADDRESS' });
    expect(refusal(name, { ...GOOD, serviceUrl: 'http://tasks.example.com' })).toMatchObject({
      code: 'INSECURE_HTTP',
    });
  });

  it('refuses a value of the wrong form', () => {
    for (const wrong of [{ insecureHttp: 'yes' }, { caFile: '' }, { proxy: 'http://proxy' }])
      expect(refusal(name, { ...GOOD, ...wrong })).toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringContaining(Object.keys(wrong)[0] as string),
      });
    expect(refusal(name, { ...GOOD, proxy: { https: 'http://[' } })).toMatchObject({
      code: 'INVALID_PROXY',
    });
  });
});

it('a producer refuses what its outbox does not know', () => {
  expect(refusal('TaskProducer', { ...GOOD, outbx: '/x' }).details).toEqual({
    option: 'outbx',
    nearest: 'outbox',
  });
  expect(refusal('TaskProducer', { ...GOOD, batch: 100 })).toMatchObject({
    code: 'INVALID_OPTION',
  });
  for (const outbox of ['', {}, { folder: '' }, 7, { folder: '/x', onSubmited() {} }])
    expect(refusal('TaskProducer', { ...GOOD, outbox })).toMatchObject({ code: 'INVALID_OPTION' });
});

it('a worker refuses numbers, pools and names that cannot be meant', () => {
  expect(refusal('TaskWorker', { ...GOOD, maxConcurent: 4 }).details).toEqual({
    option: 'maxConcurent',
    nearest: 'maxConcurrent',
  });
  for (const wrong of [
    { maxConcurrent: 0 },
    { maxConcurrent: '4' },
    { drainTimeoutMs: -1 },
    { pools: 'default' },
    { pools: [] },
    { pools: ['two words'] },
    { workerId: 'two words' },
    { log: { info() {} } },
  ])
    expect(refusal('TaskWorker', { ...GOOD, ...wrong })).toMatchObject({ code: 'INVALID_OPTION' });
});

it('handle() refuses an option that it does not know, since a wish for safety must not go unheard', () => {
  const worker = new TaskWorker(GOOD);
  const wish = { effectSafty: 'pure' } as object;
  expect(() => worker.handle('demo/hello', 1, () => 1, wish)).toThrow(/Did you mean effectSafety/);
});

it('handle() refuses what is no function where it is given, not at the start', () => {
  for (const none of [5, undefined, null, 'run', {}, { run: 5 }])
    expect(() => new TaskWorker(GOOD).handle('demo/hello', 1, none as never)).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTION',
        message: expect.stringContaining('handle() has no function to call'),
      }),
    );
});

it('a worker whose source has no key yet says so at its start', async () => {
  const key = { current: () => undefined as unknown as string, reload: async () => undefined };
  const worker = new TaskWorker({ ...GOOD, key }).handle('demo/hello', 1, () => 1);
  await expect(worker.start()).rejects.toMatchObject({ code: 'KEY_MISSING' });
});

it('a wrong declaration in handle() is refused there, what needs a look at the whole at the start', async () => {
  const wrong = { effectSafety: 'safe' as 'pure' };
  expect(() => new TaskWorker(GOOD).handle('demo/hello', 1, () => 1, wrong)).toThrow(
    'The option effectSafety of handle() is a text; it must be pure or idempotent or non-idempotent.',
  );
  expect(() => new TaskWorker(GOOD).handle('a', 1, { run: () => 1, timeoutMs: 0 })).toThrow(
    /timeoutMs of handle\(\) is 0/,
  );
  const worker = new TaskWorker(GOOD).handle('demo/hello', 1, () => 1, { input: 5 as never });
  await expect(worker.start()).rejects.toMatchObject({
    code: 'HANDLER_BAD_DECLARATION',
    hint: expect.stringContaining("handle('demo/hello', 1, …)"),
  });
});

it('what was forgotten or shifted in a call is told as that', async () => {
  const worker = () =>
    new TaskWorker(GOOD) as unknown as Record<'handle', (...args: unknown[]) => void>;
  expect(() => worker().handle('app/x@2', () => 1)).toThrow(
    expect.objectContaining({
      message: expect.stringContaining('the version is missing'),
      hint: expect.stringContaining("handle('app/x', 2, …)"),
    }),
  );
  expect(() => worker().handle('app/x', 1, { effectSafety: 'pure' }, () => 1)).toThrow(
    /the function comes third, the options after it/,
  );
  const producer = new TaskProducer(GOOD);
  await expect(producer.submit('order/price', { items: [] } as never, undefined)).rejects.toThrow(
    /submit\(type, schemaVersion, input\) got an object as schemaVersion/,
  );
});

it('names of other libraries lead to ours, and a wrong form has a next step', () => {
  for (const [given, nearest] of [
    ['url', 'serviceUrl'],
    ['apiKey', 'key'],
    ['concurrency', 'maxConcurrent'],
  ] as const)
    expect(refusal('TaskWorker', { ...GOOD, [given]: 4 }).details).toEqual({
      option: given,
      nearest,
    });
  expect(refusal('TaskWorker', { ...GOOD, maxConcurrent: '4' }).hint).toBe(
    'Give maxConcurrent as a whole number from 1, or leave it out.',
  );
});

it('workers without a log of their own share one, which listens to the stream once', () => {
  const listening = () => process.stderr.listenerCount('drain');
  new TaskWorker(GOOD);
  const before = listening();
  for (let more = 0; more < 3; more++) new TaskWorker(GOOD);
  expect(listening()).toBe(before);
});

it('handle() takes a definition in place of function and options, and checks its names alike', async () => {
  const definition = { run: () => 1, effectSafety: 'pure', timeoutMs: 5 } as const;
  expect(new TaskWorker(GOOD).handle('demo/hello', 1, definition)).toBeInstanceOf(TaskWorker);
  for (const more of [{ timeoutms: 5 }, { hosts: 'shared' }])
    expect(() => new TaskWorker(GOOD).handle('a', 1, { ...definition, ...more })).toThrow(
      /handle\(\) has no option "\w+"\. Did you mean (?:timeoutMs|host)\?/,
    );
  expect(() => new TaskWorker(GOOD).handle('a', 1, definition, { timeoutMs: 1 })).toThrow(
    /a definition and options beside it/,
  );
});

it('handle() refuses a second handler for one type and version at once', () => {
  const worker = new TaskWorker(GOOD)
    .handle('demo/hello', 1, () => 1)
    .handle('demo/hello', 2, () => 1);
  try {
    worker.handle('demo/hello', 1, () => 2);
    expect.unreachable();
  } catch (error) {
    expect(error).toMatchObject({
      code: 'HANDLER_DUPLICATE',
      message: 'demo/hello@1 has a handler already.',
      hint: 'Call handle() once for each type and version.',
    });
  }
});
