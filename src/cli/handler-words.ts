import { sentence } from '../contract/sentence.ts';
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

function fileFirst(file: string, message: string): string {
  // A message about the whole folder names it in its own words.
  if (message.startsWith(file) || message.includes(`folder ${file}`)) return message;
  return `${file}: ${message.replace(/^It /, 'it ')}`;
}
