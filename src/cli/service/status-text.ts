import type { Readiness } from '../../core/readiness.ts';
import type { WorkerStatus } from '../../worker/status.ts';

/** What the worker does, as one line for `systemctl status`. */
export function statusText(status: WorkerStatus, { ready, why }: Readiness): string {
  const { state, slots, unanswered, attempts, stuck, pausedTypes } = status;
  const owed = unanswered === 0 ? '' : `, ${counted(unanswered, 'report')} not answered yet`;
  if (state === 'stopped') return `Stopped${owed}.`;
  if (state === 'draining')
    return `Drains: ${counted(attempts.length, 'attempt')} still held${owed}.`;
  const busy = `${slots.busy} of ${counted(slots.max, 'slot')} busy${owed}`;
  const more = [
    stuck.length === 0 ? '' : `${counted(stuck.length, 'handler')} hang`,
    pausedTypes.length === 0 ? '' : `${counted(pausedTypes.length, 'type')} paused`,
  ]
    .filter(Boolean)
    .join(', ');
  const rest = more ? `; ${more}` : '';
  return ready
    ? `Ready: ${busy}${rest}.`
    : `Not ready: ${(why ?? '').replace(/[.?!]+$/, '')}. ${busy}${rest}.`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
