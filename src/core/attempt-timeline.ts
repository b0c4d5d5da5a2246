import type { TaskEvent } from '../contract/index.ts';
import { why } from './attempt-words.ts';

/** The journal of a task as people read it: attempts, each with what became of it, and what was done between them. Pure. */

export interface AttemptSpan {
  readonly kind: 'attempt';
  readonly fence: number;
  readonly attemptId: string;
  /** As the worker was told; absent where the entry of its claim is not among those that are looked at. */
  readonly number?: number;
  readonly workerId?: string;
  readonly effectSafety?: string;
  readonly effectGate?: string;
  readonly codeHash?: string;
  readonly claimedAt?: string;
  readonly startedAt?: string;
  readonly effectAt?: string;
  readonly endedAt?: string;
  /** `leased` or `started` while it is not over; else the kind of the entry that ended it. */
  readonly state: string;
  /** In a sentence, for ends that need one. */
  readonly why?: string;
  readonly code?: string;
  /** It was past its gate when it ended, or is now: its effect may have taken place. */
  readonly gatePassed: boolean;
  /** Its worker knew that the handler was never called: no effect took place. */
  readonly notCalled?: true;
  /** The task was queued again, to be claimed from then on. */
  readonly againAt?: string;
  /** An outcome that came after its end. */
  readonly late?: { readonly op: string; readonly at: string };
  readonly seqs: readonly [first: number, last: number];
  /** From when the task could be claimed until it was. */
  readonly waitedMs?: number;
  /** From the claim until the handler's first word. */
  readonly beganMs?: number;
  /** From there to the end, or to now. */
  readonly ranMs?: number;
}

export interface EntryLine {
  readonly kind: 'entry';
  readonly event: TaskEvent;
}

export type TimelineItem = AttemptSpan | EntryLine;

/**
 * @param events in order; may begin in the middle.
 * @param nowMs for attempts that are not over. @param timeOf an instant as its reader sees it.
 */
export function timeline(
  events: readonly TaskEvent[],
  nowMs: number,
  timeOf: (at: string) => string,
): TimelineItem[] {
  const items: (EntryLine | Draft)[] = [];
  const drafts = new Map<string, Draft>();
  let queuedAt: string | undefined;
  for (const event of events) {
    if (startsWaiting(event)) queuedAt = event.at;
    const { attemptId, fence } = event;
    if (attemptId === undefined || fence === undefined || BETWEEN.has(event.kind)) {
      items.push({ kind: 'entry', event });
      continue;
    }
    let draft = drafts.get(attemptId);
    if (draft === undefined) {
      draft = { kind: 'draft', attemptId, fence, events: [], queuedAt };
      drafts.set(attemptId, draft);
      items.push(draft);
    }
    draft.events.push(event);
    const { availableAt } = event.data;
    if (event.kind === 'requeued')
      queuedAt = typeof availableAt === 'string' ? availableAt : event.at;
  }
  return items.map((item) => (item.kind === 'draft' ? spanOf(item, nowMs, timeOf) : item));
}

/** The attempt that is not over; at most the last one is such. */
export function openAttempt(items: readonly TimelineItem[]): AttemptSpan | undefined {
  return items.findLast(
    (item): item is AttemptSpan => item.kind === 'attempt' && item.endedAt === undefined,
  );
}

interface Draft {
  readonly kind: 'draft';
  readonly attemptId: string;
  readonly fence: number;
  readonly events: TaskEvent[];
  readonly queuedAt: string | undefined;
}

function spanOf(
  { attemptId, fence, events, queuedAt }: Draft,
  nowMs: number,
  timeOf: (at: string) => string,
): AttemptSpan {
  const find = (kind: string) => events.find((event) => event.kind === kind);
  const leased = find('leased');
  const started = find('started');
  const effect = find('effect-begun');
  const again = find('requeued');
  const late = find('late-report');
  const end = events.find(({ kind }) => ENDS.has(kind));
  const { workerId, attempt, effectSafety, effectGate } = leased?.data ?? {};
  const { codeHash } = started?.data ?? {};
  const { begun, code, gatePassed } = end?.data ?? {};
  const words = end && EXPLAINED.has(end.kind) ? why(end, { timeOf }) : undefined;
  const by = (leased ?? events[0])?.by ?? '';
  const endMs = end === undefined ? nowMs : Date.parse(end.at);
  const past =
    gatePassed === true ||
    (end === undefined &&
      effectSafety === 'non-idempotent' &&
      (effect !== undefined || (effectGate === 'start' && started !== undefined)));
  return {
    kind: 'attempt',
    fence,
    attemptId,
    ...text('workerId', workerId ?? (by.startsWith('worker:') ? by.slice(7) : end?.data.workerId)),
    ...(typeof attempt === 'number' && { number: attempt }),
    ...text('effectSafety', effectSafety),
    ...text('effectGate', effectGate),
    ...text('codeHash', codeHash),
    ...text('claimedAt', leased?.at),
    ...text('startedAt', started?.at),
    ...text('effectAt', effect?.at),
    ...text('endedAt', end?.at),
    state: end?.kind ?? (started ? 'started' : 'leased'),
    ...text('why', words),
    ...text('code', code),
    gatePassed: past,
    // A `lost` says by it only that nothing was given to the handler; it may be past its gate nevertheless.
    ...(end?.kind === 'failed' && begun === false && { notCalled: true }),
    ...text('againAt', again?.data.availableAt ?? again?.at),
    ...(late && { late: { op: String(late.data.op), at: late.at } }),
    seqs: [events[0]?.seq ?? 0, events.at(-1)?.seq ?? 0],
    ...between('waitedMs', queuedAt, leased && Date.parse(leased.at)),
    ...between('beganMs', leased?.at, started && Date.parse(started.at)),
    ...between('ranMs', started?.at, endMs),
  };
}

/** The task waits from here on (if not from later, after a backoff). */
function startsWaiting({ kind, data }: TaskEvent): boolean {
  return (
    kind === 'submitted' || kind === 'retried' || (kind === 'resolved' && data.status === 'queued')
  );
}

function text<K extends string>(name: K, value: unknown): { readonly [N in K]?: string } {
  return (typeof value === 'string' ? { [name]: value } : {}) as { readonly [N in K]?: string };
}

function between<K extends string>(
  name: K,
  from: string | undefined,
  toMs: number | undefined,
): { readonly [N in K]?: number } {
  const ms = from === undefined || toMs === undefined ? Number.NaN : toMs - Date.parse(from);
  return (Number.isFinite(ms) ? { [name]: Math.max(0, ms) } : {}) as { readonly [N in K]?: number };
}

const ENDS: ReadonlySet<string> = new Set([
  'succeeded',
  'failed',
  'unknown',
  'cancelled',
  'lost',
  'released',
  'expired',
]);
/** Others say all by their name. */
const EXPLAINED: ReadonlySet<string> = new Set(['failed', 'unknown', 'lost', 'released']);
/** Of the task, though an attempt is named. */
const BETWEEN: ReadonlySet<string> = new Set([
  'submitted',
  'retried',
  'resolved',
  'cancel-requested',
]);
