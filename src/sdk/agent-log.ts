import type { MessagePort } from 'node:worker_threads';
import { sdkDefaults } from '../core/sdk-defaults.ts';
import type { Log, LogFields, LogLevel } from '../ports/log.ts';
import type { FromAgent } from './agent-words.ts';

/**
 * The user's log as the agent sees it: lines wait in the port while a handler holds the user's thread, up to a bound;
 * what comes then is dropped and counted, and told when there is room again.
 */
export class AgentLog implements Log {
  readonly #port: MessagePort;
  #waiting = 0;
  #lost = 0;

  constructor(port: MessagePort) {
    this.#port = port;
  }

  debug(event: string, text: string, fields?: LogFields): void {
    this.#line('debug', event, text, fields);
  }

  info(event: string, text: string, fields?: LogFields): void {
    this.#line('info', event, text, fields);
  }

  warn(event: string, text: string, fields?: LogFields): void {
    this.#line('warn', event, text, fields);
  }

  error(event: string, text: string, fields?: LogFields): void {
    this.#line('error', event, text, fields);
  }

  /** The user's log has taken so many. */
  taken(lines: number): void {
    this.#waiting -= lines;
    if (this.#lost === 0) return;
    const lost = this.#lost;
    this.#lost = 0;
    const text = `${lost} log lines were dropped: the program did not give way for long.`;
    this.#line('warn', 'log.lost', text, { lines: lost });
  }

  #line(level: LogLevel, event: string, text: string, fields: LogFields | undefined): void {
    if (this.#waiting >= sdkDefaults.logLinesWaiting) {
      this.#lost++;
      return;
    }
    this.#waiting++;
    const line = { t: 'log', level, event, text } as const;
    try {
      this.#port.postMessage({ ...line, fields } satisfies FromAgent);
    } catch {
      // Something among the fields that cannot be copied: the sentence says it all the same.
      this.#port.postMessage(line satisfies FromAgent);
    }
  }
}
