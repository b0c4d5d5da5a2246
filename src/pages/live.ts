import { pageDefaults } from '../core/page-defaults.ts';
import type { Clock, Timer } from '../ports/clock.ts';

/** Where pages listen to hints. */
export const LIVE_PATH = '/live';

/** Streams of hints that pages listen to: each ends with its session. */
export class LiveStreams {
  readonly #clock: Clock;
  readonly #open = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The stream, until the session is signed out or its time is up. */
  kept(
    sessionId: string,
    from: ReadableStream<Uint8Array>,
    leftMs: number,
  ): ReadableStream<Uint8Array> {
    const reader = from.getReader();
    const mine = this.#open.get(sessionId) ?? new Set();
    this.#open.set(sessionId, mine);
    const [oldest] = mine;
    if (mine.size >= pageDefaults.streamsPerSession) oldest?.();
    let timer: Timer | undefined;
    let over = false;
    const forget = () => {
      over = true;
      timer?.cancel();
      mine.delete(end);
      if (mine.size === 0 && this.#open.get(sessionId) === mine) this.#open.delete(sessionId);
    };
    let close = () => {};
    const end = () => {
      if (over) return;
      forget();
      close();
      void reader.cancel().catch(() => {});
    };
    mine.add(end);
    timer = this.#clock.timer(leftMs, end);
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        close = () => controller.close();
      },
      pull: async (controller) => {
        const { done, value } = await reader.read();
        if (over) return;
        if (done) end();
        else controller.enqueue(value);
      },
      cancel: () => end(),
    });
  }

  /** The session was signed out. */
  end(sessionId: string): void {
    for (const end of [...(this.#open.get(sessionId) ?? [])]) end();
  }

  stop(): void {
    for (const id of [...this.#open.keys()]) this.end(id);
  }
}
