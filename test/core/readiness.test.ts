import { describe, expect, it } from 'vitest';
import { readinessDefaults, workerDefaults } from '../../src/core/defaults.ts';
import { type Contact, feedsWatchdog, readiness, stall } from '../../src/core/readiness.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** The clock's zero means nothing. */
const START = 5_000_000;
const claims = { everyMs: workerDefaults.pollMaxMs, since: START };
/** 2 × 15 s and one call's 10 s. */
const ALLOWED = 40 * SECOND;

/** An idle worker that was answered a second ago, at some time after its start. */
function idle(afterMs: number, other: Partial<Contact> = {}): Contact {
  const now = START + afterMs;
  return {
    now,
    startedAt: START,
    lastClaimOkAt: now - SECOND,
    lastCallEndedAt: now - SECOND,
    held: 0,
    draining: false,
    claims,
    ...other,
  };
}

/** Nothing has succeeded for so long; calls end all the same. */
function outage(ms: number, other: Partial<Contact> = {}): Contact {
  return idle(2 * HOUR, { lastClaimOkAt: START + 2 * HOUR - ms, ...other });
}

it('knows the pace and the patience of the loops', () => {
  expect(readinessDefaults.answerMs).toBe(workerDefaults.requestTimeoutMs);
  expect(readinessDefaults.unknownEveryMs).toBe(workerDefaults.pollMaxMs);
});

describe('ready', () => {
  it('is a worker whose claims bring nothing', () => {
    expect(readiness(idle(HOUR))).toEqual({ ready: true, turning: true, feed: true });
  });

  it('is a worker that is full: its renewals succeed', () => {
    const full = outage(3 * HOUR, {
      claims: undefined,
      renewals: { everyMs: 10 * SECOND },
      lastRenewalOkAt: START + 2 * HOUR - 9 * SECOND,
      held: 4,
    });
    expect(readiness(full)).toEqual({ ready: true, turning: true, feed: true });
  });

  it('is a full worker with a lease of an hour, nineteen minutes after its claim', () => {
    const renewals = { everyMs: 20 * MINUTE };
    const full = outage(19 * MINUTE, { claims: undefined, renewals, held: 1 });
    expect(readiness(full).ready).toBe(true);
    expect(readiness(outage(41 * MINUTE, { claims: undefined, renewals, held: 1 })).ready).toBe(
      false,
    );
  });

  it('is still the one whose slot is free again after that, until a claim is late', () => {
    const since = START + 2 * HOUR - SECOND;
    const free = (freeForMs: number) =>
      outage(19 * MINUTE, {
        renewals: { everyMs: 20 * MINUTE },
        held: 1,
        claims: { everyMs: 15 * SECOND, since: since - freeForMs + SECOND },
      });
    expect(readiness(free(SECOND)).ready).toBe(true);
    expect(readiness(free(ALLOWED)).ready).toBe(true);
    expect(readiness(free(ALLOWED + 1)).ready).toBe(false);
  });

  it.each([
    [0, true],
    [ALLOWED, true],
    [ALLOWED + 1, false],
    [HOUR, false],
  ])('an idle worker, %i ms after its last good claim: %s', (ms, ready) => {
    expect(readiness(outage(ms)).ready).toBe(ready);
  });

  it('keeps to the pace that the control plane has asked for', () => {
    const slow = { everyMs: 2 * MINUTE, since: START };
    expect(readiness(outage(4 * MINUTE, { claims: slow })).ready).toBe(true);
    expect(readiness(outage(5 * MINUTE, { claims: slow })).ready).toBe(false);
  });

  it('takes the later of claim and renewal', () => {
    const recent = START + 2 * HOUR - SECOND;
    expect(readiness(outage(HOUR, { lastRenewalOkAt: recent })).ready).toBe(true);
    expect(
      readiness(idle(HOUR, { lastRenewalOkAt: START, renewals: { everyMs: 2 * SECOND }, held: 1 }))
        .ready,
    ).toBe(true);
  });

  it('notices by its renewals sooner than by its polls', () => {
    const held = { held: 1, renewals: { everyMs: 2 * SECOND } };
    expect(readiness(outage(14 * SECOND, held)).ready).toBe(true);
    expect(readiness(outage(14 * SECOND + 1, held)).ready).toBe(false);
  });

  it('judges one that neither claims nor renews as one that claims at the usual pace', () => {
    const neither = { claims: undefined, held: 1 };
    expect(readiness(outage(ALLOWED, neither)).ready).toBe(true);
    expect(readiness(outage(ALLOWED + 1, neither)).ready).toBe(false);
  });
});

describe('why it is not ready', () => {
  it('says that it drains, whatever else is wrong', () => {
    const { why } = readiness(outage(HOUR, { draining: true, notClaiming: 'the disk is full' }));
    expect(why).toBe('It drains: nothing more is claimed.');
  });

  it('says what holds claims back, also where renewals succeed', () => {
    const { ready, why } = readiness(
      idle(HOUR, { lastRenewalOkAt: START + HOUR, notClaiming: 'the spool cannot be written' }),
    );
    expect(ready).toBe(false);
    expect(why).toBe('Nothing is claimed: the spool cannot be written');
  });

  it('says that nobody has answered yet, and since when', () => {
    const { ready, why } = readiness(
      idle(3_200, { lastClaimOkAt: undefined, lastFailure: 'connection refused.' }),
    );
    expect(ready).toBe(false);
    expect(why).toBe(
      'No claim or renewal has succeeded yet since the start 3.2 s ago; the last one failed: connection refused.',
    );
  });

  it('says for how long none has succeeded and how often one is due', () => {
    expect(readiness(outage(43 * SECOND)).why).toBe(
      'No claim or renewal has succeeded for 43 s, and one is due every 15 s.',
    );
  });
});

describe('the loops', () => {
  const quiet = (ms: number, other: Partial<Contact> = {}) =>
    idle(HOUR, { lastCallEndedAt: START + HOUR - ms, ...other });
  const { stallMs } = readinessDefaults;

  it('turn while calls end, well or not', () => {
    expect(stall(outage(HOUR))).toBeUndefined();
    expect(stall(quiet(stallMs))).toBeUndefined();
  });

  it('stand still when no call has ended for a minute', () => {
    expect(stall(quiet(stallMs + 1))).toMatch(/^No call .* for 60 s, although one was due/);
    expect(stall(idle(stallMs + 1, { lastCallEndedAt: undefined }))).toMatch(/^No call/);
    expect(stall(idle(stallMs, { lastCallEndedAt: undefined }))).toBeUndefined();
  });

  it('turn while the control plane has asked for a pause, and a minute more', () => {
    const asked = (dueMs: number) => quiet(9 * MINUTE, { nextCallAt: START + HOUR + dueMs });
    expect(stall(asked(MINUTE))).toBeUndefined();
    expect(stall(asked(-stallMs))).toBeUndefined();
    expect(stall(asked(-stallMs - 1))).toMatch(/^No call/);
  });

  it('stand still when a claim does not come to its end, whatever other calls do', () => {
    expect(stall(idle(HOUR, { claimingSince: START + HOUR - stallMs }))).toBeUndefined();
    expect(stall(idle(HOUR, { claimingSince: START + HOUR - stallMs - 1 }))).toMatch(
      /^The claim loop has been busy/,
    );
  });
});

describe('the watchdog', () => {
  const TEN = readinessDefaults.outageMs;
  const stands = { lastCallEndedAt: START, claimingSince: undefined };
  const cells: [string, Contact, boolean][] = [
    ['claims succeed', idle(HOUR), true],
    ['an outage, nothing held, up to 10 min', outage(TEN), true],
    ['an outage, nothing held, longer', outage(TEN + 1), false],
    ['an outage, something held, 10 min', outage(TEN, { held: 1 }), true],
    ['an outage, something held, an hour', outage(HOUR, { held: 1 }), true],
    ['a drain in an outage', outage(HOUR, { draining: true }), true],
    ['a refused key for an hour', outage(HOUR, { notClaiming: 'the key is refused' }), true],
    ['never answered, 10 min after the start', idle(TEN, { lastClaimOkAt: undefined }), true],
    ['never answered, longer', idle(TEN + 1, { lastClaimOkAt: undefined }), false],
    [
      'idle with a poll of an hour',
      outage(HOUR, { claims: { everyMs: HOUR, since: START } }),
      true,
    ],
    [
      'free again a moment ago after an hour of one lease',
      outage(HOUR, { claims: { everyMs: 15_000, since: START + 2 * HOUR - SECOND } }),
      true,
    ],
    ['loops stand still', idle(HOUR, stands), false],
    ['loops stand still, something held', idle(HOUR, { ...stands, held: 2 }), false],
    ['loops stand still, draining', idle(HOUR, { ...stands, draining: true }), false],
    ['loops stand still, key refused', idle(HOUR, { ...stands, notClaiming: 'key' }), false],
    ['just started', idle(0, { lastClaimOkAt: undefined, lastCallEndedAt: undefined }), true],
  ];
  it.each(cells)('%s', (_, contact, fed) => {
    expect(feedsWatchdog(contact)).toBe(fed);
    expect(readiness(contact).feed).toBe(fed);
  });
});
