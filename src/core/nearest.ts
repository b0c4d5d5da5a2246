/** The word that was most likely meant, if one is near enough to be worth saying. @param most letters that may differ. */
export function nearest(
  word: string,
  known: readonly string[],
  most = Number.POSITIVE_INFINITY,
): string | undefined {
  const lower = word.toLowerCase();
  const allowed = Math.min(most, Math.max(1, Math.floor(word.length / 3)));
  let best: { name: string; away: number } | undefined;
  for (const name of known) {
    const away = distance(lower, name.toLowerCase());
    if (away <= allowed && (best === undefined || away < best.away)) best = { name, away };
  }
  return best?.name;
}

/** Letters to add, drop, change or swap with their neighbour. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (rows[i - 1]?.[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(change, (rows[i - 1]?.[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (rows[i - 2]?.[j - 2] ?? 0) + 1);
      row.push(least);
    }
    rows.push(row);
  }
  return rows[a.length]?.[b.length] ?? 0;
}

/** Of names of types: this many letters off and they are a slip, more and they are another type. */
export const SLIP_LETTERS = 2;
