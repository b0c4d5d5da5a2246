import { keyState } from '../core/key-rules.ts';
import type { AttemptState } from '../core/task.ts';
import type { KeyRow, Transaction, WorkerRow } from '../ports/store.ts';
import { type Refusal, refusal } from './answer.ts';
import type { Timing } from './services.ts';
import { isOffline } from './worker-facts.ts';

/** Who speaks for a worker id (contract, section 2). */

export interface Speaker {
  readonly workerId: string;
  readonly sessionId: string;
  readonly earlierSessions?: readonly string[] | undefined;
}

/**
 * Lets a session in, or says why not. The current one is the one that was first seen last; what it names as
 * earlier, and whoever was current before it, never becomes current again.
 *
 * @returns the worker as it is to be kept (not saved yet), or a refusal that changed nothing.
 */
export async function enterSession(
  tx: Transaction,
  key: KeyRow,
  speaker: Speaker,
  timing: Timing,
): Promise<{ readonly worker: WorkerRow; readonly changed: boolean } | Refusal> {
  const { project } = key;
  const { workerId, sessionId } = speaker;
  const before = await tx.worker(project, workerId);
  if (before?.sessionId === sessionId) {
    await supersedeEarlier(tx, project, speaker);
    // A key that was changed without a restart speaks on at once.
    return { worker: { ...before, keyId: key.id }, changed: before.keyId !== key.id };
  }
  if ((await tx.session(project, workerId, sessionId))?.superseded) return superseded(workerId);
  const foreign = await belongsToAnother(tx, key, before, timing);
  if (foreign) return foreign;
  await supersedeEarlier(tx, project, speaker);
  if (before) await tx.saveSession(project, workerId, before.sessionId, true);
  await tx.saveSession(project, workerId, sessionId, false);
  tx.announce({ kind: 'session', project, workerId, sessionId });
  const worker = { project, workerId, keyId: key.id, sessionId, lastSeenMs: tx.nowMs };
  return { worker, changed: true };
}

/** The refusal of a new session while the worker of that id lives and speaks with another key. */
export async function belongsToAnother(
  tx: Keys,
  key: KeyRow,
  before: WorkerRow | undefined,
  timing: Pick<Timing, 'offlineAfterMs'>,
): Promise<Refusal | undefined> {
  if (
    before &&
    before.keyId !== key.id &&
    !isOffline(tx.nowMs, before, timing.offlineAfterMs) &&
    (await speaks(tx, before.keyId))
  ) {
    return refusal(
      'CONFLICT',
      `Worker id ${before.workerId} belongs to another key while its worker is online; it can be taken over ${Math.round(timing.offlineAfterMs / 1000)} s after its last sign of life.`,
    );
  }
  return undefined;
}

/** Keys as they are at a time. */
type Keys = Pick<Transaction, 'nowMs' | 'keyById'>;

/** Nobody speaks with a key that is revoked or has expired: what it held waits for nobody. */
async function speaks(tx: Keys, keyId: string): Promise<boolean> {
  const key = await tx.keyById(keyId);
  return key !== undefined && keyState(tx.nowMs, key) === 'usable';
}

async function supersedeEarlier(
  tx: Transaction,
  project: string,
  { workerId, sessionId, earlierSessions = [] }: Speaker,
): Promise<void> {
  for (const earlier of earlierSessions) {
    if (earlier === sessionId) continue;
    const known = await tx.session(project, workerId, earlier);
    if (!known?.superseded) await tx.saveSession(project, workerId, earlier, true);
  }
}

export function superseded(workerId: string): Refusal {
  return refusal(
    'SESSION_SUPERSEDED',
    `Another worker has taken over worker id ${workerId}; this session never becomes current again.`,
  );
}

type Standing = 'current' | 'superseded' | 'unknown';

/** What sessions are to worker ids, for the gates, as one command finds them: reports that follow each other ask for the same. */
export class SessionStandings {
  readonly #tx: Transaction;
  #last:
    | { readonly attempt: Held; readonly sessionId: string; readonly standing: Standing }
    | undefined;

  constructor(tx: Transaction) {
    this.#tx = tx;
  }

  /** Where it was just asked for. */
  known(attempt: Held, sessionId: string): Standing | undefined {
    const last = this.#last;
    const same =
      last?.sessionId === sessionId &&
      last.attempt.workerId === attempt.workerId &&
      last.attempt.sessionId === attempt.sessionId &&
      last.attempt.project === attempt.project;
    return same ? last.standing : undefined;
  }

  async of(attempt: Held, sessionId: string): Promise<Standing> {
    const standing = await this.#look(attempt, sessionId);
    this.#last = { attempt, sessionId, standing };
    return standing;
  }

  async #look(attempt: Held, sessionId: string): Promise<Standing> {
    const seen = await this.#tx.session(attempt.project, attempt.workerId, sessionId);
    if (seen?.superseded) return 'superseded';
    return seen && sessionId === attempt.sessionId ? 'current' : 'unknown';
  }
}

/** Whose an attempt is. */
type Held = Pick<AttemptState, 'project' | 'workerId' | 'sessionId'>;
