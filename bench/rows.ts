/** What a measurement says, and the small sums over it. */
export interface Row {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** What the project aims at, where it aims at something. */
  readonly aim?: string;
  /** Printed after the value: what it cost beside time. */
  readonly note?: string;
}

/** What measures a row of the bench, or several. */
export interface Measure {
  readonly run: () => Promise<Row | readonly Row[]>;
}

export function percentile(list: readonly number[], p: number): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))] ?? Number.NaN;
}

export const median = (list: readonly number[]): number => percentile(list, 0.5);

/** What stands beside a figure. */
export const medianOf = (times: number): string =>
  times === 1 ? 'one round' : `median of ${times}`;

/** The median of several rounds: one is noise on a machine that does other work too. */
export async function rounds(count: number, once: () => Promise<number>): Promise<number> {
  const seen: number[] = [];
  for (let i = 0; i < count; i++) seen.push(await once());
  return median(seen);
}

export function shown(value: number): string {
  if (Number.isNaN(value)) return '–';
  return value >= 1000 ? Math.round(value).toString() : value.toFixed(value >= 100 ? 0 : 2);
}

export function print(row: Row): void {
  const rest = [row.aim && `aim ${row.aim}`, row.note].filter(Boolean).join('; ');
  console.log(
    `${row.what.padEnd(70)} ${shown(row.value).padStart(9)} ${row.unit.padEnd(10)} ${rest}`.trimEnd(),
  );
}
