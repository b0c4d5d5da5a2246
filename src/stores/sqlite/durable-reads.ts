import type { Reads } from '../../ports/store.ts';
import type { KeptFiles } from './kept-files.ts';
import type { LogSync, Touched } from './log-sync.ts';

/**
 * Reading methods that refuse where the files are lost, and that tell nothing which a power cut could still undo: what they
 * may have seen of a commit becomes durable first.
 * @param owns `false`: another process may have written what is read, so the log is synced each time.
 */
export function durableReads(reads: Reads, files: KeptFiles, log: LogSync, owns: boolean): Reads {
  const made: Record<string, unknown> = {};
  for (const [name, read] of Object.entries(reads)) {
    const sees = SEES[name as keyof Reads] ?? everything;
    made[name] = async (...given: unknown[]) => {
      files.checkSometimes();
      const pending = log.pending;
      const found = await (read as (...given: unknown[]) => Promise<unknown>)(...given);
      if (!owns) await log.syncNow();
      if (pending && sees(pending.touched, given, found)) await pending.durable;
      return found;
    };
  }
  return made as unknown as Reads;
}

type Sees = (touched: Touched, given: readonly unknown[], found: unknown) => boolean;

const everything: Sees = () => true;
const keys: Sees = ({ keys: some, others }) => some || others;
/** By the ref that is given. */
const ofTask: Sees = ({ tasks, others }, [ref]) => others || tasks.has(ref as number);
/** Of the task that was found. One that was not is in no commit: tasks are never removed. */
const foundTask: Sees = ({ tasks, others }, _, found) => {
  const row = (found as { row?: Row } | undefined)?.row ?? (found as Row | undefined);
  return others || (row !== undefined && (tasks.has(row.ref) || tasks.has(row.task.id)));
};

interface Row {
  readonly ref: number;
  readonly task: { readonly id: string };
}

/** What does not stand here waits for all. */
const SEES: Partial<Record<keyof Reads, Sees>> = {
  task: foundTask,
  taskByKey: foundTask,
  attempt: foundTask,
  latestAttempt: ({ tasks, others }, [row]) =>
    others || tasks.has((row as Row).ref) || tasks.has((row as Row).task.id),
  payload: ofTask,
  events: ofTask,
  logs: ofTask,
  lastLog: ofTask,
  action: ofTask,
  keyByHash: keys,
  keyById: keys,
  keys,
  projects: keys,
  countKeys: keys,
  countUsableKeys: keys,
  countRevokedKeys: keys,
  // Only says when to look, and what is decided then is decided by a command.
  nextTimeMs: () => false,
};
