import type { Log } from '../ports/log.ts';
import { type SystemLog, systemLog } from '../system/log.ts';
import type { Io } from './command.ts';
import { typedHere } from './own-name.ts';
import { wantsColour } from './style.ts';

/** The log of a program that runs for long, on stderr. */
export function agentLog(
  io: Io,
  settings: {
    readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
    readonly logFormat: 'text' | 'json' | undefined;
  },
): SystemLog {
  const log = systemLog({
    level: settings.logLevel,
    ...(settings.logFormat && { format: settings.logFormat }),
    colour: wantsColour(io.env, io.terminal.err),
  });
  return { ...log, ...withTyped(log, io) };
}

/** The same log: commands in its lines are as they can be typed here. */
export function withTyped(log: Log, io: Parameters<typeof typedHere>[0]): Log {
  const typed = typedHere(io);
  return {
    debug: log.debug,
    info: (event, text, fields) => log.info(event, typed(text), fields),
    warn: (event, text, fields) => log.warn(event, typed(text), fields),
    error: (event, text, fields) => log.error(event, typed(text), fields),
  };
}
