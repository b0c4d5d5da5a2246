import type { Log } from '../../src/ports/log.ts';

/** Keeps what was logged. */
export function memoryLog(): Log & {
  readonly events: string[];
  readonly texts: string[];
} {
  const events: string[] = [];
  const texts: string[] = [];
  const line = (event: string, text: string) => {
    events.push(event);
    texts.push(text);
  };
  return {
    events,
    texts,
    debug: () => {},
    info: line,
    warn: line,
    error: line,
  };
}
