import { describe, expect, it } from 'vitest';
import { type AttemptState, step } from '../../src/core/attempt.ts';
import {
  claimed,
  type EventName,
  effectInWords,
  eventNames,
  events,
  having,
  type Kind,
} from './attempt-words.ts';

/**
 * Every phase of the attempt in the worker, by gate and by what has happened before, against every event.
 * A cell says `next phase: effects in their order`. What cannot happen throws, what comes too late is
 * ignored, both with the reason. Written from the contract (sections 4, 5, 9) and ARCHITECTURE.md.
 */
interface Row {
  readonly at: AttemptState;
  readonly cells: Partial<Record<EventName, string>>;
  /** Reason → events that would be a bug in a loop. */
  readonly throws?: Record<string, readonly EventName[]>;
  /** Reason → events that change nothing. */
  readonly ignored?: Record<string, readonly EventName[]>;
}

const GATE: EventName[] = [
  'gate accepted',
  'gate: lease expired',
  'gate: stale',
  'gate: superseded',
  'gate refused',
  'gate: no answer',
];
const ENDS: EventName[] = [
  'returned',
  'threw',
  'input refused',
  'said unknown',
  'obeyed',
  'killed',
  'died',
  'never began',
];
const HANDLER: EventName[] = ['begun', 'effect requested', ...ENDS, 'stuck', 'timeout'];
const ANSWERS: EventName[] = [
  'answered: done',
  'answered: stale',
  'answered: recorded',
  'answered: refused',
  'answered: refused, more follows',
];
const REPORT: EventName[] = ['written', 'not written', ...ANSWERS];
const without = (names: readonly EventName[], ...out: EventName[]) =>
  names.filter((name) => !out.includes(name));

// ---- claimed: a lease and perhaps a slot, no handler yet ----------------------------------------------

const notRunning = { 'there is no handler yet': HANDLER, 'there is no report yet': REPORT };
const waiting = (kind: Kind, lease: string, slot: string): Row => ({
  at: claimed(kind),
  cells: {
    'slot granted': slot,
    cancel: 'ending: write cancelled',
    drain: 'spooled: send release drain',
    'drain deadline': 'spooled: send release drain',
    'lease ran out': lease,
    stale: 'stale: forget',
  },
  throws: { ...notRunning, 'no gate was asked': GATE },
});

const asking: Row = {
  at: having(claimed('start gate'), 'slot granted'),
  cells: {
    'gate accepted': 'running: start-handler',
    'gate: lease expired': 'claimed: ask start after renewal',
    'gate: no answer': 'claimed: ask start after pause',
    'gate: stale': 'stale: free-slot, forget',
    'gate: superseded': 'spooled: free-slot, send release superseded',
    'gate refused': 'spooled: free-slot, send release gate-refused',
    // An unanswered start may have passed the gate: its answer is waited for.
    cancel: 'claimed:',
    drain: 'claimed:',
    'drain deadline': 'spooled: free-slot, send release drain',
    // Our clock alone proves nothing; the gate's answer does.
    'lease ran out': 'claimed:',
    stale: 'stale: free-slot, forget',
  },
  throws: { ...notRunning, 'it has a slot': ['slot granted'] },
};
const askingAfter = (path: EventName[], cells: Row['cells']): Row => ({
  ...asking,
  at: having(asking.at, ...path),
  cells: { ...asking.cells, ...cells },
});

const claimedRows: Record<string, Row> = {
  'pure, waiting for a slot': waiting(
    'pure',
    'claimed:',
    'running: start-handler, send-start-soon',
  ),
  'idempotent, waiting for a slot': waiting(
    'idempotent',
    // Another worker may run the task now, and nothing would keep this one from beginning beside it.
    'spooled: send release lease',
    'running: start-handler, send-start-soon',
  ),
  'effect gate, waiting for a slot': waiting(
    'effect gate',
    'spooled: send release lease',
    'running: start-handler, send-start-soon',
  ),
  'start gate, waiting for a slot': waiting('start gate', 'claimed:', 'claimed: ask start'),
  'claimed with a cancel requested': {
    ...waiting('start gate', 'claimed:', 'ending: write cancelled'),
    at: claimed('start gate', true),
  },
  'pure, claimed with a cancel requested': {
    ...waiting('pure', 'claimed:', 'ending: write cancelled'),
    at: claimed('pure', true),
  },
  'start asked': asking,
  'start asked again after an expired lease': askingAfter(['gate: lease expired'], {
    'gate: lease expired': 'spooled: free-slot, send release lease',
  }),
  'start asked, a cancel requested': askingAfter(['cancel'], {
    'gate accepted': 'ending: write cancelled',
    'gate: lease expired': 'ending: write cancelled',
    // Asking again would pass the gate for nothing.
    'gate: no answer': 'ending: write cancelled',
  }),
  'start asked, draining': askingAfter(['drain'], {
    // What passed its gate cannot be given back: it is run.
    'gate accepted': 'running: start-handler',
    'gate: lease expired': 'spooled: free-slot, send release drain',
  }),
};

// ---- running: a handler is at work ----------------------------------------------------------------------

const running = (at: AttemptState, begun: boolean, cells: Row['cells']): Row => {
  const began = begun ? 'begun' : 'unbegun';
  return {
    at,
    cells: {
      begun: 'running: mark-begun',
      // ctx.beginEffect() of any other attempt than one with an effect gate resolves at once.
      'effect requested': 'running: open-gate',
      returned: 'ending: write complete',
      threw: 'ending: write fail BROKEN',
      'input refused': 'ending: write fail BROKEN not called',
      'said unknown': 'ending: write unknown',
      died: `ending: write lost host-died ${began}`,
      // Nobody stopped it: the carrier saw it go by itself.
      obeyed: `ending: write lost host-died ${began}`,
      killed: `ending: write lost host-died ${began} killed`,
      'never began': 'spooled: free-slot, send release host-unavailable',
      stuck: 'running:',
      stale: 'running: stop stale',
      'gate: stale': 'running: stop stale',
      'lease ran out': 'running: stop lease',
      cancel: 'running: stop cancel',
      timeout: 'running: stop timeout',
      drain: 'running:',
      'drain deadline': 'running: stop drain',
      ...cells,
    },
    throws: { 'it has a slot': ['slot granted'], 'there is no report yet': REPORT },
    ignored: { 'no answer is waited for': without(GATE, 'gate: stale') },
  };
};
const goesOn = { 'lease ran out': 'running:' };
const pastGate = { ...goesOn, 'never began': 'ending: write fail HOST_FAILED not called' };
/** Its host has said that it took it: that nothing was called is no longer certain. */
const pastGateBegun = { ...goesOn, 'never began': 'ending: write fail HOST_FAILED' };
const run = (kind: Kind, ...path: EventName[]) =>
  having(
    claimed(kind),
    'slot granted',
    ...(kind === 'start gate' ? (['gate accepted'] as const) : []),
    ...path,
  );

const effectAsked: Row = {
  ...running(run('effect gate', 'begun', 'effect requested'), true, {
    'gate accepted': 'running: open-gate',
    'gate: lease expired': 'running: ask effect after renewal',
    'gate: no answer': 'running: ask effect after pause',
    // Once the handler has begun nothing is released: the gate rejects.
    'gate: superseded': 'running: refuse-gate',
    'gate refused': 'running: refuse-gate',
    'gate: stale': 'running: refuse-gate, stop stale',
    stale: 'running: refuse-gate, stop stale',
    'lease ran out': 'running: refuse-gate, stop lease',
    cancel: 'running: refuse-gate, stop cancel',
    timeout: 'running: refuse-gate, stop timeout',
    'drain deadline': 'running: refuse-gate, stop drain',
  }),
  throws: {
    'it has a slot': ['slot granted'],
    'there is no report yet': REPORT,
    'a handler asks once': ['effect requested'],
  },
  ignored: {},
};
delete effectAsked.cells['effect requested'];

const effectRefused: Row = {
  ...running(run('effect gate', 'begun', 'effect requested', 'gate: superseded'), true, {}),
  throws: effectAsked.throws ?? {},
};
delete effectRefused.cells['effect requested'];

/** A stop is under way: later reasons change nothing, what the handler says itself is reported as it is. */
const stopping = (at: AttemptState, reason: string, cells: Row['cells'] = {}): Row => ({
  at,
  cells: {
    begun: 'running: mark-begun',
    'effect requested': 'running: open-gate',
    returned: 'ending: write complete',
    threw: 'ending: write fail BROKEN',
    'input refused': 'ending: write fail BROKEN not called',
    'said unknown': 'ending: write unknown',
    obeyed: reason === 'cancel' ? 'ending: write cancelled' : `ending: write lost ${reason} begun`,
    killed: `ending: write lost ${reason} begun killed`,
    died: `ending: write lost ${reason} begun`,
    'never began': 'spooled: free-slot, send release host-unavailable',
    stuck: 'running:',
    // The first reason wins; that nothing may be reported any more is never forgotten.
    stale: 'running:',
    'gate: stale': 'running:',
    cancel: 'running:',
    timeout: 'running:',
    drain: 'running:',
    'drain deadline': 'running:',
    'lease ran out': 'running:',
    ...cells,
  },
  throws: { 'it has a slot': ['slot granted'], 'there is no report yet': REPORT },
  ignored: { 'no answer is waited for': without(GATE, 'gate: stale') },
});
const silentEnd = Object.fromEntries(ENDS.map((name) => [name, 'stale: free-slot, forget']));

const runningRows: Record<string, Row> = {
  'pure, just started': running(run('pure'), false, goesOn),
  'idempotent, just started': running(run('idempotent'), false, {}),
  'effect gate, just started': running(run('effect gate'), false, {
    'effect requested': 'running: ask effect',
  }),
  'start gate, just started': running(run('start gate'), false, pastGate),
  'pure, begun': running(run('pure', 'begun'), true, goesOn),
  'idempotent, begun': running(run('idempotent', 'begun'), true, {}),
  'start gate, begun': running(run('start gate', 'begun'), true, pastGateBegun),
  'effect gate, begun': running(run('effect gate', 'begun'), true, {
    'effect requested': 'running: ask effect',
  }),
  'effect asked': effectAsked,
  'effect asked again after an expired lease': {
    ...effectAsked,
    at: having(effectAsked.at, 'gate: lease expired'),
    cells: { ...effectAsked.cells, 'gate: lease expired': 'running: refuse-gate' },
  },
  'effect gate open': running(
    run('effect gate', 'begun', 'effect requested', 'gate accepted'),
    true,
    pastGateBegun,
  ),
  'effect gate refused': effectRefused,
  'stopping for a timeout': stopping(run('pure', 'begun', 'timeout'), 'timeout'),
  'stopping for a cancel': stopping(run('idempotent', 'begun', 'cancel'), 'cancel'),
  'stopping for the lease': stopping(run('idempotent', 'begun', 'lease ran out'), 'lease'),
  'stopping for a drain': stopping(run('pure', 'begun', 'drain', 'drain deadline'), 'drain'),
  'past its gate, stopping for a cancel': stopping(run('start gate', 'begun', 'cancel'), 'cancel', {
    'never began': 'ending: write fail HOST_FAILED',
  }),
  'effect gate shut, stopping': stopping(run('effect gate', 'begun', 'timeout'), 'timeout', {
    'effect requested': 'running: refuse-gate',
  }),
  'stopping because it is stale': stopping(run('pure', 'begun', 'stale'), 'stale', silentEnd),
  'stopping for a timeout, then stale': stopping(
    run('pure', 'begun', 'timeout', 'stale'),
    'timeout',
    silentEnd,
  ),
  'effect asked, then stale': {
    ...stopping(run('effect gate', 'begun', 'effect requested', 'stale'), 'stale', {
      ...silentEnd,
      'effect requested': 'running: refuse-gate',
    }),
  },
  'killed but not gone': stopping(run('pure', 'begun', 'timeout', 'stuck'), 'timeout'),
};

// ---- ending: the report is being written; spooled: it is sent until it is answered ------------------------

const tooLate: Row['ignored'] = {
  'the handler has gone and its report is made': without(HANDLER, 'timeout'),
  'nothing is left to stop': ['timeout', 'cancel', 'drain', 'drain deadline', 'lease ran out'],
  'it needs no slot any more': ['slot granted'],
};
const free = (slot: boolean) => (slot ? 'free-slot, ' : '');
const ending = (
  at: AttemptState,
  report: string,
  slot: boolean,
  cells: Row['cells'] = {},
): Row => ({
  at,
  cells: {
    written: `spooled: ${free(slot)}send ${report}`,
    // While the disk refuses it is sent directly, and an answer may come before the disk has it.
    'not written': 'ending:',
    'answered: done': `acknowledged: ${free(slot)}forget`,
    'answered: stale': `stale: aside stale, ${free(slot)}forget`,
    'answered: recorded': `stale: aside stale recorded, ${free(slot)}forget`,
    'answered: refused': `refused: aside refused, ${free(slot)}forget`,
    'answered: refused, more follows': 'ending: aside refused, write fail RESULT_REFUSED',
    stale: 'ending:',
    'gate: stale': 'ending:',
    ...cells,
  },
  ignored: { ...tooLate, 'no answer is waited for': without(GATE, 'gate: stale') },
});
const unsent: Row['cells'] = {
  // Nothing is sent for an attempt after STALE_ATTEMPT.
  written: 'stale: aside stale, free-slot, forget',
  'not written': 'stale: free-slot, forget',
  'answered: refused, more follows': 'refused: aside refused, free-slot, forget',
};
const spooled = (at: AttemptState, over: string): Row => ({
  at,
  cells: {
    'answered: done': `${over}: forget`,
    'answered: stale': 'stale: aside stale, forget',
    'answered: recorded': 'stale: aside stale recorded, forget',
    'answered: refused': 'refused: aside refused, forget',
    'answered: refused, more follows': 'ending: aside refused, write fail RESULT_REFUSED',
  },
  ignored: {
    ...tooLate,
    'once a report is durable only its own answer decides': ['stale', ...GATE],
    'it is on disk': ['written', 'not written'],
  },
});

const complete = run('start gate', 'begun', 'returned');
const lost = run('pure', 'begun', 'timeout', 'killed');
const endingRows: Record<string, Row> = {
  'a result being written': ending(complete, 'complete', true),
  'a loss being written': ending(lost, 'lost timeout begun killed', true, {
    'answered: done': 'lost: free-slot, forget',
  }),
  'a cancel being written, never started': ending(
    having(claimed('pure'), 'cancel'),
    'cancelled',
    false,
  ),
  'what follows a refusal being written': ending(
    having(complete, 'written', 'answered: refused, more follows'),
    'fail RESULT_REFUSED',
    false,
  ),
  'what follows a refusal of a report sent directly': ending(
    having(complete, 'not written', 'answered: refused, more follows'),
    'fail RESULT_REFUSED',
    true,
  ),
  'a result being written, then stale': ending(having(complete, 'stale'), 'complete', true, unsent),
  'a result being written, then its gate is stale': ending(
    having(run('effect gate', 'begun', 'effect requested', 'returned'), 'gate: stale'),
    'complete',
    true,
    unsent,
  ),
  'a result on disk': spooled(having(complete, 'written'), 'acknowledged'),
  'a loss on disk': spooled(having(lost, 'written'), 'lost'),
  'a release': spooled(having(claimed('pure'), 'drain'), 'released'),
  'what follows a refusal on disk': spooled(
    having(complete, 'written', 'answered: refused, more follows', 'written'),
    'acknowledged',
  ),
};

// ---- over ---------------------------------------------------------------------------------------------------

const over = (at: AttemptState): Row => ({
  at,
  cells: {},
  ignored: { 'it is over: answers and signals may come late': eventNames },
});
const overRows: Record<string, Row> = {
  acknowledged: over(having(complete, 'written', 'answered: done')),
  lost: over(having(lost, 'written', 'answered: done')),
  released: over(having(claimed('pure'), 'drain', 'answered: done')),
  stale: over(having(claimed('pure'), 'stale')),
  refused: over(having(complete, 'written', 'answered: refused')),
};

const table = { ...claimedRows, ...runningRows, ...endingRows, ...overRows };

describe.each(Object.entries(table))('%s', (_, row) => {
  const { at, cells } = row;
  const thrown = Object.entries(row.throws ?? {}).flatMap(([why, names]) =>
    names.map((name) => [name, why] as const),
  );
  const ignored = Object.entries(row.ignored ?? {}).flatMap(([why, names]) =>
    names.map((name) => [name, why] as const),
  );

  it('has one cell for every event', () => {
    const named = [...Object.keys(cells), ...thrown.map(([n]) => n), ...ignored.map(([n]) => n)];
    expect(named.sort()).toEqual([...eventNames].sort());
  });

  it('goes on as the table says', () => {
    const went = Object.fromEntries(
      Object.keys(cells).map((name) => {
        const [next, effects] = step(at, events[name as EventName]);
        return [name, `${next.phase}: ${effects.map(effectInWords).join(', ')}`.trim()];
      }),
    );
    expect(went).toEqual(cells);
  });

  it('throws for what cannot happen, and names the phase and the event', () => {
    for (const [name, why] of thrown)
      expect(() => step(at, events[name]), `${name}: ${why}`).toThrow(
        new RegExp(`att_1: event '${events[name].kind}' in phase '${at.phase}'`),
      );
  });

  it('ignores what comes too late', () => {
    for (const [name, why] of ignored)
      expect(step(at, events[name]), `${name}: ${why}`).toEqual([at, []]);
  });
});

it('has every phase', () => {
  expect(new Set(Object.values(table).map((row) => row.at.phase))).toEqual(
    new Set([
      'claimed',
      'running',
      'ending',
      'spooled',
      'acknowledged',
      'lost',
      'released',
      'stale',
      'refused',
    ]),
  );
});
