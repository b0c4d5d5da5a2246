import { plain, type Style } from './style.ts';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  readonly align?: 'right';
  readonly paint?: (row: Row, text: string) => string;
}

/**
 * Lines of a table, columns as wide as their widest cell. @param columns of the terminal: the last column is cut to
 * fit; `undefined` (a file, a pipe) cuts nothing. @param kept widths of the pages before, so that pages align; they
 * are updated.
 */
export function tableLines<Row>(
  rows: readonly Row[],
  table: readonly Column<Row>[],
  style: Style,
  columns: number | undefined,
  kept: number[] = [],
): string[] {
  const cells = rows.map((row) => table.map(({ cell }) => plain(cell(row))));
  const widths = table.map(({ title }, i) =>
    cells.reduce(
      (widest, row) => Math.max(widest, (row[i] as string).length),
      Math.max(title.length, kept[i] ?? 0),
    ),
  );
  kept.splice(0, kept.length, ...widths);
  const pad = (text: string, i: number) => {
    if (table[i]?.align === 'right') return text.padStart(widths[i] ?? 0);
    return i === table.length - 1 ? text : text.padEnd(widths[i] ?? 0);
  };
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0);
  const room = columns === undefined ? Number.POSITIVE_INFINITY : Math.max(8, columns - before);
  const cut = (text: string, i: number) =>
    i === table.length - 1 && text.length > room ? `${text.slice(0, room - 1)}…` : text;
  const head = table.map(({ title }, i) => pad(title, i)).join(GAP);
  return [
    style.faint(head.trimEnd()),
    ...cells.map((row, r) =>
      row
        .map((text, i) => {
          const shown = pad(cut(text, i), i);
          const paint = table[i]?.paint;
          return paint ? paint(rows[r] as Row, shown) : shown;
        })
        .join(GAP)
        .trimEnd(),
    ),
  ];
}

/** `name   value` lines; what is `undefined` is left out. */
export function factLines(
  facts: readonly (readonly [string, string | undefined])[],
  style: Style,
): string[] {
  const shown = facts.filter((fact): fact is [string, string] => fact[1] !== undefined);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${style.faint(name.padEnd(width))}${GAP}${value}`);
}

const GAP = '  ';
