import type { Json } from './schema.ts';

/** What each field is, by its name: the contract uses the same word for the same thing everywhere. */
const FIELDS: Readonly<Record<string, string>> = {
  acceptRepeatedEffect: 'Needed where the effect may have taken place (`error.effect: "begun"`).',
  accepted: 'It was taken, and is kept.',
  actionId: 'Of your choice. The same again gets the first answer and changes nothing.',
  at: 'When it was.',
  attempt: 'The number of the attempt, from 1; attempts that were not delivered do not count.',
  attemptId: 'Names the attempt.',
  attemptTimeoutMs: 'How long a handler may run, in milliseconds; `null`: as long as it likes.',
  attempts: 'Attempts that counted.',
  backoff: 'How the delay before a repeat grows: `initialMs × factor^n`, at most `maxMs`.',
  batch: 'Items in one batch call, at most.',
  batchBytes: 'Bytes of one body, at most.',
  begun: 'The handler had been given its input.',
  body: 'What the single call would have answered.',
  busy: 'Slots that are working.',
  by: 'Who caused it: `worker:…`, `key:…`, `sweeper`.',
  bytes: 'Bytes on disk.',
  cancelRequested: 'Somebody asked to cancel it, or its deadline passed.',
  checkpoint: 'What the last attempt said of how far it came; any JSON value.',
  checkpointBytes: 'Bytes of a checkpoint, at most.',
  claimMax: 'Attempts of one claim, at most. Absent: 100.',
  clockOffsetMs: 'By how much the worker’s clock is ahead of the control plane’s, in milliseconds.',
  codeHash: 'Which code ran, as a SHA-256: it stands in the attempt’s journal entry `started`.',
  code: 'What to go by: upper case letters, digits and `_`.',
  contracts: 'Versions of the contract that are spoken here.',
  createdAt: 'When it was made.',
  cursor: 'Send it to get what comes next.',
  data: 'What else belongs to the entry.',
  deadlineAt: 'When the task is given up, done or not; `null`: never.',
  default: 'Where nothing is asked for, in milliseconds.',
  detail: 'What happened to what, for people.',
  details: 'Further facts.',
  drain: 'The worker is asked to finish what it has and take nothing more.',
  drainRequested: 'It was asked to drain.',
  draining: 'Workers that finish what they have.',
  earlierSession: 'An earlier process of the worker had started it.',
  earlierSessions: 'Sessions that the worker’s folder knows before this one; they are over.',
  effect:
    '`begun`: the attempt, or one before it of which nobody has said what became of it, was past its gate: its effect may have taken place.',
  effectGate: 'The report that is the point of no return of a non-idempotent attempt.',
  effectKey: 'The same on every attempt; handlers pass it on as an idempotency key.',
  effectSafety: 'How safe it is to run the handler again.',
  error: 'How it failed.',
  events: 'Entries of the journal, oldest first.',
  expiresAt: 'From then on the key is refused.',
  expiresInMs: 'How long the key is good, in milliseconds from now.',
  factor: 'By how much a delay is longer than the one before.',
  failures: 'Tries in a row that failed.',
  features: 'Optional ops and abilities by name.',
  fence: 'Grows by one with each attempt of the task; an older one is refused.',
  file: 'The file, as seen from the handlers folder.',
  finishedAt: 'When it ended.',
  forMs: 'How much longer, in milliseconds; 0: its next task is a trial.',
  full: 'Workers all of whose slots are working.',
  handlers: 'What the worker can run.',
  handlersHash: 'Of all handlers: tells whether they have to be sent again.',
  hint: 'What to do next, for people.',
  id: 'Its name.',
  idempotencyKey: 'The same key with the same request brings the first task back.',
  ifSeq: 'Only if the task’s newest entry is still this one.',
  initialMs: 'The first delay, in milliseconds.',
  inlineBytes: 'Bytes of an input or a result, at most.',
  input: 'What the handler is given: any JSON value.',
  inputSchema: 'JSON Schema of the handler’s input.',
  issues: 'Each fault with the path of its field.',
  jitter: 'The share by which a delay is varied: `delay × (1 ± jitter)`.',
  key: 'The key. It is shown this once.',
  keyExpiresAt: 'When the key of this call ends.',
  keptHandlers:
    'Types that the worker serves with older code, since their file does not load any more.',
  keyKind: 'The kind of the key of this call.',
  keys: 'Newest first.',
  killed: 'The handler had to be killed.',
  kind: 'What kind it is.',
  labels: 'Words of your own to find it by.',
  lastSeenAt: 'When it was heard of last.',
  lastUsedAt: 'When it was used last.',
  lateReport: 'An outcome that came after the attempt had ended as lost; `resolve` can take it.',
  leaseMs: 'How long a lease lasts, in milliseconds, counted from the send of the request.',
  leaseToken: 'Proves that the attempt was given to whoever reports.',
  level: '`debug`, `info`, `warn` or `error`.',
  limits: 'What it is limited to.',
  lines: 'Lines of the log.',
  logLineBytes: 'Bytes of one log line, at most.',
  lostGraceMs:
    'How long a lost attempt is waited for that nobody else could take over, in milliseconds.',
  max: 'At most so many.',
  maxAttempts: 'Attempts that are permitted.',
  maxMs: 'The longest delay, in milliseconds.',
  message: 'In words.',
  min: 'At least so long, in milliseconds.',
  n: 'Counted up with each of its kind for the attempt; one that is not above the last changes nothing.',
  name: 'For people.',
  needHandlers: 'Send the handlers with the next one.',
  notBeforeAt: 'It is not run before.',
  notClaiming: 'In words: why the worker claims nothing at all.',
  offline: 'Workers that have not been heard of for too long.',
  offlineAfterMs: 'Not heard of for so long, a worker counts as offline; milliseconds.',
  ok: 'The disk takes what is written.',
  oldestMs: 'Age of the oldest report, in milliseconds; `null`: there is none.',
  oldestQueuedMs: 'How long the oldest task has waited, in milliseconds; `null`: none waits.',
  op: 'What is reported.',
  outboxDebt: 'Callbacks and hints that are not delivered yet.',
  outputSchema: 'JSON Schema of the handler’s result.',
  path: 'Of the field: `policy.backoff.factor`; empty for the whole.',
  pausedTypes: 'Types that the worker leaves alone for a while.',
  pending: 'Reports that wait to be delivered.',
  percent: 'How far it has come, 0 to 100.',
  pids: 'Its processes, as far as they are known.',
  policy: 'How often, how long and how fast the task is tried.',
  pollAfterMs: 'Ask again after so long, in milliseconds.',
  waitedMs:
    'How long the claim had waited when these were granted, in milliseconds: their leases count from its send and this.',
  pool: 'Where it waits: workers of that pool take it.',
  pools: 'Names of pools.',
  presentAfterMs: 'Say it again after so long, in milliseconds.',
  priority: 'Higher ones are run first.',
  progress: 'How far it has come.',
  project: 'All that a key sees belongs to one project.',
  queueDepth: 'Tasks that wait.',
  queueTimeoutMs: 'How long the task may wait to be claimed, in milliseconds; `null`: for ever.',
  queued: 'Tasks that wait.',
  ready: 'Workers with a free slot.',
  reason: 'In words, for people and the journal.',
  recorded: 'The outcome was kept as a late report.',
  replayed: 'The same had been taken before; nothing was changed.',
  reports: 'Each with its `op`.',
  requestId: 'Names the request.',
  requestsPerMinute: 'Calls a minute; reports on attempts and presence do not count.',
  resolution: 'What became of the task.',
  result: 'What the handler gave back: any JSON value.',
  results: 'In the order of the reports.',
  retryAfterMs: 'Not sooner than after so long, in milliseconds.',
  retryable: 'The same may work later.',
  revokedAt: 'Since when the key is refused.',
  running: 'Tasks that somebody works on.',
  says: 'In words: what keeps the worker from doing all it should.',
  schemaVersion: 'The version of the type, from 1.',
  sentAt: 'By the worker’s own clock.',
  seq: 'Numbers the entries of a task’s journal: 1, 2, 3 … without gaps.',
  serverTime: 'The control plane’s clock.',
  sessionId: 'Fresh for each start of the worker’s process.',
  since: 'When it was first seen.',
  slots: 'How many handlers run at the same time.',
  spool: 'Reports that wait on the worker’s disk.',
  startedAt: 'When it began.',
  state: 'How it is.',
  status: 'One that you do not know is shown as it is; it is not an end.',
  stuck: 'Handlers that were killed and do not go; each keeps a slot.',
  supported: 'Versions of the contract that are spoken here.',
  taskId: 'Names the task.',
  tasks: 'Newest first.',
  text: 'The line.',
  title: 'The code in words.',
  traceparent: 'W3C Trace Context, handed on to the handler.',
  troubles: 'What keeps workers from doing all they should; the first of them.',
  type: 'Names the kind of task: `demo/hello`.',
  types: 'Task types.',
  unservedHandlers: 'Files of its handlers folder that the worker cannot serve.',
  undelivered: 'Attempts that were given back or lost before they began.',
  versions: 'Of the worker and what it runs on, by name.',
  waitingFor: 'In words: why it is not running.',
  want: 'Types that are wanted, each with its free slots.',
  why: 'In words.',
  words: 'The state in words: `full: all 2 slots are working`.',
  worker: 'Who has it, or had it last.',
  workerId: 'Names the worker; the same after a restart.',
  workerIdPrefix: 'Worker ids that the key may speak for begin so.',
  workers: 'Workers of the project.',
};

/** Where the word means something of its own. */
const OWN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Problem: {
    type: 'Leads to the code in the catalogue of failures.',
    status: 'The HTTP status.',
    kind: 'What was looked for: `attempt`, `task`, `worker`, `key`, `route`.',
    seq: 'Of the task’s newest entry.',
  },
  BatchAnswer: { status: 'The HTTP status that the single call would have had.' },
  ReportBatchAnswer: { status: 'The HTTP status that the single call would have had.' },
  ClaimAnswer: { attempts: 'What the worker may run now.' },
  RetryRequest: { attempts: 'How many more attempts are granted.' },
  WorkerView: { attempts: 'What it works on now.' },
  Attempt: { leaseMs: 'Of this lease, in milliseconds, counted from the send of the claim.' },
  LogList: { at: 'As the worker said.' },
  LogReport: { at: 'By the worker’s own clock; any text.' },
  ServiceInfo: {
    leaseMs: 'Bounds of a lease, in milliseconds.',
    limits: 'Bounds of this control plane.',
  },
  ReleaseReport: {
    reason: 'A word: `drain`, `no-handler`, `handler-changed`, `undecodable`, `no-slot` …',
  },
  LostReport: { reason: 'Why there is no word of the handler.' },
};

/** Instants in answers; what a worker said of its own clock is any text. */
const INSTANT = /^(?:\w+At|serverTime|at)$/;

/** The same with a description at every field that has none, and the format of instants in answers. */
export function withWords(value: unknown, component = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => withWords(item, component));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      if (name === 'examples' || name === 'example' || name === 'enum') return [name, item];
      if (name !== 'properties') return [name, withWords(item, component)];
      const fields = Object.entries(item as Json).map(([field, schema]) => [
        field,
        fieldWithWords(field, withWords(schema, component) as Json, component),
      ]);
      return [name, Object.fromEntries(fields)];
    }),
  );
}

function fieldWithWords(field: string, schema: Json, component: string): Json {
  const words = OWN[component]?.[field] ?? FIELDS[field];
  const instant =
    INSTANT.test(field) &&
    schema.type === 'string' &&
    schema.format === undefined &&
    component !== '' &&
    !component.startsWith('Log');
  return {
    ...schema,
    ...(instant && { format: 'date-time' }),
    ...(schema.description === undefined && words !== undefined && { description: words }),
  };
}

/** Each component with its own words. */
export function componentsWithWords(components: Json): Json {
  return Object.fromEntries(
    Object.entries(components).map(([name, schema]) => [name, withWords(schema, name)]),
  );
}
