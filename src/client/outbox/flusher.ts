import { TaskError } from '../../contract/index.ts';
import { backoffMs } from '../../core/backoff.ts';
import { outboxDefaults } from '../../core/defaults.ts';
import type { ServiceClient } from '../service-client.ts';
import { type PassEvents, type Stop, sendAll } from './pass.ts';
import type { IntentStore, StoredIntent } from './store.ts';
import { retryAfterOf } from './verdict.ts';

export interface FlushRequest {
  /** `own`: only what this process stored. */
  readonly scope: 'all' | 'own';
  /** Also what was stored for these addresses: somebody says that they are the same control plane. */
  readonly storedFor?: readonly string[];
  /** Also what is not due yet. */
  readonly now?: boolean;
  /** Wanted, and no longer on disk: another process may have sent them, so their answers are asked for. */
  readonly extra?: readonly StoredIntent[];
  readonly signal?: AbortSignal;
}

/** How a pass over the outbox ended. */
export interface FlushEnd {
  readonly stop: Stop | undefined;
  readonly submitted: number;
  readonly refused: number;
  /** Sent, and still wanted. */
  readonly kept: number;
  /** Not sent: stored for other addresses, by address. */
  readonly elsewhere: ReadonlyMap<string, number>;
  /** Not sent: stored for other projects, by project. */
  readonly otherProjects: ReadonlyMap<string, number>;
  /** Ids of all that were looked at. */
  readonly seen: ReadonlySet<string>;
  /** When the next one that was kept is due, from now. */
  readonly nextMs: number | undefined;
}

/**
 * One pass over an outbox. A submission only goes to the control plane (and project, where it is known) that it was
 * stored for: another one would not know its idempotency key, so one whose answer was lost would be done twice.
 */
export class Flusher {
  readonly #client: ServiceClient;
  readonly #store: IntentStore;
  readonly #tries = new Map<string, { tries: number; dueMs: number }>();
  /** Sent from here, and stored before the project was known. */
  readonly #bound = new Set<string>();
  #project: string | undefined;

  /** @param project of the key, as far as known. */
  constructor(client: ServiceClient, store: IntentStore, project?: string | undefined) {
    this.#client = client;
    this.#store = store;
    this.#project = project;
  }

  /** Of the key; learnt from the control plane where it has to be known. */
  get project(): string | undefined {
    return this.#project;
  }

  /** Rejects with the `TaskError` of the call that would tell it. */
  async learnProject(signal?: AbortSignal): Promise<string> {
    this.#project ??= (
      await this.#client.doctor({ timeoutMs: 0, ...(signal && { signal }) })
    ).project;
    return this.#project;
  }

  /** Throws `OUTBOX_UNREADABLE`; what goes wrong with the control plane is told in `stop`. */
  async flush(request: FlushRequest, events: PassEvents): Promise<FlushEnd> {
    const end = {
      stop: undefined as Stop | undefined,
      submitted: 0,
      refused: 0,
      kept: 0,
      elsewhere: new Map<string, number>(),
      otherProjects: new Map<string, number>(),
      seen: new Set<string>(),
      nextMs: undefined as number | undefined,
    };
    const counted: PassEvents = {
      submitted: (intent, task, replayed) => {
        end.submitted++;
        this.#tries.delete(intent.record.id);
        return events.submitted(intent, task, replayed);
      },
      refused: (intent, error) => {
        end.refused++;
        this.#tries.delete(intent.record.id);
        return events.refused(intent, error);
      },
      kept: async (intent, error, alone) => {
        end.kept++;
        await this.#wasTried(intent, error, alone);
        await events.kept(intent, error, alone);
      },
    };
    const early: { stop?: Stop } = {};
    const wanted = this.#wanted(request, end, early);
    const bind = (chunk: readonly StoredIntent[]) => this.#bind(chunk, request.signal);
    end.stop = (await sendAll(this.#client, wanted, counted, request.signal, bind)) ?? early.stop;
    // Sent by another process: nothing is known of those here any more.
    if (!end.stop)
      for (const known of [this.#tries, this.#bound])
        for (const id of known.keys()) if (!end.seen.has(id)) known.delete(id);
    for (const { dueMs } of this.#tries.values()) end.nextMs = Math.min(end.nextMs ?? dueMs, dueMs);
    if (end.nextMs !== undefined) end.nextMs -= this.#client.clock.now();
    return end;
  }

  /**
   * Before anything is sent for the first time it is written down which project it goes to: should its answer be lost, it
   * never goes to another one, whatever key the outbox is sent with next.
   */
  async #bind(chunk: readonly StoredIntent[], signal: AbortSignal | undefined): Promise<void> {
    const unbound = chunk.filter(
      ({ record }) => record.project === undefined && !this.#bound.has(record.id),
    );
    if (unbound.length === 0) return;
    const project = await this.learnProject(signal);
    await Promise.all(unbound.map((intent) => this.#store.bind(intent, project)));
    for (const { record } of unbound) this.#bound.add(record.id);
  }

  async *#wanted(
    { scope, storedFor = [], now = false, extra = [], signal }: FlushRequest,
    end: {
      elsewhere: Map<string, number>;
      otherProjects: Map<string, number>;
      seen: Set<string>;
    },
    early: { stop?: Stop },
  ): AsyncGenerator<StoredIntent> {
    const here = this.#client.shown;
    const names = await this.#store.names();
    const there = new Set(names);
    const files = scope === 'all' ? names : names.filter((name) => this.#store.isOwn(name));
    for (const intent of extra) {
      if (there.has(intent.file)) continue;
      end.seen.add(intent.record.id);
      yield intent;
    }
    for (const file of files) {
      for (const intent of await this.#store.read(file)) {
        if (signal?.aborted) return;
        const { id, serviceUrl, project } = intent.record;
        end.seen.add(id);
        if (serviceUrl !== here && !storedFor.includes(serviceUrl)) {
          count(end.elsewhere, serviceUrl);
          continue;
        }
        const due = this.#tries.get(id)?.dueMs ?? 0;
        if (!now && due > this.#client.clock.now()) continue;
        if (project !== undefined) {
          let mine: string;
          try {
            mine = await this.learnProject(signal);
          } catch (error) {
            if (!(error instanceof TaskError)) throw error;
            early.stop = { error, kind: 'away', retryAfterMs: 0 };
            return;
          }
          if (mine !== project) {
            count(end.otherProjects, project);
            continue;
          }
        }
        yield intent;
      }
    }
  }

  async #wasTried(intent: StoredIntent, error: TaskError, alone: boolean): Promise<void> {
    const { clock, random } = this.#client;
    const { id } = intent.record;
    const before = this.#tries.get(id)?.tries ?? intent.tried?.tries ?? 0;
    const tries = before + 1;
    // What all of them had is waited for by the loop: then the oldest comes first again.
    const backoff = backoffMs(outboxDefaults.retry, tries, random.fraction());
    const waitMs = alone ? Math.max(backoff, retryAfterOf(error)) : 0;
    this.#tries.set(id, { tries, dueMs: clock.now() + waitMs });
    const { triesWritten } = outboxDefaults;
    // A week of tries must not fill the disk.
    if (tries <= triesWritten || Number.isInteger(Math.log2(tries)))
      await this.#store.tried(intent, tries, error);
  }
}

function count(map: Map<string, number>, name: string): void {
  map.set(name, (map.get(name) ?? 0) + 1);
}
