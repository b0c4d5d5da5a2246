import type { Io } from './command.ts';

/** Asks a person at a terminal; only `y` or `yes` is one. An end of input is a no. */
export async function confirmed(io: Io, question: string): Promise<boolean> {
  await io.err.write(`${question} [y/N] `);
  let typed = '';
  for await (const chunk of io.stdin) {
    typed += String(chunk);
    if (typed.includes('\n') || typed.length > ANSWER_CHARS) break;
  }
  const [answer = ''] = typed.split('\n');
  return /^y(es)?$/i.test(answer.trim());
}

/** Who types more than this answers something else. */
const ANSWER_CHARS = 100;

/** Whether there is somebody to ask. */
export function canAsk({ terminal }: Io): boolean {
  return terminal.in === true && terminal.err;
}
