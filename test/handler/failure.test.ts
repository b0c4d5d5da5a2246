import { expect, it } from 'vitest';
import { checkedFrame } from '../../src/carriers/host-frames.ts';
import { bounds } from '../../src/contract/limits.ts';
import { RetryableError } from '../../src/handler/errors.ts';
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
        '/home/alice/app/shared/util.ts:8:1',
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
  const { stack } = thrownAt('/srv/handlers/a@1.ts:1:1');
  expect(
    readThrown(Object.assign(new RetryableError('busy'), { stack }), '/srv/handlers').failure
      .details,
  ).toBeUndefined();
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
