import type { Log, LogFields, LogLevel } from '../src/ports/log.ts';

export interface LogEntry {
  readonly level: LogLevel;
  readonly event: string;
  readonly text: string;
  readonly fields: LogFields;
  /** By the clock it was given; 0 without one. */
  readonly atMs: number;
}

/** Takes the lines of all levels in one place. */
export abstract class LevelLog implements Log {
  debug(event: string, text: string, fields?: LogFields): void {
    this.keep('debug', event, text, fields);
  }

  info(event: string, text: string, fields?: LogFields): void {
    this.keep('info', event, text, fields);
  }

  warn(event: string, text: string, fields?: LogFields): void {
    this.keep('warn', event, text, fields);
  }

  error(event: string, text: string, fields?: LogFields): void {
    this.keep('error', event, text, fields);
  }

  protected abstract keep(
    level: LogEntry['level'],
    event: string,
    text: string,
    fields?: LogFields,
  ): void;
}

/** Keeps what is logged, unredacted, so that a test can say what must never be passed to a log. */
export class CollectingLog extends LevelLog {
  readonly entries: LogEntry[] = [];
  readonly #now: () => number;

  constructor(now: () => number = () => 0) {
    super();
    this.#now = now;
  }

  of(event: string): LogEntry[] {
    return this.entries.filter((entry) => entry.event === event);
  }

  /** Everything as one text, to search. */
  text(): string {
    return this.entries
      .map((entry) => `${entry.level} ${entry.event} ${entry.text} ${JSON.stringify(entry.fields)}`)
      .join('\n');
  }

  protected keep(level: LogLevel, event: string, text: string, fields: LogFields = {}): void {
    this.entries.push({ level, event, text, fields, atMs: this.#now() });
  }
}
