/** Numbers for people, the same in every place and language setting. Pure. */

/** `12,345`. */
export function numberWords(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** Of what was counted up to one beyond `most`: `more than 1,000`, or the number. */
export function cappedWords(count: number, most: number): string {
  return count > most ? `more than ${numberWords(most)}` : numberWords(count);
}
