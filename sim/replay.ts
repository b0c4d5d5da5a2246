import type { JournalEvent, TaskAtEnd } from './simulation.ts';

/**
 * A task's journal read from the beginning by rules of its own (contract 3 and 4, written down a second time and not
 * taken from the code under test): what each entry must have made of the task.
 */
export interface Replay {
  /** Entries that do not follow from the ones before, in words. */
  readonly journal: string[];
  /** Endings that are not what the effect-safety table says. */
  readonly table: string[];
}

interface Attempt {
  readonly id: string;
  readonly fence: number;
  readonly safety: string;
  readonly gate: string;
  started: boolean;
  startAccepted: boolean;
  effectAccepted: boolean;
}

const UNDELIVERED_MAX = 20;

export function replay({ view, events }: TaskAtEnd): Replay {
  const journal: string[] = [];
  const table: string[] = [];
  const name = `${view.type} ${view.id}`;
  let status = '';
  let fence = 0;
  let attempts = 0;
  let undelivered = 0;
  let permitted: number = view.policy.maxAttempts;
  let cancelling = false;
  let current: Attempt | undefined;

  const wrong = (event: JournalEvent, text: string) =>
    journal.push(`${name}, entry ${event.seq} ${event.kind}: ${text}`);

  const past = () =>
    current !== undefined &&
    current.safety === 'non-idempotent' &&
    (current.gate === 'start'
      ? current.startAccepted || current.effectAccepted
      : current.effectAccepted);

  /** Its worker knew that the handler was never called, and the handler has said nothing else. */
  const uncalled = (data: JournalEvent['data']) => data.begun === false && !current?.effectAccepted;

  /** Fences of attempts whose effect may have taken place, and nobody has resolved whether it has. */
  const effects = new Set<number>();

  const again = () => {
    if (cancelling) return 'cancelled';
    if (undelivered >= UNDELIVERED_MAX || attempts >= permitted) return 'failed';
    return 'queued';
  };

  /** Counts the attempt and says what the table makes of its end. */
  const ended = (event: JournalEvent): string => {
    const { kind, data } = event;
    const counted = current?.started ?? false;
    const reason = data.reason as string | undefined;
    const unbegun = kind === 'lost' && !data.begun && !counted;
    if (kind === 'released' || (kind === 'lost' && (reason === 'drain' || unbegun))) {
      undelivered++;
      if (counted) attempts--;
    } else if (!counted && kind !== 'cancelled') attempts++;
    switch (kind) {
      case 'succeeded':
        return 'succeeded';
      case 'unknown':
        return 'outcome-unknown';
      case 'failed':
        return data.retryable && (!past() || uncalled(data)) ? again() : 'failed';
      case 'cancelled':
        return past() ? 'outcome-unknown' : 'cancelled';
      case 'released':
        return past() ? 'not releasable' : again();
      default:
        return past() ? 'outcome-unknown' : again();
    }
  };

  for (const [i, event] of events.entries()) {
    const { kind, data } = event;
    if (event.seq !== i + 1) wrong(event, `is number ${i + 1} in the journal`);
    const ofAttempt = event.attemptId !== undefined && kind !== 'leased' && kind !== 'late-report';
    if (ofAttempt && (event.attemptId !== current?.id || event.fence !== current?.fence))
      wrong(
        event,
        `is of attempt ${event.attemptId} fence ${event.fence}, the latest is ${current?.id} fence ${current?.fence}`,
      );
    switch (kind) {
      case 'submitted':
        status = 'queued';
        break;
      case 'leased':
        if (status !== 'queued') wrong(event, `while the task is ${status}`);
        if (event.fence !== fence + 1) wrong(event, `fence ${event.fence} after ${fence}`);
        fence = event.fence as number;
        status = 'running';
        current = {
          id: event.attemptId as string,
          fence,
          safety: data.effectSafety,
          gate: data.effectGate,
          started: false,
          startAccepted: false,
          effectAccepted: false,
        };
        break;
      case 'started':
        if (current === undefined) break;
        if (current.started) wrong(event, 'a second time');
        if (status !== 'running') wrong(event, `while the task is ${status}`);
        current.started = true;
        attempts++;
        if (data.via === undefined || data.via === 'effect') current.startAccepted = true;
        break;
      case 'effect-begun':
        if (current) current.effectAccepted = true;
        break;
      case 'succeeded':
      case 'failed':
      case 'unknown':
      case 'lost':
      case 'released':
      case 'cancelled': {
        // The second entry of an end that became a cancel, and a cancel of a queued task.
        if (kind === 'cancelled' && status !== 'running') {
          if (status !== 'queued' && status !== 'cancelled')
            wrong(event, `while the task is ${status}`);
          status = 'cancelled';
          break;
        }
        if (status !== 'running') wrong(event, `while the task is ${status}`);
        if (past() && !(kind === 'failed' && uncalled(data))) effects.add(fence);
        const safe = past() ? 'past its gate' : 'before its gate';
        status = ended(event);
        if (data.status !== status)
          table.push(
            `${name}, entry ${event.seq}: ${current?.safety} (gate ${current?.gate}) ${safe}, ${kind} ${data.reason ?? ''} is ${data.status}; the table says ${status}`,
          );
        break;
      }
      case 'requeued':
        if (status !== 'queued') wrong(event, `while the task is ${status}`);
        break;
      case 'cancel-requested':
        cancelling = true;
        break;
      case 'retried':
      case 'resolved': {
        if (kind === 'retried' && effects.size > 0 && data.acceptRepeatedEffect !== true)
          table.push(
            `${name}, entry ${event.seq}: an effect that may have taken place is repeated without leave`,
          );
        if (kind === 'resolved' && data.resolution !== 'late-report') effects.clear();
        const back = kind === 'retried' || data.resolution === 'retry';
        if (back) {
          permitted += kind === 'retried' ? data.attempts : 1;
          undelivered = 0;
        }
        cancelling = false;
        status = data.status;
        break;
      }
      case 'late-report':
        if (event.attemptId !== current?.id)
          wrong(event, 'is of an attempt that is not the latest');
        if (status === 'running') wrong(event, 'while an attempt runs');
        if (uncalled(data)) effects.delete(fence);
        break;
      case 'expired':
        status = 'expired';
        break;
      default:
        wrong(event, 'nobody knows this kind');
    }
  }
  const shown = {
    status: view.status,
    attempts: view.attempts,
    undelivered: view.undelivered,
    seq: view.seq,
  };
  const made = { status, attempts, undelivered, seq: events.length };
  if (JSON.stringify(shown) !== JSON.stringify(made))
    journal.push(
      `${name} is ${JSON.stringify(shown)}, its journal makes it ${JSON.stringify(made)}`,
    );
  return { journal, table };
}
