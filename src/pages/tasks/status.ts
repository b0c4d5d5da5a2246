import type { TaskView } from '../../contract/index.ts';
import type { Html } from '../html.ts';
import { badge, type Tone } from '../parts.ts';

/** How a task is, in words and colour. */
export function statusBadge({
  status,
  cancelRequested,
}: Pick<TaskView, 'status' | 'cancelRequested'>): Html {
  const asked = status === 'running' && cancelRequested;
  return badge(asked ? 'warn' : toneOf(status), asked ? 'running, asked to stop' : words(status));
}

/** `outcome unknown`; one that this version does not know is shown as it is. */
export function words(status: string): string {
  return status === 'outcome-unknown' ? 'outcome unknown' : status;
}

export function toneOf(status: string): Tone {
  return Object.hasOwn(TONES, status) ? (TONES[status] as Tone) : 'wait';
}

const TONES: Readonly<Record<string, Tone>> = {
  queued: 'wait',
  running: 'busy',
  succeeded: 'good',
  failed: 'bad',
  'outcome-unknown': 'bad',
  cancelled: 'off',
  expired: 'warn',
};
