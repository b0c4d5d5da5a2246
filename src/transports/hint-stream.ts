/**
 * One hint stream, from its opening to its end. Whoever calls decides when to open the next one. It ends
 * when the peer closes it, when no byte came for 45 s, when an event grows beyond its bound, or by `signal`.
 */
import { wireDefaults, workerDefaults } from '../core/defaults.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Hint, HintEnd } from '../ports/transport.ts';
import type { Door } from '../wire/door.ts';
import { readEventStream } from '../wire/event-stream.ts';
import { explain } from '../wire/fault.ts';

export async function readHints(
  door: Door,
  clock: Clock,
  query: { readonly workerId: string; readonly sessionId: string },
  onHint: (hint: Hint) => void,
  signal: AbortSignal,
): Promise<HintEnd> {
  const at = door.address.shown;
  const aborted: HintEnd = { kind: 'aborted', why: 'The hint stream was closed here.' };
  const opened = await door.stream({ path: '/hints', query: { ...query }, signal });
  if (opened.kind === 'none') {
    if (signal.aborted) return aborted;
    const { status, retryAfterMs } = opened;
    const gathered =
      opened.cause === 'timeout' ? ' A proxy that gathers event streams looks so.' : '';
    const why = opened.why + gathered;
    const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
    return status === undefined
      ? { kind: 'closed', why, ...wait }
      : { kind: 'refused', status, why, ...wait };
  }
  const silence = new Silence(clock, workerDefaults.hintSilenceMs, () => opened.close());
  onHint({ kind: 'open' });
  const listener = {
    event: (name: string, data: string) => {
      const hint = toHint(name, data);
      if (hint) onHint(hint);
    },
    bytes: () => {
      silence.broken();
      onHint({ kind: 'ping' });
    },
  };
  const end = await readEventStream(opened.body, listener, opened.signal);
  silence.end();
  opened.close();
  if (signal.aborted) return aborted;
  if (silence.reached) {
    const seconds = workerDefaults.hintSilenceMs / 1_000;
    const why = silence.never
      ? `the hint stream of ${at} was opened but brought not one byte in ${seconds} s: a proxy on the way seems to gather it; turn its response buffering off for text/event-stream`
      : `no byte came on the hint stream of ${at} for ${seconds} s`;
    return { kind: 'silent', why };
  }
  if (end.kind === 'oversize') {
    const limit = `${wireDefaults.streamFrameChars} characters`;
    return {
      kind: 'closed',
      why: `${at} sent a hint of more than ${limit}: the stream was reset.`,
    };
  }
  if (end.kind === 'failed') return { kind: 'closed', why: explain(end.error, at).why };
  return { kind: 'closed', why: `${at} ended the hint stream.` };
}

/** What a worker may do with an event; `undefined` for what it does not know. */
function toHint(name: string, data: string): Hint | undefined {
  if (name === 'drain') return { kind: 'drain' };
  if (name !== 'wake' && name !== 'cancel') return undefined;
  const body = objectOf(data);
  if (name === 'cancel') {
    const { attemptId } = body;
    return typeof attemptId === 'string' ? { kind: 'cancel', attemptId } : undefined;
  }
  // Whatever it holds, it only makes somebody look: a wake that names no types is for all of them.
  const types = Array.isArray(body.types) ? body.types.slice(0, wireDefaults.hintTypesMax) : [];
  return { kind: 'wake', types: types.filter((type) => typeof type === 'string') };
}

function objectOf(data: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(data);
    return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Tells once when nothing came for so long. One timer for all bytes, set again when it was too early. */
class Silence {
  reached = false;
  /** Not one byte so far. */
  never = true;
  readonly #clock: Clock;
  readonly #afterMs: number;
  readonly #tell: () => void;
  #last: number;
  #timer: Timer;

  constructor(clock: Clock, afterMs: number, tell: () => void) {
    this.#clock = clock;
    this.#afterMs = afterMs;
    this.#tell = tell;
    this.#last = clock.now();
    this.#timer = clock.timer(afterMs, () => this.#look(), 'patient');
  }

  broken(): void {
    this.never = false;
    this.#last = this.#clock.now();
  }

  end(): void {
    this.#timer.cancel();
  }

  #look(): void {
    const left = this.#last + this.#afterMs - this.#clock.now();
    if (left > 0) {
      this.#timer = this.#clock.timer(left, () => this.#look(), 'patient');
      return;
    }
    this.reached = true;
    this.#tell();
  }
}
