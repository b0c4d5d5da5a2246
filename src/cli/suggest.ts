import { nearest } from '../core/nearest.ts';

/** `, did you mean --pool?`, or nothing. */
export function didYouMean(
  word: string,
  known: readonly string[],
  shown = (name: string) => name,
): string {
  const meant = nearest(word, known);
  return meant === undefined ? '' : ` Did you mean ${shown(meant)}?`;
}
