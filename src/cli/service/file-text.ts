import { TaskError } from '../../contract/index.ts';

/**
 * The text of a file for a manager, of its lines. The last door: a value with a line break in it would be a line of its
 * own, which a manager obeys as root, so whatever has not been refused before is refused here (`SERVICE_UNFIT`).
 */
export function fileText(lines: readonly string[], end = '\n'): string {
  // A backslash at the end of a unit's line takes the next one along.
  const odd = lines.find((line) => cannotBeWritten(line) || line.endsWith('\\'));
  if (odd === undefined) return lines.join(end);
  throw new TaskError('SERVICE_UNFIT', `${JSON.stringify(odd)} cannot be a line of a service.`, {
    hint: 'Correct the setting that has such characters in it, and run the same command again.',
  });
}

/**
 * Control characters, and what is no character: halves of a pair, U+FFFE and its like. XML cannot hold them, systemd leaves
 * out a line that has them.
 */
export function cannotBeWritten(text: string): boolean {
  return /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u.test(text);
}
