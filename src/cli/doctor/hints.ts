import type { Clock } from '../../ports/clock.ts';
import type { Door, StreamAnswer } from '../../wire/door.ts';
import type { KeySource } from '../../wire/key.ts';
import { durationWords } from '../duration.ts';
import { type Check, ok, skip, warn } from './check.ts';
import { NOT_REACHED } from './not-reached.ts';

/** A door with a key that was accepted. */
export interface Reader {
  readonly door: Door;
  readonly kind: string;
  readonly key: KeySource;
}

/**
 * Whether hints come through: a stream of events is opened, and its first byte (every stream begins with one) must come
 * at once. A proxy that gathers answers opens the stream too, or never, and brings nothing. @param id of this look.
 */
export async function checkHints(
  reader: Reader | undefined,
  clock: Clock,
  id: string,
  reached = true,
): Promise<Check> {
  const path = reader && PATHS[reader.kind];
  if (!reached) return skip('hints', NOT_REACHED);
  if (!reader || !path) return skip('hints', 'no key was accepted that may read them');
  const from = clock.now();
  const limit = new AbortController();
  const timer = clock.timer(FIRST_BYTE_MS, () => limit.abort());
  try {
    const query = path === '/hints' ? { workerId: 'doctor', sessionId: id } : {};
    const opened = await reader.door.stream({ path, query, signal: limit.signal });
    const came = opened.kind === 'stream' && (await firstByte(opened));
    if (came) return ok('hints', `come through, the first after ${words(clock.now() - from)}`);
    if (opened.kind === 'none' && !limit.signal.aborted)
      return warn('hints', `do not come through: ${opened.why}`, POLLED);
    const how = opened.kind === 'stream' ? 'is opened but brings' : 'brings';
    return warn(
      'hints',
      `do not come through: a stream of events ${how} nothing within ${words(FIRST_BYTE_MS)}, so something on the way gathers it`,
      `Turn response buffering off for text/event-stream there (nginx: proxy_buffering off). ${POLLED}`,
    );
  } finally {
    timer.cancel();
    limit.abort();
  }
}

async function firstByte(stream: Extract<StreamAnswer, { kind: 'stream' }>): Promise<boolean> {
  const reader = stream.body.getReader();
  const leave = () => void reader.cancel().catch(() => {});
  stream.signal.addEventListener('abort', leave);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false;
      if (value.byteLength > 0) return true;
    }
  } catch {
    return false;
  } finally {
    stream.signal.removeEventListener('abort', leave);
    stream.close();
  }
}

function words(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : durationWords(ms);
}

/** By kind of key: where it may read a stream. */
const PATHS: Readonly<Record<string, string>> = {
  'task-producer': '/events',
  'task-operator': '/events',
  admin: '/events',
  'task-worker': '/hints',
};

/** Far above a round trip, and a person waits for it. */
const FIRST_BYTE_MS = 3_000;
const POLLED = 'Without hints nothing is lost: workers look for tasks every 5 s.';
