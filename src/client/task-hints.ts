/**
 * The stream of hints about tasks of a project: that something happened, never what. From its opening to its end;
 * whoever calls decides when to open the next one, and asks by itself meanwhile.
 */
import type { Clock, Timer } from '../ports/clock.ts';
import type { Door } from '../wire/door.ts';
import { readEventStream } from '../wire/event-stream.ts';
import { explain } from '../wire/fault.ts';

export interface TaskHintListener {
  /** It is open. */
  open(): void;
  /** Something happened to a task. */
  hint(): void;
  /** So long without a byte, and it is over. */
  readonly silenceMs: number;
}

/** Resolves with why it is over, in words. Never rejects. */
export async function readTaskHints(
  door: Door,
  clock: Clock,
  listener: TaskHintListener,
  signal: AbortSignal,
): Promise<string> {
  const at = door.address.shown;
  const opened = await door.stream({ path: '/events', signal });
  if (opened.kind === 'none') return opened.why;
  listener.open();
  let heardAt = clock.now();
  let silent = false;
  let timer: Timer;
  const look = () => {
    const left = heardAt + listener.silenceMs - clock.now();
    if (left > 0) {
      timer = clock.timer(left, look);
      return;
    }
    silent = true;
    opened.close();
  };
  timer = clock.timer(listener.silenceMs, look);
  const end = await readEventStream(
    opened.body,
    {
      event: (name) => {
        if (name === 'task') listener.hint();
      },
      bytes: () => {
        heardAt = clock.now();
      },
    },
    opened.signal,
  );
  timer.cancel();
  opened.close();
  if (silent)
    return `No byte came on the hint stream of ${at} for ${listener.silenceMs / 1_000} s.`;
  return end.kind === 'failed' ? explain(end.error, at).why : `${at} ended the hint stream.`;
}
