import { expect, same } from '../check.ts';
import { Seen, type Sent } from '../control-plane/caller.ts';
import type { AttemptOffer, EventShape } from '../control-plane/wire-shapes.ts';
import type { ControlPlaneWorld } from '../control-plane/world.ts';
import type { Answer, Asked, TaskOp } from './task-state.ts';

/** One task's calls, as those who made them saw them. */
export interface TaskRecord {
  /** Of its type. */
  readonly word: string;
  readonly idempotencyKey: string;
  taskId: string | undefined;
  readonly ops: TaskOp[];
  /** What it says of attempts; of a task that was never made, `undefined` like `upTo`. */
  journal: readonly string[] | undefined;
  /** For each `seq` from 0 on: how many of `journal` are up to it. */
  upTo: readonly number[] | undefined;
}

/** Where some reports go as a batch of one. */
export const BATCH_PATH = '/attempts/batch';

/** A journal as it was at one instant between these two. */
export interface JournalRead {
  readonly events: readonly EventShape[];
  readonly callMs: number;
  readonly returnMs: number;
}

export type ClaimAsked = Extract<Asked, { what: 'claim' }>;

/** Writes down every call of a load with the instants of its sending and its answer, each under its task. */
export class Recorder {
  readonly tasks: TaskRecord[] = [];
  /** Sent so far. */
  calls = 0;
  readonly #world: ControlPlaneWorld;
  readonly #byTask = new Map<string, TaskRecord>();
  /** Attempts that an answer told. */
  readonly #told = new Map<string, TaskRecord>();
  /** Tasks that each request of a claim got, by any of its answers. */
  readonly #got = new Map<string, Set<TaskRecord>>();
  /** What claims told, also of tasks whose submission was not answered yet. */
  readonly #given: { taskId: string; op: TaskOp }[] = [];
  readonly #unansweredClaims: { asked: ClaimAsked; callMs: number }[] = [];

  constructor(world: ControlPlaneWorld) {
    this.#world = world;
  }

  newTask(word: string): TaskRecord {
    const record: TaskRecord = {
      word,
      idempotencyKey: this.#world.id('key'),
      taskId: undefined,
      ops: [],
      journal: undefined,
      upTo: undefined,
    };
    this.tasks.push(record);
    return record;
  }

  /** The task of an attempt that was told. */
  ofAttempt({ attemptId }: AttemptOffer): TaskRecord {
    return this.#told.get(attemptId) as TaskRecord;
  }

  /** A call about one task. @param cutMs breaks it off after so long. @returns the answer where there was one. */
  async call(
    task: TaskRecord,
    asked: Asked,
    sent: Sent,
    cutMs?: number,
  ): Promise<Seen | undefined> {
    const { seen, callMs, returnMs } = await this.#send(sent, cutMs);
    // It was turned away before anything was done.
    if (seen?.status === 429) return undefined;
    const answer = seen && answerOf(asked, seen);
    task.ops.push({ asked, answer, callMs, returnMs });
    if (answer?.taskId !== undefined) {
      task.taskId ??= answer.taskId;
      this.#byTask.set(answer.taskId, task);
    }
    return seen;
  }

  /**
   * A claim: one call for each task that its answer tells, and for each that an earlier answer to it told.
   * @param wanting tasks that it could have got: those too, where it got nothing at all.
   */
  async claim(
    asked: ClaimAsked,
    sent: Sent,
    cutMs?: number,
    wanting: readonly TaskRecord[] = [],
  ): Promise<AttemptOffer[] | undefined> {
    const { seen, callMs, returnMs } = await this.#send(sent, cutMs);
    if (seen?.status === 429) return undefined;
    if (seen === undefined) {
      this.#unansweredClaims.push({ asked, callMs });
      return undefined;
    }
    const { attempts } = seen.is(200).body<{ attempts: AttemptOffer[] }>();
    const got = this.#got.get(asked.request) ?? new Set<TaskRecord>();
    this.#got.set(asked.request, got);
    for (const task of new Set([...got, ...(attempts.length === 0 ? wanting : [])]))
      if (!attempts.some(({ taskId }) => taskId === task.taskId))
        task.ops.push({ asked, answer: { verdict: '200' }, callMs, returnMs });
    for (const { taskId, attemptId: id, fence, attempt: number, cancelRequested } of attempts) {
      const answer = { verdict: '200', attempt: { id, fence, number }, cancelRequested };
      this.#given.push({ taskId, op: { asked, answer, callMs, returnMs } });
      const task = this.#byTask.get(taskId);
      if (task === undefined) continue;
      got.add(task);
      this.#told.set(id, task);
    }
    // One whose submission was not answered yet is left to its lease.
    return attempts.filter(({ taskId }) => this.#byTask.has(taskId));
  }

  /** Reads what each task and its journal are at the end. */
  async finish(read: (task: TaskRecord) => Promise<JournalRead>): Promise<void> {
    for (const { taskId, op } of this.#given) this.#byTask.get(taskId)?.ops.push(op);
    const told = new Set(this.#given.map(({ op }) => op.answer?.attempt?.id));
    for (const task of this.tasks) {
      if (task.taskId === undefined) continue;
      const { events, callMs, returnMs } = await read(task);
      same(
        events.map(({ seq }) => seq),
        events.map((_, i) => i + 1),
        `the numbers of the journal of ${task.taskId}`,
      );
      const journal = entriesOf(events);
      task.journal = journal;
      task.upTo = upToEach(events);
      const answer = { verdict: '200', journal };
      task.ops.push({ asked: { what: 'journal' }, answer, callMs, returnMs });
      const untold = events.some(
        ({ kind, attemptId }) => kind === 'leased' && !told.has(attemptId),
      );
      for (const { asked, callMs } of this.#unansweredClaims) {
        // A claim that nobody saw an answer of can have given this task only where the journal has an attempt that
        // nobody was told, or where the same request told it later. Elsewhere it was nothing.
        if (!untold && !this.#got.get(asked.request)?.has(task)) continue;
        task.ops.push({ asked, answer: undefined, callMs, returnMs: Number.POSITIVE_INFINITY });
      }
    }
  }

  async #send(sent: Sent, cutMs: number | undefined) {
    this.calls++;
    const callMs = this.#world.clock.now();
    const none = { seen: undefined, callMs, returnMs: Number.POSITIVE_INFINITY };
    if (cutMs !== undefined) {
      await this.#world.cutOff(sent, cutMs);
      return none;
    }
    const whole = await this.#world.call(sent);
    const seen = sent.path === BATCH_PATH && whole.status === 200 ? onlyResult(whole) : whole;
    // Whether it was done before it went wrong, nobody knows.
    if (seen.status >= 500) return none;
    if (seen.status === 429) await this.#world.pause(politeMs(seen));
    return { seen, callMs, returnMs: this.#world.clock.now() };
  }
}

/** A batch of one is the report by the other route: its result is the answer. */
function onlyResult(whole: Seen): Seen {
  const [result] = whole.body<{ results: { status: number; body: unknown }[] }>().results;
  expect(result !== undefined, `${whole.what} was answered without a result for its one report.`);
  const response = { status: result.status, headers: whole.headers };
  return new Seen(whole.what, response, JSON.stringify(result.body), whole);
}

/** A peer that asks to be left alone is, for a while; the load ends all the same. */
function politeMs({ headers }: Seen): number {
  const seconds = Number(headers.get('retry-after') ?? 1);
  return Math.min(Number.isFinite(seconds) ? seconds * 1_000 : 1_000, 5_000);
}

function answerOf(asked: Asked, seen: Seen): Answer {
  const body = seen.json ?? {};
  const replayed =
    body.replayed === true || seen.headers.get('idempotency-replayed') === 'true'
      ? ' replayed'
      : '';
  const code = seen.status >= 400 ? ` ${String(seen.code)}` : '';
  const verdict = `${seen.status}${code}${body.recorded === true ? ' recorded' : ''}${replayed}`;
  if (asked.what === 'submit' && seen.status < 300) return { verdict, taskId: String(body.id) };
  if (asked.what === 'read') {
    const { status, attempts, undelivered, seq, result } = seen.is(200).body();
    const view = { status, attempts, undelivered, seq } as NonNullable<Answer['view']>;
    const body = (result as { body?: string } | undefined)?.body;
    return { verdict, view: body === undefined ? view : { ...view, result: body } };
  }
  if (asked.what !== 'report' || !NOT_ENDING.has(asked.op) || seen.status !== 200)
    return { verdict };
  return { verdict, cancelRequested: body.cancelRequested === true };
}

const NOT_ENDING: ReadonlySet<string> = new Set(['renew', 'start', 'effect', 'progress', 'log']);
const ENDS: ReadonlySet<string> = new Set([
  'succeeded',
  'failed',
  'unknown',
  'cancelled',
  'lost',
  'released',
]);

/** For each `seq` from 0 on, how many of `entriesOf` are up to it. */
function upToEach(events: readonly EventShape[]): number[] {
  return [0, ...events.map((_, place) => entriesOf(events.slice(0, place + 1)).length)];
}

/** Of a journal: which attempts it gave, how each ended, and what came late. */
export function entriesOf(events: readonly EventShape[]): string[] {
  const entries: string[] = [];
  let live: string | undefined;
  for (const { kind, attemptId } of events) {
    if (kind === 'leased') live = attemptId;
    else if (ENDS.has(kind) && attemptId !== undefined && attemptId === live) live = undefined;
    else if (kind !== 'late-report') continue;
    entries.push(`${kind} ${attemptId}`);
  }
  return entries;
}
