import type { PausedType } from '../contract/worker-calls.ts';
import type { WorkerFacts } from '../core/waiting-for.ts';
import type { Clock } from '../ports/clock.ts';
import type { Note, Store, WorkerRow, WorkerSight } from '../ports/store.ts';
import { endedKeys } from './worker-key.ts';

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

/** As the worker told them, brought up to now. */
export function pausedNow(nowMs: number, { present }: WorkerRow): readonly PausedType[] {
  return (present?.pausedTypes ?? []).map((paused) => ({
    ...paused,
    forMs: Math.max(0, paused.forMs - Math.max(0, nowMs - (present?.atMs ?? nowMs))),
  }));
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
      if (!TELLING.has(note.kind)) continue;
      const kept = this.#projects.get(note.project);
      // A large fleet says something all the time: its facts live their time out.
      if (kept && kept.facts.length <= SMALL_FLEET) this.#projects.delete(note.project);
    }
  }

  /** What is known and not too old. */
  known(project: string): readonly WorkerFacts[] | undefined {
    const kept = this.#projects.get(project);
    return kept && this.#clock.now() - kept.atMs < this.#keptMs ? kept.facts : undefined;
  }

  async of(project: string): Promise<readonly WorkerFacts[]> {
    const known = this.known(project);
    if (known !== undefined) return known;
    const now = this.#clock.now();
    const [nowMs, workers] = [await this.#store.nowMs(), await this.#store.workers(project)];
    const keys = await endedKeys(
      this.#store,
      nowMs,
      workers.map(({ worker }) => worker),
    );
    const facts = workers.map((sight): WorkerFacts => {
      const key = keys.get(sight.worker.workerId);
      const { state } = condition(nowMs, sight, this.#offlineAfterMs);
      return {
        workerId: sight.worker.workerId,
        state,
        pools: sight.worker.present?.pools ?? [],
        types: sight.handlers,
        notClaiming: key === undefined ? sight.worker.present?.notClaiming : `it ${key}`,
        pausedTypes: pausedNow(nowMs, sight.worker),
        unserved: sight.worker.present?.unservedHandlers,
        stuck: sight.worker.present?.stuck?.length ?? 0,
        quietMs: Math.max(0, nowMs - sight.worker.lastSeenMs),
      };
    });
    if (this.#projects.size >= PROJECTS_KEPT) this.#projects.clear();
    this.#projects.set(project, { atMs: now, facts });
    return facts;
  }
}

const TELLING: ReadonlySet<Note['kind']> = new Set(['worker', 'session', 'drain', 'key']);
const SMALL_FLEET = 50;
const PROJECTS_KEPT = 1_000;
