/** What producers and operators read alike: tasks, their journals and logs, and how they end. */
import {
  type EventKind,
  type LogList,
  TaskError,
  type TaskEvent,
  type TaskList,
  type TaskView,
  terminalStatuses,
} from '../contract/index.ts';
import { clientDefaults } from '../core/defaults.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import { onAbort } from '../wire/on-abort.ts';
import { checkCall } from './call-options.ts';
import { idOf, type TaskRef } from './request.ts';
import type { CallOptions, ServiceClient, TaskQuery } from './service-client.ts';

export type TaskLogLine = LogList['lines'][number];

export interface AwaitOptions {
  /** In milliseconds [as long as it takes, while the control plane answers]. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface EventOptions {
  /** Only entries with a higher `seq` [0]. */
  readonly after?: number | undefined;
  /** Go on until the task has ended [false]. */
  readonly follow?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export class TaskReads {
  protected readonly client: ServiceClient;

  constructor(client: ServiceClient) {
    this.client = client;
  }

  /** Throws `NOT_FOUND`. */
  get(task: TaskRef, how?: CallOptions): Promise<TaskView> {
    return this.client.getTask(idOf(task), how);
  }

  /** One page, newest first; its `cursor` (if there is one) leads to the next. */
  listPage(query?: TaskQuery, how?: CallOptions): Promise<TaskList> {
    return this.client.listTasks(query, how);
  }

  /** All that fit, newest first, page by page. */
  async *list(query: TaskQuery = {}, how?: CallOptions): AsyncGenerator<TaskView, void, undefined> {
    let cursor = query.cursor;
    for (;;) {
      const page = await this.listPage(cursor === undefined ? query : { ...query, cursor }, how);
      yield* page.tasks;
      if (page.cursor === undefined || page.cursor === cursor) return;
      cursor = page.cursor;
    }
  }

  /**
   * Resolves with the task once it has ended, however it ended: look at `status`. Throws `AWAIT_TIMEOUT`
   * (`details.status`), `ABORTED`, or `UNREACHABLE` when nobody answers for five minutes.
   */
  async await(task: TaskRef, options: AwaitOptions = {}): Promise<TaskView> {
    const id = idOf(task);
    checkCall(options);
    const { timeoutMs } = options;
    const limit = new TimeLimit(this.client.clock, timeoutMs, options.signal);
    let seen: TaskView | undefined;
    try {
      const how = { signal: limit.signal, timeoutMs: clientDefaults.silenceMs };
      seen = await this.client.getTask(id, how);
      const pause = new Pause(this.client);
      for (let after = seen.seq; !hasEnded(seen); ) {
        const events = await this.#news(id, after, pause, how);
        if (events.some(({ kind }) => !NEVER_LAST.has(kind)))
          seen = await this.client.getTask(id, how);
        after = Math.max(after, seen.seq, events.at(-1)?.seq ?? 0);
      }
      return seen;
    } catch (error) {
      throw limit.over ? stillGoing(id, seen, timeoutMs ?? 0) : error;
    } finally {
      limit.end();
    }
  }

  /** One long poll for entries after `after`. */
  async #news(id: string, after: number, pause: Pause, how: CallOptions): Promise<TaskEvent[]> {
    const { clock } = this.client;
    const waitMs = clientDefaults.eventsWaitMs;
    const asked = clock.now();
    const { events } = await this.client.events(id, { after, waitMs }, how);
    if (events.length === 0) await pause.after(clock.now() - asked, waitMs, how.signal);
    return events;
  }

  /** The journal in order, no entry twice. */
  async *events(
    task: TaskRef,
    options: EventOptions = {},
  ): AsyncGenerator<TaskEvent, void, undefined> {
    const id = idOf(task);
    const { follow = false, signal } = options;
    const how = follow ? { signal, timeoutMs: clientDefaults.silenceMs } : { signal };
    const pause = new Pause(this.client);
    let after = options.after ?? 0;
    let ended = follow && hasEnded(await this.client.getTask(id, how));
    for (;;) {
      const events =
        follow && !ended
          ? await this.#news(id, after, pause, how)
          : (await this.client.events(id, { after }, how)).events;
      for (const event of events) {
        if (event.seq <= after) continue;
        after = event.seq;
        yield event;
      }
      if (events.length === 0 && (!follow || ended)) return;
      if (follow && !ended && events.some(({ kind }) => !NEVER_LAST.has(kind)))
        ended = hasEnded(await this.client.getTask(id, how));
    }
  }

  /** The log lines that there are now, oldest first. */
  async *logs(
    task: TaskRef,
    options: { after?: string | undefined; signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<TaskLogLine, void, undefined> {
    const id = idOf(task);
    const { signal } = options;
    for (let after = options.after; ; ) {
      const { lines, cursor } = await this.client.logs(id, { after }, { signal });
      yield* lines;
      const next = cursor ?? lines.at(-1)?.cursor;
      if (lines.length === 0 || next === undefined || next === after) return;
      after = next;
    }
  }

  /** What a mutation is bound to: the `seq` that the caller saw, or the present one. */
  protected async seqOf(task: TaskRef, how: CallOptions | undefined): Promise<number> {
    const seen = typeof task === 'string' ? undefined : (task as { seq?: unknown }).seq;
    return typeof seen === 'number' ? seen : (await this.get(task, how)).seq;
  }
}

/** A status that this version does not know is none of an end. */
function hasEnded(task: TaskView): boolean {
  return terminalStatuses.has(task.status);
}

/** Entries after which a task is never over, so that nobody needs to look. */
const NEVER_LAST: ReadonlySet<string> = new Set<EventKind>([
  'submitted',
  'leased',
  'started',
  'effect-begun',
  'requeued',
]);

function stillGoing(id: string, seen: TaskView | undefined, timeoutMs: number): TaskError {
  const { status, waitingFor } = seen ?? {};
  const why = waitingFor ? ` (${waitingFor})` : '';
  const state = status ? `it is ${status}${why}` : 'the control plane told nothing about it';
  return new TaskError(
    'AWAIT_TIMEOUT',
    `Task ${id} has not ended within ${timeoutMs / 1_000} s: ${state}.`,
    {
      retryable: true,
      hint: 'It goes on without you: await it again, or look with `interlock tasks show`.',
      details: { taskId: id, ...(status ? { status } : {}), ...(waitingFor ? { waitingFor } : {}) },
    },
  );
}

/** A signal that aborts with the caller's or when the time is over; leaves nothing on the caller's. */
class TimeLimit {
  over = false;
  readonly #controller = new AbortController();
  readonly #timer: Timer | undefined;
  readonly #abort = () => this.#controller.abort();
  readonly #deaf: () => void;

  constructor(clock: Clock, timeoutMs: number | undefined, outer: AbortSignal | undefined) {
    this.#deaf = onAbort(outer, this.#abort);
    if (outer?.aborted) this.#abort();
    if (timeoutMs === undefined) return;
    this.#timer = clock.timer(timeoutMs, () => {
      this.over = !this.#controller.signal.aborted;
      this.#abort();
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  end(): void {
    this.#timer?.cancel();
    this.#deaf();
  }
}

/** Keeps a long poll that is answered at once, whatever its reason, from becoming a hot loop. */
class Pause {
  readonly #client: ServiceClient;
  #gapMs: number = clientDefaults.eventsGapMs;

  constructor(client: ServiceClient) {
    this.#client = client;
  }

  async after(tookMs: number, waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (tookMs >= waitMs / 2) {
      this.#gapMs = clientDefaults.eventsGapMs;
      return;
    }
    await this.#client.clock.sleep(Math.min(this.#gapMs, waitMs), signal);
    this.#gapMs = Math.min(this.#gapMs * 2, clientDefaults.eventsGapMaxMs);
  }
}
