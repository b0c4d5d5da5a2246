import { nearest } from '../core/nearest.ts';

/** `, did you mean --pool?`, or nothing. */
export function didYouMean(
  word: string,
  known: readonly string[],
  shown = (name: string) => name,
): string {
  const meant = meantBy(word, known);
  return meant === undefined ? '' : ` Did you mean ${shown(meant)}?`;
}

/** The name that was most likely meant, if one is near. */
export function meantBy(word: string, known: readonly string[]): string | undefined {
  return nearest(word, known) ?? withThatWord(word, known);
}

/** `worker` of `task-worker`, where no other name has that word. */
function withThatWord(word: string, known: readonly string[]): string | undefined {
  const [first, second] = known.filter((name) => name.split('-').includes(word.toLowerCase()));
  return second === undefined ? first : undefined;
}
