import { isatty } from 'node:tty';
import { pino } from 'pino';
import type { Log, LogFields, LogLevel } from '../ports/log.ts';
import { lineWriter } from './line-writer.ts';
import { redact, redactText } from './redact.ts';
import { textLine } from './text-line.ts';

export interface SystemLogOptions {
  /** Default `info`. */
  readonly level?: LogLevel;
  /** Default: `text` on a terminal, else `json`: one object a line. */
  readonly format?: 'json' | 'text';
  /** Default: on a terminal. The caller knows of NO_COLOR. */
  readonly colour?: boolean;
  /** Default 2, stderr: stdout belongs to what a command answers. */
  readonly fd?: number;
}

export interface SystemLog extends Log {
  /** From now on. */
  setLevel(level: LogLevel): void;
  /** Await it before an exit; bounded. */
  flush(): Promise<void>;
}

/** The log of a process: pino's lines, without secrets, to a writer that neither throws nor blocks. */
export function systemLog(options: SystemLogOptions = {}): SystemLog {
  const fd = options.fd ?? 2;
  const terminal = isatty(fd);
  const format = options.format ?? (terminal ? 'text' : 'json');
  const colour = options.colour ?? terminal;
  const toLine = (json: string) =>
    format === 'json' ? json : textLine(JSON.parse(json) as Record<string, unknown>, colour);

  const writer = lineWriter(fd, (lines) => {
    const record = {
      level: 'warn',
      time: new Date().toISOString(),
      event: 'log.lost',
      lines,
      msg: 'Log lines were dropped, since nobody took them.',
    };
    return toLine(`${JSON.stringify(record)}\n`);
  });

  const logger = pino(
    {
      level: options.level ?? 'info',
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (json: string) => writer.write(toLine(json)) },
  );

  const at = (level: LogLevel) => (event: string, text: string, fields?: LogFields) => {
    if (!logger.isLevelEnabled(level)) return;
    try {
      logger[level]({ event, ...named(redact(fields ?? {})) }, redactText(text));
    } catch {
      // A value that cannot be written costs its line, never more.
    }
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    setLevel: (level) => {
      logger.level = level;
    },
    flush: () => writer.flush(),
  };
}

/** A field must not overwrite what every line has. */
function named(fields: unknown): Record<string, unknown> {
  // A word in their place: they cannot be read.
  if (typeof fields !== 'object' || fields === null) return { fields };
  const safe: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    safe[OWN.has(name) ? `${name}_` : name] = value;
  }
  return safe;
}

const OWN = new Set(['level', 'time', 'event', 'msg']);
