/** A row of the table in docs/write-your-own-worker.md that tells what the kit says of the first worker. */
export interface Row {
  readonly group: string;
  readonly passed: number;
  readonly total: number;
  /** Those that it fails, and those that are not for it. */
  readonly cases: readonly string[];
}

/** The rows between the two marks of the page. */
export function firstWorkerRows(page: string): readonly Row[] {
  const [, table = ''] = /<!-- first worker -->(.*?)<!-- end of first worker -->/s.exec(page) ?? [];
  return [...table.matchAll(/^\| `([\w-]+)` \| (\d+) of (\d+) \| (.*) \|$/gm)].map(
    ([, group = '', passed, total, rest = '']) => ({
      group,
      passed: Number(passed),
      total: Number(total),
      cases: [...rest.matchAll(/`([\w-]+)`/g)].map(([, name = '']) => `${group}/${name}`),
    }),
  );
}
