import { cutText } from '../contract/errors.ts';
import { bounds, type UnservedHandler } from '../contract/index.ts';
import { parseTypeKey } from '../contract/names.ts';
import { sentence } from '../contract/sentence.ts';
import { hostDefaults } from '../core/defaults.ts';
import type { HandlerProblem } from './handlers.ts';

/** A problem as it is told: one line that begins with the file, and what to do. */
export interface ToldProblem extends HandlerProblem {
  /** `demo/hello@1.mjs: it does not load: …`; a whole sentence. */
  readonly says: string;
}

/** What is wrong with handlers, in words; what concerns several files and names them is told once. */
export function toldProblems(problems: readonly HandlerProblem[]): ToldProblem[] {
  const told = new Set<string>();
  return problems.flatMap((problem) => {
    const { code, file, message } = problem;
    const key = `${code} ${message}`;
    if (told.has(key) && message.includes(file)) return [];
    told.add(key);
    return [{ ...problem, says: sentence(fileFirst(file, message)) }];
  });
}

/** A hint of a problem that was found at a start, for a worker that runs already: SIGHUP is enough for it. */
export function hintWhileRunning(hint: string): string {
  const mend = hint.replace(/(^|,? and )start again\.$/i, '');
  return mend === '' ? 'Send SIGHUP again.' : `${sentence(mend)} Then send SIGHUP again.`;
}

/** As found at a start of a worker that serves others: it need not end for it. */
export function hintAtStart(hint: string): string {
  return hint.replace(/(^|,? and )start again\.$/i, (_, joint: string) =>
    joint === '' ? 'Send SIGHUP, or start again.' : '. Then send SIGHUP, or start again.',
  );
}

/** Files that cannot be served, for the worker's presence and status. @param known what was told before: since when stays. */
export function unservedHandlers(
  problems: readonly HandlerProblem[],
  known: readonly UnservedHandler[],
  since: string,
): UnservedHandler[] {
  const found = new Map<string, UnservedHandler>();
  for (const problem of problems) {
    if (problem.severity !== 'error') continue;
    const { file, hint, message, type } = problem;
    // Of several files for one type: once, the message names all.
    const key = type ?? file;
    if (found.has(key)) continue;
    const named = type === undefined ? undefined : parseTypeKey(type);
    const why = cutText(
      `${sentence(fileFirst(file, message))} ${hint}`,
      hostDefaults.unservedToldChars,
    );
    const told = { file: cutText(file, bounds.reasonChars), ...named, why };
    const before = known.find((one) => one.file === told.file);
    found.set(key, { ...told, since: before?.since ?? since });
  }
  return [...found.values()];
}

function fileFirst(file: string, message: string): string {
  // A message about the whole folder names it in its own words.
  if (message.startsWith(file) || message.includes(`folder ${file}`)) return message;
  return `${file}: ${message.replace(/^It /, 'it ')}`;
}
