/** Numbers that both sides of the wire know. Unit in the name; the contract's own defaults. */

/** Version of the wire contract that this code speaks. */
export const CONTRACT_VERSION = 1;
export const CONTRACT_HEADER = 'Interlock-Contract';
export const BASE_PATH = '/api/tasks/v1';

export const limits = {
  /** UTF-8 bytes of `input` or `result` as sent; larger values travel as files. */
  inlineBytes: 262_144,
  /** Items in one batch call. */
  batch: 100,
  /** Attempts of one claim; a control plane that tells nothing takes so many. */
  claimMax: 100,
  /** Bytes of one batch body, and of one claim's answer (which holds at least one attempt). */
  batchBytes: 1_048_576,
  leaseMs: { min: 5_000, default: 30_000, max: 600_000 },
  checkpointBytes: 65_536,
  logLineBytes: 8_192,
} as const;

/** Bounds on the small parts of a body, so that no row, page or log line grows without end. */
export const bounds = {
  typeChars: 200,
  poolChars: 200,
  workerIdChars: 200,
  keyChars: 512,
  labels: 64,
  labelNameChars: 200,
  labelValueChars: 4_096,
  reasonChars: 4_096,
  /** The worker cuts a message to this before it is spooled … */
  messageChars: 8_192,
  /** … and the control plane takes twice as much, so that no cut can be refused. */
  messageCharsTaken: 16_384,
  detailsBytes: 16_384,
  /** Nesting of JSON; deeper bodies cost stack in every reader. */
  jsonDepth: 512,
  /** Nesting of one input, result or checkpoint: what was taken alone must still fit into the answers that hold it. */
  valueDepth: 480,
  /** Lines in one `log` report. */
  logLines: 200,
  /** Of one worker, also in a claim's `want`: what `/types` adds up stays a whole number for every reader. */
  slots: 10_000,
  wantedTypes: 1_000,
  handlers: 1_000,
  pools: 100,
  /** Types told as paused, and handlers told as stuck, in one presence. */
  pausedTypes: 100,
  keptHandlers: 100,
  unservedHandlers: 100,
  stuck: 100,
  earlierSessions: 8,
  eventsWaitMs: 30_000,
  /** Of one claim: shorter than proxies give up. */
  claimWaitMs: 30_000,
  pageMax: 500,
  pageDefault: 50,
  maxAttempts: 10_000,
  /** About 68 years: longer than any machine, shorter than what a Date cannot hold. */
  durationMs: 2_147_483_647_000,
  reasonWordChars: 64,
} as const;
