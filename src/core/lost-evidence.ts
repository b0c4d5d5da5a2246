import { cutText } from '../contract/errors.ts';
import { bounds } from '../contract/limits.ts';
import type { LeftProcess, OldHosts } from '../ports/old-hosts.ts';

/**
 * What is known of an attempt that an earlier process of the worker held and left without a report: what its records say,
 * how that process went, and whether the handler's process still ran. Pure.
 */
export interface LeftRecord {
  readonly sessionId: string;
  readonly claimedAt: string;
  readonly begun: boolean;
  /** RFC 3339, by the worker's wall clock. */
  readonly begunAt?: string;
  readonly lastProgress?: LastProgress;
  /** Its handler host. */
  readonly host?: string;
}

export interface LastProgress {
  readonly percent?: number;
  readonly message?: string;
  readonly at: string;
}

/** Who had the spool before. */
export interface LeftBy {
  readonly sessionId: string;
  readonly pid: number;
  readonly hostName: string;
  readonly since: string;
  readonly went: 'in-order' | 'machine-restarted' | 'died' | 'unknown';
}

/** `message` and `details` of its `lost`. No session id: whoever has one can speak for the worker. */
export interface Evidence {
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export function lostEvidence(
  record: LeftRecord,
  leftBy: LeftBy | undefined,
  old: Pick<OldHosts, 'ended'>,
): Evidence {
  // The record of an owner tells of the last session; of those before nothing is known.
  const last = leftBy?.sessionId === record.sessionId ? leftBy : undefined;
  const running = record.host !== undefined && old.ended.includes(record.host);
  const { begunAt, claimedAt, lastProgress } = record;
  const message = [workerInWords(last), handlerInWords(record, running, last)].join(' ');
  return {
    message: cutText(message, bounds.messageChars),
    details: {
      claimedAt,
      ...(begunAt === undefined ? {} : { begunAt }),
      ...(lastProgress === undefined ? {} : { lastProgress: boundedProgress(lastProgress) }),
      workerProcess: last
        ? { went: last.went, pid: last.pid, hostName: last.hostName, since: last.since }
        : { went: 'unknown' },
      ...(record.begun ? { handlerProcess: running ? 'was-running' : 'was-gone' } : {}),
    },
  };
}

function workerInWords(last: LeftBy | undefined): string {
  if (!last)
    return 'An earlier process of the worker had the attempt; how that one ended is not known.';
  const who = `the worker's process (${last.pid} on ${last.hostName})`;
  switch (last.went) {
    case 'in-order':
      return `T${who.slice(1)} left before the handler had ended.`;
    case 'machine-restarted':
      return `The machine was restarted, and ${who} went with it.`;
    case 'died':
      return `T${who.slice(1)} was killed or crashed.`;
    case 'unknown':
      return `T${who.slice(1)} has gone; how is not known here.`;
  }
}

function handlerInWords(
  { begun, begunAt, lastProgress }: LeftRecord,
  running: boolean,
  last: LeftBy | undefined,
): string {
  if (!begun && lastProgress === undefined)
    // The mark of a beginning is not fsynced.
    return last?.went === 'machine-restarted'
      ? 'Whether the handler had begun is not known.'
      : 'The handler had not begun, as far as was recorded.';
  const since = begunAt === undefined ? '' : ` at ${begunAt}`;
  const said =
    lastProgress === undefined
      ? 'and had told no progress'
      : `and was at ${progressInWords(lastProgress)} at ${lastProgress.at}`;
  const ended = running ? ' Its process was still running and was ended.' : '';
  return `The handler had begun${since} ${said}.${ended}`;
}

/** `40 %, "page 4 of 10"`. */
export function progressInWords({ percent, message }: Omit<LastProgress, 'at'>): string {
  const parts = [
    ...(percent === undefined ? [] : [`${Math.round(percent * 10) / 10} %`]),
    ...(message === undefined ? [] : [`"${cutText(message, PROGRESS_CHARS)}"`]),
  ];
  return parts.length === 0 ? 'a checkpoint' : parts.join(', ');
}

export function boundedProgress(progress: LastProgress): LastProgress {
  if (progress.message === undefined) return progress;
  return { ...progress, message: cutText(progress.message, PROGRESS_CHARS) };
}

/** Of a handler's message that is kept as evidence. */
export const PROGRESS_CHARS = 200;

/**
 * Attempts of which something still runs although it was killed, with the processes: nothing may be said of them yet. What
 * belongs to no known host may be of any attempt whose host was not recorded.
 */
export function stillRunning<R extends { readonly attemptId: string; readonly host?: string }>(
  records: readonly R[],
  left: readonly LeftProcess[],
): Map<R, readonly number[]> {
  const found = new Map<R, readonly number[]>();
  const hosts = new Set(records.flatMap(({ host }) => (host === undefined ? [] : [host])));
  const strays = left.filter(({ host }) => host === undefined || !hosts.has(host));
  for (const record of records) {
    const { host } = record;
    const own = host === undefined ? strays : left.filter((one) => one.host === host);
    if (own.length > 0)
      found.set(
        record,
        own.map(({ pid }) => pid),
      );
  }
  return found;
}
