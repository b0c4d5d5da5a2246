import { textLine } from '../../system/text-line.ts';
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
      if (quiet && record !== undefined && !/^(warn|error)$/.test(String(record.level))) return;
      const text = record ? textLine(record, style.colour).trimEnd() : plain(line);
      void io.out.line(`${style.faint(`${child.padEnd(13)} │`)} ${text}`);
    },
    started: () => {
      quiet = false;
    },
  };
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const record: unknown = JSON.parse(line);
    return typeof record === 'object' && record !== null && 'msg' in record
      ? (record as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
