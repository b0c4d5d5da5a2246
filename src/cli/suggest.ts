import { nearest } from '../core/nearest.ts';

/** `, did you mean --pool?`, or nothing. */
export function didYouMean(
  word: string,
  known: readonly string[],
  shown = (name: string) => name,
): string {
  const meant = nearest(word, known) ?? withThatWord(word, known);
  return meant === undefined ? '' : ` Did you mean ${shown(meant)}?`;
}

/** `worker` of `task-worker`, where no other name has that word. */
function withThatWord(word: string, known: readonly string[]): string | undefined {
  const [first, second] = known.filter((name) => name.split('-').includes(word.toLowerCase()));
  return second === undefined ? first : undefined;
}
