import type { ServiceClient } from '../../client/service-client.ts';
import { topDefaults } from '../../core/top-defaults.ts';
import { toFailure } from '../failure.ts';
import type { Line } from './state.ts';
import type { News } from './view.ts';

/** News of all tasks: at once where a hint tells of them, else by asking. */
export interface FeedListener {
  news(news: News): void;
  line(line: Line): void;
  trouble(words: string): void;
}

export async function readNews(client: ServiceClient, signal?: AbortSignal): Promise<News> {
  const how = { signal };
  const { attention, running, queued, failed, newest } = topDefaults;
  const tasks = async (query: Parameters<ServiceClient['listTasks']>[0]) =>
    (await client.listTasks(query, how)).tasks;
  const [first, second, third, fourth, fifth, doctor] = await Promise.all([
    tasks({ needs: 'attention', limit: attention }),
    tasks({ status: ['running'], limit: running }),
    tasks({ status: ['queued'], limit: queued }),
    tasks({ status: ['failed'], limit: failed }),
    tasks({ limit: newest }),
    client.doctor(how),
  ]);
  return {
    attention: first,
    running: second,
    queued: third,
    failed: fourth,
    newest: fifth,
    doctor,
  };
}

export class Feed {
  readonly #client: ServiceClient;
  readonly #listener: FeedListener;
  readonly #signal: AbortSignal;
  #live = false;
  /** Set while nobody looks: the next look is wanted now. */
  #wanted = true;
  #wake: () => void = () => {};

  constructor(client: ServiceClient, listener: FeedListener, signal: AbortSignal) {
    this.#client = client;
    this.#listener = listener;
    this.#signal = signal;
  }

  /** Until the signal. Never rejects. */
  async run(): Promise<void> {
    await Promise.all([this.#look(), this.#hear()]);
  }

  /** Something changed. */
  wanted(): void {
    this.#wanted = true;
    this.#wake();
  }

  async #look(): Promise<void> {
    const { clock } = this.#client;
    while (!this.#signal.aborted) {
      this.#wanted = false;
      let running = 0;
      try {
        const news = await readNews(this.#client, this.#signal);
        running = news.running.length;
        this.#listener.news(news);
      } catch (error) {
        if (this.#signal.aborted) return;
        this.#listener.trouble(toFailure(error).message);
      }
      const quick = !this.#live || running > 0;
      await this.#pause(quick ? topDefaults.pollMs : topDefaults.refreshMs);
      await clock.sleep(topDefaults.gatherMs, this.#signal);
    }
  }

  /** Until a look is wanted, or so long. */
  async #pause(ms: number): Promise<void> {
    if (this.#wanted || this.#signal.aborted) return;
    const { clock } = this.#client;
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    const end = () => woken.abort();
    this.#signal.addEventListener('abort', end, { once: true });
    await clock.sleep(ms, woken.signal);
    this.#signal.removeEventListener('abort', end);
    this.#wake = () => {};
  }

  async #hear(): Promise<void> {
    const { clock, random } = this.#client;
    let tries = 0;
    while (!this.#signal.aborted) {
      await this.#client.hints(
        {
          silenceMs: topDefaults.silenceMs,
          open: () => {
            tries = 0;
            this.#live = true;
            this.#listener.line('live');
            // What happened while there was no stream, no hint tells.
            this.wanted();
          },
          hint: () => this.wanted(),
        },
        this.#signal,
      );
      this.#live = false;
      if (this.#signal.aborted) return;
      tries++;
      // A stream that cannot be had is no reason for alarm: polling tells the same, later.
      this.#listener.line(tries > TRIES ? 'polling' : 'reconnecting');
      this.wanted();
      const { min, max } = topDefaults.reconnectMs;
      await clock.sleep(min + random.fraction() * (max - min), this.#signal);
    }
  }
}

/** After so many failed ones in a row it is said that there is none. */
const TRIES = 2;
