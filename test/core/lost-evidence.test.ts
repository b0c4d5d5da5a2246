import { describe, expect, it } from 'vitest';
import {
  type LeftBy,
  type LeftRecord,
  lostEvidence,
  stillRunning,
} from '../../src/core/lost-evidence.ts';

/** What is told of an attempt that a worker left behind, from the evidence that there is. */
const T = '2026-01-01T00:00:00.000Z';
const LATER = '2026-01-01T00:05:00.000Z';
const leftBy = (went: LeftBy['went']): LeftBy => ({
  sessionId: 'ses_1',
  pid: 7,
  hostName: 'garage',
  since: T,
  went,
});
const claimed: LeftRecord = { sessionId: 'ses_1', claimedAt: T, begun: false };
const begun: LeftRecord = { ...claimed, begun: true, begunAt: T, host: 'ses_1/1' };
const lastProgress = { percent: 40, message: 'page 4 of 10', at: LATER };

describe('a loss after a restart tells', () => {
  it.each<[string, LeftRecord, LeftBy | undefined, string[], string]>([
    [
      'a crash',
      begun,
      leftBy('died'),
      [],
      `The worker's process (7 on garage) was killed or crashed. The handler had begun at ${T} and had told no progress.`,
    ],
    [
      'a restart of the machine',
      begun,
      leftBy('machine-restarted'),
      [],
      `The machine was restarted, and the worker's process (7 on garage) went with it. The handler had begun at ${T} and had told no progress.`,
    ],
    [
      'that it does not know more than the disk, after a restart of the machine',
      claimed,
      leftBy('machine-restarted'),
      [],
      "The machine was restarted, and the worker's process (7 on garage) went with it. Whether the handler had begun is not known.",
    ],
    [
      'a forced stop',
      claimed,
      leftBy('in-order'),
      [],
      "The worker's process (7 on garage) left before the handler had ended. The handler had not begun, as far as was recorded.",
    ],
    [
      'a move to another host',
      claimed,
      leftBy('unknown'),
      [],
      "The worker's process (7 on garage) has gone; how is not known here. The handler had not begun, as far as was recorded.",
    ],
    [
      'little of an older session',
      { ...claimed, sessionId: 'ses_0' },
      leftBy('died'),
      [],
      'An earlier process of the worker had the attempt; how that one ended is not known. The handler had not begun, as far as was recorded.',
    ],
    [
      'little without an owner record',
      claimed,
      undefined,
      [],
      'An earlier process of the worker had the attempt; how that one ended is not known. The handler had not begun, as far as was recorded.',
    ],
    [
      'progress',
      { ...begun, lastProgress },
      leftBy('died'),
      [],
      `The worker's process (7 on garage) was killed or crashed. The handler had begun at ${T} and was at 40 %, "page 4 of 10" at ${LATER}.`,
    ],
    [
      'a host that still ran',
      begun,
      leftBy('died'),
      ['ses_1/1'],
      `The worker's process (7 on garage) was killed or crashed. The handler had begun at ${T} and had told no progress. Its process was still running and was ended.`,
    ],
  ])('%s', (_, record, by, ended, message) => {
    expect(lostEvidence(record, by, { ended }).message).toBe(message);
  });

  it('the same as data, and never a session id', () => {
    const { details, message } = lostEvidence({ ...begun, lastProgress }, leftBy('died'), {
      ended: ['ses_1/1'],
    });
    expect(details).toEqual({
      claimedAt: T,
      begunAt: T,
      lastProgress,
      workerProcess: { went: 'died', pid: 7, hostName: 'garage', since: T },
      handlerProcess: 'was-running',
    });
    expect(lostEvidence(begun, undefined, { ended: ['ses_1/2'] }).details).toEqual({
      claimedAt: T,
      begunAt: T,
      workerProcess: { went: 'unknown' },
      handlerProcess: 'was-gone',
    });
    expect(lostEvidence(claimed, undefined, { ended: [] }).details).not.toHaveProperty(
      'handlerProcess',
    );
    expect(JSON.stringify(details) + message).not.toContain('ses_');
  });

  it('within bounds, however long the handler spoke', () => {
    const long = { ...lastProgress, message: 'x'.repeat(10_000) };
    const { details, message } = lostEvidence({ ...begun, lastProgress: long }, undefined, {
      ended: [],
    });
    expect(message.length).toBeLessThan(600);
    expect(JSON.stringify(details).length).toBeLessThan(600);
  });
});

describe('nothing may be said yet', () => {
  const a = { attemptId: 'a', host: 's/1' };
  const b = { attemptId: 'b', host: 's/2' };
  const unmarked = { attemptId: 'c' };
  const all = [a, b, unmarked];
  it.each([
    ['of nobody while nothing is left', [], []],
    ['of the one whose host is left', [{ pid: 1, host: 's/1' }], [[a, [1]]]],
    [
      'of it, with all its processes',
      [
        { pid: 1, host: 's/1' },
        { pid: 2, host: 's/1' },
      ],
      [[a, [1, 2]]],
    ],
    [
      'of those without a known host, while a host is left that nobody is known to have',
      [{ pid: 3, host: 's/9' }],
      [[unmarked, [3]]],
    ],
    [
      'of those without a known host, while it is not seen whose a process is',
      [{ pid: 4 }],
      [[unmarked, [4]]],
    ],
    [
      'of both',
      [{ pid: 1, host: 's/2' }, { pid: 4 }],
      [
        [b, [1]],
        [unmarked, [4]],
      ],
    ],
  ] as const)('%s', (_, left, expected) => {
    expect([...stillRunning<{ attemptId: string; host?: string }>(all, left)]).toEqual(expected);
  });
});
