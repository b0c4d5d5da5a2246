import type { ServiceClient } from '../../client/service-client.ts';
import { topDefaults } from '../../core/top-defaults.ts';
import type { Io } from '../command.ts';
import { toFailure } from '../failure.ts';
import type { Screen } from '../screen.ts';
import type { Style } from '../style.ts';
import { makeStyle } from '../style.ts';
import { eventLine, logLine } from '../views/journal-view.ts';
import { taskLines } from '../views/task-view.ts';
import { Feed } from './feed.ts';
import { readKeys } from './keys.ts';
import { bodyRows, render, taskTextLines } from './render.ts';
import { firstState, step, type TopEffect, type TopEvent, type TopState } from './state.ts';

export interface TopOptions {
  readonly client: ServiceClient;
  readonly screen: Screen;
  readonly io: Pick<Io, 'clock'>;
  readonly style: Style;
  readonly actionId: () => string;
  readonly filter: string;
}

/** Shows all tasks on a whole screen until somebody quits. @returns the signal that ended it, if one did. */
export function runTop(options: TopOptions): Promise<NodeJS.Signals | undefined> {
  return new Promise((resolve) => new Top(options, resolve).begin());
}

class Top {
  readonly #options: TopOptions;
  readonly #resolve: (signal: NodeJS.Signals | undefined) => void;
  readonly #end = new AbortController();
  readonly #feed: Feed;
  #state: TopState;
  #screen: ReturnType<Screen['open']> | undefined;
  /** The beginning of a key whose rest has not come. */
  #typed = '';
  #alone: { cancel(): void } | undefined;

  constructor(options: TopOptions, resolve: (signal: NodeJS.Signals | undefined) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#state = { ...firstState, filter: options.filter };
    const listener = {
      news: (news: TopState['news'] & object) => this.#on({ kind: 'news', news }),
      line: (line: TopState['line']) => this.#on({ kind: 'line', line }),
      trouble: (words: string) => this.#on({ kind: 'trouble', words }),
    };
    this.#feed = new Feed(options.client, listener, this.#end.signal);
  }

  begin(): void {
    this.#screen = this.#options.screen.open({
      typed: (text) => this.#keys(text),
      resized: () => this.#resized(),
      ended: (signal) => this.#quit(signal),
    });
    this.#draw();
    void this.#feed.run();
    void this.#tick();
  }

  async #tick(): Promise<void> {
    while (await this.#options.io.clock.sleep(topDefaults.drawMs, this.#end.signal)) this.#draw();
  }

  #keys(text: string): void {
    this.#alone?.cancel();
    const take = (over: boolean) => {
      const { keys, rest } = readKeys(this.#typed, over);
      this.#typed = rest;
      const rows = bodyRows(this.#options.screen.size);
      for (const key of keys) this.#on({ kind: 'key', key, rows });
    };
    this.#typed += text;
    take(false);
    if (this.#typed !== '')
      this.#alone = this.#options.io.clock.timer(topDefaults.escapeMs, () => take(true));
  }

  #on(event: TopEvent): void {
    if (this.#end.signal.aborted) return;
    const { state, effects } = step(this.#state, event);
    this.#state = state;
    for (const effect of effects) void this.#do(effect);
    this.#draw();
  }

  async #do(effect: TopEffect): Promise<void> {
    const { client, actionId } = this.#options;
    try {
      switch (effect.kind) {
        case 'quit':
          return this.#quit(undefined);
        case 'draw':
          return this.#draw();
        case 'look':
          return this.#feed.wanted();
        case 'open':
          return await this.#open(effect.id);
        case 'cancel': {
          const { id, seq } = effect.task;
          const request = { reason: REASON, actionId: actionId(), ifSeq: seq };
          const { status } = await client.cancel(id, request);
          return this.#say(status === 'cancelled' ? 'It is cancelled.' : 'It was asked to stop.');
        }
        case 'retry': {
          const { id, seq, error } = effect.task;
          const accept = error?.effect === 'begun' ? { acceptRepeatedEffect: true } : {};
          const request = { reason: REASON, actionId: actionId(), ifSeq: seq, attempts: 1 };
          await client.retry(id, { ...request, ...accept });
          return this.#say('It will run again.');
        }
      }
    } catch (error) {
      this.#say(toFailure(error).message);
    }
  }

  #say(words: string): void {
    this.#on({ kind: 'said', words });
  }

  async #open(id: string): Promise<void> {
    const { client, io } = this.#options;
    const how = { signal: this.#end.signal };
    const task = await client.getTask(id, how);
    const { entries } = topDefaults;
    const [{ events }, { lines }] = await Promise.all([
      client.events(id, { after: Math.max(0, task.seq - entries) }, how),
      client.logs(id, { limit: entries }, how),
    ]);
    // Lines are cut to the screen; colours would be cut with them.
    const style = makeStyle(false);
    const text = [
      ...taskLines(task, style, io.clock.wall()),
      '',
      'journal',
      ...events.map((event) => `  ${eventLine(event, style)}`),
      ...(lines.length === 0 ? [] : ['', 'log']),
      ...lines.map((line) => `  ${logLine(line, style)}`),
    ];
    const { columns } = this.#options.screen.size;
    this.#on({ kind: 'task', id, text: taskTextLines(text, columns) });
  }

  #resized(): void {
    const { mode } = this.#state;
    if (mode.kind === 'task') void this.#do({ kind: 'open', id: mode.id });
    this.#draw();
  }

  #draw(): void {
    const { screen, style, client, io } = this.#options;
    const around = { ...screen.size, style, wallMs: io.clock.wall(), url: client.shown };
    this.#screen?.draw(render(this.#state, around));
  }

  #quit(signal: NodeJS.Signals | undefined): void {
    if (this.#end.signal.aborted) return;
    this.#end.abort();
    this.#alone?.cancel();
    this.#screen?.close();
    this.#resolve(signal);
  }
}

/** Who acts there has no room to say more; the journal has the key's name too. */
const REASON = 'asked for in tasks top';
