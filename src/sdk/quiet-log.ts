import type { Log, LogLevel } from '../ports/log.ts';
import { systemLog } from '../system/log.ts';

let own: Log | undefined;

/** Where the user gave none: warnings to stderr, one for the program, for each keeps a descriptor and listens to the stream. */
export function ownLog(): Log {
  own ??= systemLog({ level: 'warn' });
  return own;
}

/** A log promises not to throw. One of the user's own that does, at once or later, costs its line, never the program. */
export function quietLog(log: Log): Log {
  const at =
    (level: LogLevel): Log[LogLevel] =>
    (event, text, fields) => {
      try {
        const later: unknown = log[level](event, text, fields);
        // An `async` one: `Log` returns nothing, but the compiler lets it pass.
        if (later instanceof Object && 'then' in later) Promise.resolve(later).catch(() => {});
      } catch {
        // Nobody is left to tell.
      }
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
