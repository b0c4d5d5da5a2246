/** What looking has cost so far, for who asks. */
export interface Tally {
  /** Pairs of letters that were compared. */
  pairs: number;
}

/**
 * The word that was most likely meant, if one is near enough to be worth saying. Costs no more than the letters of `word` times
 * those that may differ, for each of `known` that is about as long. @param most letters that may differ.
 */
export function nearest(
  word: string,
  known: readonly string[],
  most = Number.POSITIVE_INFINITY,
  tally?: Tally,
): string | undefined {
  const lower = word.toLowerCase();
  let allowed = Math.min(most, Math.max(1, Math.floor(word.length / 3)));
  let best: string | undefined;
  for (const name of known) {
    // Nothing comes nearer than the same.
    if (allowed < 0) break;
    const away = distance(lower, name.toLowerCase(), allowed, tally);
    if (away > allowed) continue;
    best = name;
    allowed = away - 1;
  }
  return best;
}

/**
 * Letters to add, drop, change or swap with their neighbour; where it is more than `allowed`, some number that is more too. Only
 * the band of the matrix is filled in where that can be: `row[k]` is for the first `i` letters of `a` and `i + k - allowed` of `b`.
 */
function distance(a: string, b: string, allowed: number, tally: Tally | undefined): number {
  const far = allowed + 1;
  if (Math.abs(a.length - b.length) > allowed) return far;
  const width = 2 * allowed + 1;
  let before: readonly number[] = [];
  let above: readonly number[] = Array.from({ length: width }, (_, k) =>
    k < allowed ? far : k - allowed,
  );
  let leastAbove = 0;
  for (let i = 1; i <= a.length; i++) {
    const row: number[] = [];
    let least = far;
    for (let k = 0; k < width; k++) {
      const j = i + k - allowed;
      let away = far;
      if (j === 0) away = i;
      else if (j > 0 && j <= b.length) {
        if (tally) tally.pairs++;
        const change = (above[k] ?? far) + (a[i - 1] === b[j - 1] ? 0 : 1);
        away = Math.min(change, (above[k + 1] ?? far) + 1, (row[k - 1] ?? far) + 1);
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
          away = Math.min(away, (before[k] ?? far) + 1);
      }
      row.push(away);
      least = Math.min(least, away);
    }
    // A swap reaches over one row.
    if (least > allowed && leastAbove > allowed) return far;
    leastAbove = least;
    before = above;
    above = row;
  }
  return above[b.length - a.length + allowed] ?? far;
}

/** Of names of types: this many letters off and they are a slip, more and they are another type. */
export const SLIP_LETTERS = 2;
