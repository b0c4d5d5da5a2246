import { expect, it } from 'vitest';
import { checkedFrame } from '../../src/carriers/host-frames.ts';
import { bounds } from '../../src/contract/limits.ts';
import { HostError, RetryableError, UnknownOutcomeError } from '../../src/handler/errors.ts';
import { readThrown } from '../../src/handler/failure.ts';

function nested(levels: number): unknown[] {
  let value: unknown[] = [];
  for (let level = 1; level < levels; level++) value = [value];
  return value;
}

/** Without a place in anybody's code. */
function nowhere(error: Error): Error {
  return Object.assign(error, { stack: error.message });
}

function thrownAt(...places: string[]): Error {
  const error = new Error('no\n    at told (/etc/secret/place.ts:1:1)');
  const frames = places.map((place, n) => `    at ${n % 2 === 0 ? `charge (${place})` : place}`);
  return Object.assign(error, { stack: [`Error: ${error.message}`, ...frames].join('\n') });
}

const stackOf = (error: Error) => readThrown(error, '/srv/handlers').failure.details?.stack;

it('tells the places in the handler’s own code, as seen from the handlers folder', () => {
  expect(
    stackOf(
      thrownAt(
        '/srv/node_modules/stripe/index.js:90:3',
        'node:internal/process/task_queues:104:5',
        'file:///srv/handlers/lib/money.ts:3:7',
        '/srv/handlers/demo/pay@1.ts:14:21',
        '/data/alice/app/shared/util.ts:8:1',
      ),
    ),
  ).toEqual(['lib/money.ts:3', 'demo/pay@1.ts:14', '…/shared/util.ts:8']);
});

it('bounds what it tells of a stack, and keeps the handler’s own details and deliberate errors as they are', () => {
  const deep = thrownAt(
    ...Array.from({ length: 40 }, (_, n) => `/srv/handlers/${'x'.repeat(400)}.ts:${n}:1`),
  );
  expect(stackOf(deep)).toHaveLength(5);
  expect(String((stackOf(deep) as string[])[4])).toMatch(/^…x{190,}\.ts:4$/);
  expect(
    stackOf(Object.assign(thrownAt('/srv/handlers/a@1.ts:1:1'), { details: { stack: 'of mine' } })),
  ).toBe('of mine');
});

const told = (error: unknown) => readThrown(error, '/srv/handlers');

/** Error with the code, cause and parts of `more`, thrown at `line` of a handler. */
function at(line: number, error: Error, more: object = {}): Error {
  const stack = `${error.name}: ${error.message}\n    at run (/srv/handlers/a@1.ts:${line}:1)`;
  return Object.assign(error, { stack }, more);
}

it.each([
  new RetryableError('busy'),
  new HostError('no card'),
  new UnknownOutcomeError('who knows'),
])(
  'tells where $name was thrown, and has something for the log where another error led to it',
  (error) => {
    expect(told(at(3, error))).toMatchObject({
      caused: false,
      failure: { details: { stack: ['a@1.ts:3'] } },
    });
    expect(told(at(3, error, { cause: at(9, new Error('inner')) }))).toMatchObject({
      caused: true,
      stack: expect.stringMatching(/a@1\.ts:3:1\)\n\[cause\]: Error: inner\n.*a@1\.ts:9:1\)$/),
    });
  },
);

it('tells name, code and place of causes and parts, and nothing else of them', () => {
  const secret = { config: { token: 'hunter2' } };
  const inner = at(9, new TypeError('inner'), { code: 'E_INNER', ...secret });
  const error = at(3, new AggregateError([at(5, new Error('part'), secret)], 'outer'), {
    cause: inner,
  });
  const { failure, stack = '' } = told(error);
  expect(failure.details).toEqual({
    name: 'AggregateError',
    stack: ['a@1.ts:3'],
    causes: [{ message: 'inner', name: 'TypeError', code: 'E_INNER', stack: ['a@1.ts:9'] }],
    errors: [{ message: 'part', stack: ['a@1.ts:5'] }],
  });
  expect(stack.match(/a@1\.ts:\d/g)).toEqual(['a@1.ts:3', 'a@1.ts:9', 'a@1.ts:5']);
  expect(stack).toMatch(/^\[error 1\]: Error: part$/m);
  expect(JSON.stringify([failure, stack])).not.toContain('hunter2');
});

it('tells of a connection that failed for each address what its parts say', () => {
  const parts = [new Error('connect ECONNREFUSED ::1:1'), new Error('connect ECONNREFUSED 127.1')];
  const cause = Object.assign(new AggregateError(parts, ''), { code: 'ECONNREFUSED' });
  const { details } = told(new TypeError('fetch failed', { cause })).failure;
  expect(details?.causes).toMatchObject([
    { message: `${parts[0]?.message}; ${parts[1]?.message}`, code: 'ECONNREFUSED' },
  ]);
});

it('bounds the log of an error with causes so that each has room, and its details', () => {
  const wide = (line: number) =>
    thrownAt(...Array.from({ length: 9 }, () => `/srv/handlers/${'\u00e4'.repeat(400)}:${line}:1`));
  const middle = Object.assign(wide(2), { cause: at(9, new Error('inner')), errors: [wide(3)] });
  const huge = Object.assign(wide(1), {
    message: 'm'.repeat(5_000_000),
    stack: `Error: ${'m'.repeat(5_000_000)}`,
    cause: middle,
    errors: [wide(4), wide(5), wide(6)],
    details: { mine: 'x'.repeat(bounds.detailsBytes / 2 - 100) },
  });
  const { failure, stack = '' } = told(huge);
  expect(stack.length).toBeLessThanOrEqual(bounds.messageChars);
  expect(stack).toContain('[cause]: Error: inner');
  const bytes = Buffer.byteLength(JSON.stringify(failure.details));
  expect(bytes).toBeLessThanOrEqual(bounds.detailsBytes);
  expect(failure.details?.causes).toMatchObject([{}, { message: 'inner' }]);
});

it('leaves out what stands beside the details of the handler where all of it would be too much', () => {
  // Six bytes each where they are sent.
  const wide = () => new Error('\u0001'.repeat(2_000));
  const mine = { mine: 'x'.repeat(bounds.detailsBytes / 2 - 100) };
  const thrown = Object.assign(new AggregateError([wide(), wide(), wide()], 'no'), {
    cause: Object.assign(wide(), { cause: wide() }),
    details: mine,
  });
  const { details } = told(thrown).failure;
  expect(details).toMatchObject(mine);
  expect(details).toHaveProperty('causes');
  expect(details).not.toHaveProperty('errors');
  expect(Buffer.byteLength(JSON.stringify(details))).toBeLessThanOrEqual(bounds.detailsBytes);
});

it('gives code that was made by `new Function` or `eval` the place where it was made', () => {
  const error = new Error('no');
  error.stack = [
    'Error: no',
    '    at eval (eval at run (file:///srv/handlers/p/eval@1.mjs:2:41), <anonymous>:3:7)',
    '    at eval (eval at a (eval at b (/srv/handlers/p/eval@1.mjs:4:1), <anonymous>:1:1), <anonymous>:3:7)',
    '    at run (file:///srv/handlers/p/eval@1.mjs:5:9)',
  ].join('\n');
  expect(told(error).failure.details).toEqual({
    stack: ['p/eval@1.mjs:2 (eval)', 'p/eval@1.mjs:4 (eval)', 'p/eval@1.mjs:5'],
  });
});

it.each([
  ['stripe', '/srv/node_modules/stripe/index.js:90:3'],
  ['@aws/s3', 'file:///srv/node_modules/.pnpm/@aws+s3@3/node_modules/@aws/s3/dist/a.js:9:3'],
  ['Node.js', 'node:fs:440:20'],
  ['Node.js', '<anonymous>'],
])('names %s where that threw and the handler only called', (thrownIn, place) => {
  const { details } = told(
    thrownAt(place, 'async file:///srv/handlers/demo/pay@1.ts:14:21'),
  ).failure;
  expect(details).toEqual({ stack: ['demo/pay@1.ts:14'], thrownIn });
});

it('knows the code of handlers that lie in a package as their own', () => {
  const error = thrownAt('/srv/node_modules/mine/handlers/a@1.mjs:3:1');
  expect(readThrown(error, '/srv/node_modules/mine/handlers').failure.details).toEqual({
    stack: ['a@1.mjs:3'],
  });
});

it.each([-1, 0, 1])(
  'tells details nested as deep as the bound and %i in words that the agent takes',
  (more) => {
    const details = nested(bounds.valueDepth + more);
    const { failure } = readThrown(nowhere(Object.assign(new Error('deep'), { details })), '/h');
    const outcome = { how: 'threw', error: failure };
    expect(checkedFrame({ t: 'end', n: 1, outcome, logBytesDropped: 0, tookUs: 0 })).toBeDefined();
    expect(Object.keys(failure.details ?? {})).toEqual([more < 0 ? 'value' : 'detailsLeftOut']);
  },
);
