import type { LogFields } from '../src/ports/log.ts';
import { LevelLog } from './log.ts';

/** Keeps what matters for judging a run: warnings, errors, bugs, and anything that tells a secret. */
export class SimLog extends LevelLog {
  readonly lines: string[] = [];
  readonly bugs: string[] = [];
  readonly secrets: string[] = [];
  readonly #now: () => number;
  readonly #name: string;
  /** Called for each event, before anything else. */
  onEvent: (event: string) => void = () => {};

  constructor(name: string, now: () => number) {
    super();
    this.#name = name;
    this.#now = now;
  }

  protected keep(level: string, event: string, text: string, fields?: LogFields): void {
    this.onEvent(event);
    const line = `${Math.round(this.#now())} ${this.#name} ${level} ${event} ${text}`;
    if (level !== 'debug') this.lines.push(line);
    if (event === 'bug' || event.endsWith('.bug') || event === 'request.failed')
      this.bugs.push(line);
    if (/\bil_[A-Za-z0-9]{20,}/.test(line) || holdsToken(text, fields)) this.secrets.push(line);
  }
}

/** Lease tokens are 43 characters of base64url. */
function holdsToken(text: string, fields?: LogFields): boolean {
  const told = fields === undefined ? text : `${text} ${Object.values(fields).join(' ')}`;
  return /(?<![\w-])[A-Za-z0-9_-]{43}(?![\w-])/.test(told);
}
