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

function fileFirst(file: string, message: string): string {
  // A message about the whole folder names it in its own words.
  if (message.startsWith(file) || message.includes(`folder ${file}`)) return message;
  return `${file}: ${message.replace(/^It /, 'it ')}`;
}

function sentence(text: string): string {
  return /[.!?\u2026]$/.test(text) ? text : `${text}.`;
}
