import { describe, expect, it } from 'vitest';
import { effectSafetyTable, gatePassed } from '../../src/core/effect-safety.ts';
import {
  cancelled,
  complete,
  effect,
  effectGate,
  fail,
  failRetryable,
  failUncalled,
  failUncalledRetryable,
  idempotent,
  inWords,
  log,
  lost,
  progress,
  pure,
  release,
  type Said,
  start,
  startGate,
  T0,
  TaskWorld,
  unknown,
} from './task-world.ts';

/**
 * The table of the contract, section 4, cell by cell: what happened × side of the gate × what is asked and
 * left. A cell is the task's status, error code and `error.effect`, or the code that refuses the report.
 */
const situations = [
  'plain',
  'last attempt',
  'deadline passed',
  'last, deadline',
  'cancel',
  'cancel, last',
  'cancel, deadline',
] as const;
type Situation = (typeof situations)[number];
type Cells = readonly [string, string, string, string, string, string, string];
const all = (word: string): Cells => [word, word, word, word, word, word, word];
/** "Queued again if attempts and time are left, else …"; cancelled once a cancel is requested. */
const again = (exhausted: string, queued = 'queued'): Cells => [
  queued,
  exhausted,
  'expired DEADLINE_PASSED',
  exhausted,
  'cancelled',
  'cancelled',
  'cancelled',
];

const before: Record<string, Cells> = {
  'a valid result': all('succeeded'),
  // The last failure is shown while the next attempt is waited for.
  'a retryable failure': again('failed BROKEN', 'queued BROKEN'),
  'the handler says unknown': all('outcome-unknown BROKEN'),
  'any other failure': all('failed BROKEN'),
  'no word, by a lost': again('failed ATTEMPTS_EXHAUSTED'),
  'no word, by the sweeper': again('failed ATTEMPTS_EXHAUSTED'),
  'obeyed a stop': [
    'NOT_CANCELLING',
    'NOT_CANCELLING',
    'expired DEADLINE_PASSED',
    'expired DEADLINE_PASSED',
    'cancelled',
    'cancelled',
    'cancelled',
  ],
  // What is given back uses up no attempt; it is queued (and expires at once where its deadline has passed).
  released: [
    'queued',
    'queued',
    'expired DEADLINE_PASSED',
    'expired DEADLINE_PASSED',
    'cancelled',
    'cancelled',
    'cancelled',
  ],
};
const past: Record<string, Cells> = {
  'a valid result': all('succeeded'),
  'a retryable failure': all('failed BROKEN begun'),
  'the handler says unknown': all('outcome-unknown BROKEN begun'),
  'any other failure': all('failed BROKEN begun'),
  'no word, by a lost': all('outcome-unknown OUTCOME_UNKNOWN begun'),
  'no word, by the sweeper': all('outcome-unknown OUTCOME_UNKNOWN begun'),
  'obeyed a stop': [
    'NOT_CANCELLING',
    'NOT_CANCELLING',
    ...Array(5).fill('outcome-unknown OUTCOME_UNKNOWN begun'),
  ] as unknown as Cells,
  released: all('NOT_RELEASABLE'),
};
/** The handler was never called: as before the gate, on either side of it. */
const uncalled: Record<string, Cells> = {
  'a failure without a call': all('failed BROKEN not-called'),
  'a retryable failure without a call': again(
    'failed BROKEN not-called',
    'queued BROKEN not-called',
  ),
};
/** Something that only a handler says was accepted before: the word counts for nothing. */
const disbelieved = (cells: Record<string, Cells>): Record<string, Cells> => ({
  ...cells,
  'a failure without a call': cells['any other failure'] as Cells,
  'a retryable failure without a call': cells['a retryable failure'] as Cells,
});
const said: Record<string, Said | 'sweep'> = {
  'a valid result': complete,
  'a retryable failure': failRetryable,
  'the handler says unknown': unknown,
  'any other failure': fail,
  'a failure without a call': failUncalled,
  'a retryable failure without a call': failUncalledRetryable,
  'no word, by a lost': lost,
  'no word, by the sweeper': 'sweep',
  'obeyed a stop': cancelled,
  released: release,
};

const sides = {
  pure: { safety: pure, first: [start], cells: { ...before, ...uncalled } },
  idempotent: { safety: idempotent, first: [start], cells: { ...before, ...uncalled } },
  'start gate, before it': { safety: startGate, first: [], cells: disbelieved(before) },
  'effect gate, before it': {
    safety: effectGate,
    first: [start],
    cells: { ...before, ...uncalled },
  },
  'start gate, past it': { safety: startGate, first: [start], cells: { ...past, ...uncalled } },
  'start gate, past it with a log line': {
    safety: startGate,
    first: [start, log(1)],
    cells: { ...past, ...uncalled },
  },
  'start gate, past it with progress': {
    safety: startGate,
    first: [start, progress(1)],
    cells: disbelieved(past),
  },
  'effect gate, past it': { safety: effectGate, first: [start, effect], cells: disbelieved(past) },
  'effect gate, past it without a start': {
    safety: effectGate,
    first: [effect],
    cells: disbelieved(past),
  },
} as const;

function happen(what: Said | 'sweep', side: keyof typeof sides, situation: Situation): string {
  const last = situation.includes('last');
  const deadline = situation.includes('deadline');
  const { safety, first } = sides[side];
  const world = new TaskWorld({
    maxAttempts: last ? 1 : 5,
    ...(deadline ? { deadlineAt: new Date(T0 + 10_000).toISOString() } : {}),
  });
  world.claim(safety);
  for (const report of first) expect(inWords(world.say(report))).toBe('ok');
  // Without a start, something else makes the attempt count: else the sweeper ends it as not delivered.
  if (side === 'start gate, before it') world.say({ op: 'progress', n: 1 });
  if (situation.includes('cancel')) expect(inWords(world.cancel())).toBe('ok');
  world.pass(11_000);
  if (what === 'sweep') {
    world.pass(30_000 + 300_000);
    expect(world.sweep()).toBeDefined();
    return world.outcome;
  }
  const verdict = world.say(what);
  if (verdict.ok) return world.outcome;
  expect(world.task.status).toBe('running');
  return verdict.code;
}

describe.each(Object.keys(sides) as (keyof typeof sides)[])('%s', (side) => {
  it.each(Object.keys(said))('%s', (row) => {
    const what = said[row];
    if (!what) throw new Error(row);
    const cells = Object.fromEntries(situations.map((s) => [s, happen(what, side, s)]));
    expect(cells).toEqual(
      Object.fromEntries(situations.map((s, i) => [s, sides[side].cells[row]?.[i]])),
    );
  });
});

it('has a row for everything that can happen', () => {
  expect(Object.keys(effectSafetyTable).sort()).toEqual(
    ['failure', 'no-word', 'obeyed', 'released', 'result', 'retryable-failure', 'unknown'].sort(),
  );
});

describe('the gate', () => {
  const accepted = (startAccepted: boolean, effectAccepted: boolean) => ({
    startAccepted,
    effectAccepted,
  });

  it('is the accepted start of a start gate, or an accepted effect, which implies it', () => {
    expect(gatePassed({ ...startGate, ...accepted(false, false) })).toBe(false);
    expect(gatePassed({ ...startGate, ...accepted(true, false) })).toBe(true);
    expect(gatePassed({ ...startGate, ...accepted(true, true) })).toBe(true);
  });

  it('is the accepted effect of an effect gate, and nothing else', () => {
    expect(gatePassed({ ...effectGate, ...accepted(true, false) })).toBe(false);
    expect(gatePassed({ ...effectGate, ...accepted(true, true) })).toBe(true);
  });

  it('is none for what may be repeated', () => {
    for (const safety of [pure, idempotent])
      expect(gatePassed({ ...safety, ...accepted(true, true) })).toBe(false);
  });
});

describe('the error', () => {
  it('tells why attempts are used up, with the evidence', () => {
    const world = new TaskWorld({ maxAttempts: 1 });
    world.claim(pure);
    world.say({
      ...lost,
      killed: true,
      details: { signal: 'SIGKILL', outOfMemory: true, reason: 'mine' },
    });
    expect(world.task.error).toMatchObject({
      code: 'ATTEMPTS_EXHAUSTED',
      attempt: 1,
      details: { reason: 'host-died', signal: 'SIGKILL', outOfMemory: true, killed: true },
    });
  });

  it('tells why an outcome is unknown', () => {
    const world = new TaskWorld();
    world.claim(startGate);
    world.say(start);
    world.say({ ...lost, reason: 'timeout' });
    expect(world.task.error).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      effect: 'begun',
      details: { reason: 'timeout' },
    });
  });

  it('is the lease’s where nobody said anything', () => {
    const world = new TaskWorld({ maxAttempts: 1, lostGraceMs: 0 });
    world.claim(pure);
    world.say(start);
    world.pass(30_000).sweep();
    expect(world.task.error).toMatchObject({
      code: 'ATTEMPTS_EXHAUSTED',
      details: { reason: 'lease' },
    });
  });

  it('stays that of the handler where it failed for the last time', () => {
    const world = new TaskWorld({ maxAttempts: 1 });
    world.claim(pure);
    world.say({
      ...failRetryable,
      error: { code: 'BUSY', message: 'm', retryable: true, details: { a: 1 } },
    });
    expect(world.task.error).toEqual({
      code: 'BUSY',
      message: 'm',
      retryable: true,
      details: { a: 1 },
      attempt: 1,
    });
  });
});
