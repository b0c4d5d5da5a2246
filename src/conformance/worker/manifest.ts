export type HandlerType =
  | 'conformance/echo'
  | 'conformance/sleep'
  | 'conformance/fail'
  | 'conformance/effect'
  | 'conformance/gated'
  | 'conformance/stubborn'
  | 'conformance/spin'
  | 'conformance/progress';

/** A handler that a worker must offer to be judged. Kept few and small: strangers have to write them. */
export interface ManifestHandler {
  readonly type: HandlerType;
  readonly schemaVersion: number;
  readonly effectSafety: 'pure' | 'idempotent' | 'non-idempotent';
  readonly effectGate: 'start' | 'effect';
  /** Its input, by example. */
  readonly input: unknown;
  /** Its result, for that input. */
  readonly result?: unknown;
  readonly does: string;
}

const START = { schemaVersion: 1, effectGate: 'start' } as const;

export const manifest: readonly ManifestHandler[] = [
  {
    type: 'conformance/echo',
    ...START,
    effectSafety: 'idempotent',
    input: { any: 'JSON', ms: 100 },
    result: { any: 'JSON', ms: 100 },
    does: 'Returns its input. Where the input is an object with `ms`, it first sleeps so many milliseconds; it obeys a stop.',
  },
  {
    type: 'conformance/sleep',
    ...START,
    effectSafety: 'pure',
    input: { ms: 100 },
    result: { slept: 100 },
    does: 'Sleeps `ms` milliseconds; it obeys a stop.',
  },
  {
    type: 'conformance/fail',
    ...START,
    effectSafety: 'pure',
    input: { code: 'NO_INK', message: 'The printer has no ink.', retryable: true },
    does: 'Fails with this code, this message and this word on repetition.',
  },
  {
    type: 'conformance/effect',
    ...START,
    effectSafety: 'non-idempotent',
    input: { line: 'a', ms: 100 },
    result: { line: 'a' },
    does: 'Appends the line `{"effectKey": …, "line": …}` (the attempt\'s `effectKey`, the input\'s `line`) to `effects.jsonl` in the folder `INTERLOCK_CONFORMANCE_DIR`, in one write; then sleeps `ms` milliseconds [0] and obeys a stop meanwhile.',
  },
  {
    type: 'conformance/gated',
    schemaVersion: 1,
    effectGate: 'effect',
    effectSafety: 'non-idempotent',
    input: { line: 'a', beforeMs: 100, ms: 100 },
    result: { line: 'a' },
    does: 'Sleeps `beforeMs` milliseconds [0], passes its gate (`beginEffect`), appends as conformance/effect@1 does, and sleeps `ms` milliseconds [0]; it obeys a stop in every sleep.',
  },
  {
    type: 'conformance/stubborn',
    ...START,
    effectSafety: 'pure',
    input: { ms: 60_000 },
    result: { slept: 60_000 },
    does: 'Sleeps `ms` milliseconds and hears no stop: it has to be killed.',
  },
  {
    type: 'conformance/spin',
    ...START,
    effectSafety: 'pure',
    input: { ms: 100 },
    does: 'Keeps its core busy for `ms` milliseconds without giving way, then returns anything.',
  },
  {
    type: 'conformance/progress',
    ...START,
    effectSafety: 'pure',
    input: { steps: 3, everyMs: 100 },
    result: { steps: 3 },
    does: 'Tells its progress `steps` times (`percent`, a `message`, the checkpoint `{"step": n}`) and logs a line each time, `everyMs` milliseconds [100] apart; it obeys a stop.',
  },
];

/** `conformance/echo@1`. */
export const handlerName = ({ type, schemaVersion }: ManifestHandler): string =>
  `${type}@${schemaVersion}`;

/** What the worker is started with, and what it means. */
export const environment: readonly (readonly [string, string])[] = [
  ['INTERLOCK_URL', 'Address of the control plane, without the base path.'],
  ['INTERLOCK_WORKER_KEY', 'Key to send.'],
  ['INTERLOCK_WORKER_ID', 'Name of the worker.'],
  ['INTERLOCK_SPOOL', 'State folder: empty at first, kept when the worker is started again.'],
  ['INTERLOCK_MAX_CONCURRENT', 'Slots.'],
  ['INTERLOCK_POOLS', 'Pools to take tasks from, with commas between.'],
  [
    'INTERLOCK_STOP_GRACE',
    'How long a handler that is told to stop may take before it is killed, in seconds.',
  ],
  [
    'INTERLOCK_DRAIN_TIMEOUT',
    'How long running handlers may go on after SIGTERM, in seconds; the grace lies inside it.',
  ],
  ['INTERLOCK_CONFORMANCE_DIR', 'Folder of `effects.jsonl`.'],
];
