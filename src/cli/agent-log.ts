import { type SystemLog, systemLog } from '../system/log.ts';
import type { Io } from './command.ts';
import { wantsColour } from './style.ts';

/** The log of a program that runs for long, on stderr. */
export function agentLog(
  io: Io,
  settings: {
    readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
    readonly logFormat: 'text' | 'json' | undefined;
  },
): SystemLog {
  return systemLog({
    level: settings.logLevel,
    ...(settings.logFormat && { format: settings.logFormat }),
    colour: wantsColour(io.env, io.terminal.err),
  });
}
