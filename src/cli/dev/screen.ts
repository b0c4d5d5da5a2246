import type { Io } from '../command.ts';
import { plain, type Style } from '../style.ts';

/** What `interlock dev` shows: its own lines, and those of its children with their name in front. */
export interface Screen {
  /** `  worker         process 4711   …`. */
  fact(name: string, says: string): Promise<void>;
  line(text?: string): Promise<void>;
  /** A line of a child's log; while things start, only what is wrong is shown. */
  childLine(child: string, line: string): void;
  started(): void;
}

export function devScreen(io: Io, style: Style): Screen {
  let quiet = true;
  return {
    fact: (name, says) => io.out.line(`  ${style.faint(name.padEnd(15))}${says}`),
    line: (text = '') => io.out.line(text),
    childLine: (child, line) => {
      const record = parse(line);
      // What it ended with: told in words by whoever waits for it.
      if (record && 'error' in record && !('msg' in record)) return;
      if (quiet && record !== undefined && !/^(warn|error)$/.test(String(record.level))) return;
      void io.out.line(
        `${style.faint(`${child.padEnd(13)} │`)} ${record ? shown(record, style) : plain(line)}`,
      );
    },
    started: () => {
      quiet = false;
    },
  };
}

/** Time and sentence; the level where it matters. What stands beside them is for programs: see their own log. */
function shown({ time, level, msg }: Record<string, unknown>, style: Style): string {
  const text = plain(String(msg));
  const word =
    level === 'error' ? style.bad('ERROR ') : level === 'warn' ? style.warn('WARN ') : '';
  return `${style.faint(String(time).slice(11, 23))} ${word}${level === 'debug' ? style.faint(text) : text}`;
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const record: unknown = JSON.parse(line);
    return typeof record === 'object' && record !== null && ('msg' in record || 'error' in record)
      ? (record as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
