import specification from '../../docs/contract.md';

/** One numbered line of `docs/contract.md`. */
export interface Promised {
  /** `1.3`: never changes, never comes to mean something else. */
  readonly number: string;
  /** Title of its section: `Truth and fencing`. */
  readonly section: string;
  /** One sentence, without markdown marks. Its subject is who keeps it. */
  readonly text: string;
}

const SECTION = /^## \d+\. (.+)$/;
/** Public for what writes into the page: a promise's number and its sentence. */
export const PROMISE = /^- \*\*(\d+\.\d+)\*\* (.+)$/;

/** Reads the numbered lines of a specification, in their order. A number that stands twice is a throw. */
export function readPromises(page: string): ReadonlyMap<string, Promised> {
  const found = new Map<string, Promised>();
  let section = '';
  for (const line of page.split('\n')) {
    section = SECTION.exec(line)?.[1] ?? section;
    const [, number, sentence] = PROMISE.exec(line) ?? [];
    if (number === undefined || sentence === undefined) continue;
    if (found.has(number)) throw new Error(`Promise ${number} stands twice in docs/contract.md.`);
    found.set(number, { number, section, text: plain(sentence) });
  }
  return found;
}

/** The contract's promises by number, as of this version of the package. */
export const promises: ReadonlyMap<string, Promised> = readPromises(specification);

/** For a terminal: no marks of code, emphasis, links, and no sign of a fixed name. */
function plain(markdown: string): string {
  return markdown
    .replace(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .replace(/ \u2020/g, '')
    .replace(/(?<!\w)\*([^*]+)\*(?!\w)/g, '$1')
    .replace(/`/g, '');
}
