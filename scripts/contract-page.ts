/** A case of a kit, as far as the page tells it. */
export interface Checker {
  readonly name: string;
  readonly promises: readonly string[];
}

/** What stands beside the cases: reasons, and what is not served yet. */
export interface Beside {
  readonly unseen: Readonly<Record<string, { readonly why: string; readonly test: string }>>;
  readonly unserved: readonly string[];
}

const PROMISE = /^- \*\*(\d+\.\d+)\*\* /;
const OURS = /^ {2}<sub>.*<\/sub>$/;

/** The specification with a line under each promise that says who checks it; lines of an earlier run go. */
export function contractPage(page: string, checkers: readonly Checker[], beside: Beside): string {
  const names = new Map<string, string[]>();
  for (const { name, promises } of checkers)
    for (const number of promises) names.set(number, [...(names.get(number) ?? []), name]);
  const lines = page.split('\n').filter((line) => !OURS.test(line));
  return lines
    .flatMap((line) => {
      const [, number] = PROMISE.exec(line) ?? [];
      if (number === undefined) return [line];
      const says = wordsFor(names.get(number), number, beside);
      return says === undefined ? [line] : [line, `  <sub>${says}</sub>`];
    })
    .join('\n');
}

function wordsFor(
  names: readonly string[] | undefined,
  number: string,
  { unseen, unserved }: Beside,
): string | undefined {
  if (names) return `Checked by: ${[...new Set(names)].map((name) => `\`${name}\``).join(', ')}`;
  const reason = unseen[number];
  if (reason) return `Not seen from outside: ${reason.why}; ${reason.test}`;
  return unserved.includes(number) ? 'Not served yet.' : undefined;
}
