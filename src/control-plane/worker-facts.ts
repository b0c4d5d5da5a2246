import type { WorkerFacts } from '../core/waiting-for.ts';
import type { Clock } from '../ports/clock.ts';
import type { Note, Store, WorkerRow, WorkerSight } from '../ports/store.ts';

/** How a worker is, worked out from what it said and from what the control plane knows itself. */
export interface WorkerCondition {
  readonly state: 'ready' | 'full' | 'draining' | 'offline';
  readonly busy: number;
  readonly max: number;
  readonly drainRequested: boolean;
}

export function condition(
  nowMs: number,
  { worker, openAttempts }: WorkerSight,
  offlineAfterMs: number,
): WorkerCondition {
  const { present } = worker;
  const max = present?.slots.max ?? 0;
  // What it said, brought up to date by the attempts that came and went since.
  const since = openAttempts - (present?.openAttempts ?? 0);
  const busy = Math.max(0, Math.min((present?.slots.busy ?? 0) + since, max));
  const drainRequested = worker.drainSessionId === worker.sessionId;
  const state = isOffline(nowMs, worker, offlineAfterMs)
    ? 'offline'
    : present?.state === 'draining'
      ? 'draining'
      : busy >= max && max > 0
        ? 'full'
        : 'ready';
  return { state, busy, max, drainRequested };
}

export function isOffline(nowMs: number, worker: WorkerRow, offlineAfterMs: number): boolean {
  return worker.present?.state === 'offline' || nowMs - worker.lastSeenMs > offlineAfterMs;
}

/**
 * What is known of a project's workers, for people: read again when a worker changed, and after a short
 * while at the latest.
 */
export class WorkerFactsCache {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #offlineAfterMs: number;
  readonly #keptMs: number;
  readonly #projects = new Map<string, { readonly atMs: number; readonly facts: WorkerFacts[] }>();

  constructor(options: {
    readonly store: Store;
    readonly clock: Clock;
    readonly offlineAfterMs: number;
    /** Older facts are read again; those of many workers are kept longer. */
    readonly keptMs: number;
  }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#offlineAfterMs = options.offlineAfterMs;
    this.#keptMs = options.keptMs;
  }

  take(notes: readonly Note[]): void {
    for (const note of notes) {
      if (note.kind !== 'worker' && note.kind !== 'session' && note.kind !== 'drain') continue;
      const kept = this.#projects.get(note.project);
      // A large fleet says something all the time: its facts live their time out.
      if (kept && kept.facts.length <= SMALL_FLEET) this.#projects.delete(note.project);
    }
  }

  async of(project: string): Promise<readonly WorkerFacts[]> {
    const kept = this.#projects.get(project);
    const now = this.#clock.now();
    if (kept && now - kept.atMs < this.#keptMs) return kept.facts;
    const [nowMs, workers] = [await this.#store.nowMs(), await this.#store.workers(project)];
    const facts = workers.map((sight): WorkerFacts => {
      const { state } = condition(nowMs, sight, this.#offlineAfterMs);
      return {
        workerId: sight.worker.workerId,
        state,
        pools: sight.worker.present?.pools ?? [],
        types: sight.handlers,
        notClaiming: sight.worker.present?.notClaiming,
        quietMs: Math.max(0, nowMs - sight.worker.lastSeenMs),
      };
    });
    if (this.#projects.size >= PROJECTS_KEPT) this.#projects.clear();
    this.#projects.set(project, { atMs: now, facts });
    return facts;
  }
}

const SMALL_FLEET = 50;
const PROJECTS_KEPT = 1_000;
