/**
 * File names of handlers, purely: which file is which `type@version`, which names are none, which collide.
 */
import { bounds } from '../contract/limits.ts';
import { parseTypeKey, typeNameProblem } from '../contract/type-key.ts';

/** Endings of handler files. */
const ENDINGS = /\.(mjs|js|cjs|ts)$/;
/** Endings that look like code but are not taken, so that nobody waits for such a file in vain. */
const OTHER_ENDINGS = /\.(mts|cts|jsx|tsx)$/;

export type NameRead =
  | { readonly is: 'handler'; readonly type: string; readonly schemaVersion: number }
  /** A library, a test, a note: nothing to do with it. */
  | { readonly is: 'other' }
  | { readonly is: 'bad'; readonly message: string; readonly hint: string };

/** Reads a path below the handlers folder, with `/` between segments. */
export function readName(path: string): NameRead {
  const file = path.slice(path.lastIndexOf('/') + 1);
  if (file.endsWith('.d.ts') || /\.(test|spec)\.\w+$/.test(file)) return { is: 'other' };
  const stem = path.replace(ENDINGS, '');
  const versioned = /@\d+$/;
  if (stem === path) {
    const other = path.replace(OTHER_ENDINGS, '');
    if (other === path || !versioned.test(other)) return { is: 'other' };
    return bad('its ending is not one of .mjs, .js, .cjs, .ts', 'Rename it, or compile it.');
  }
  if (!file.includes('@')) return { is: 'other' };
  const at = stem.lastIndexOf('@');
  const [type, version] = [stem.slice(0, at), stem.slice(at + 1)];
  if (!/^[1-9]\d{0,9}$/.test(version)) {
    return bad(
      `its version ${JSON.stringify(version)} is no whole number from 1`,
      'Name it <type>@<version>, such as demo/hello@1.ts; a library beside handlers has no "@" in its name.',
    );
  }
  const key = parseTypeKey(stem);
  if (key) return { is: 'handler', ...key };
  const hint =
    'Rename it; letters are a–z and A–Z, without accents. A library beside handlers has no "@" in its name.';
  if (type.length > bounds.typeChars) {
    return bad(`its type has more than ${bounds.typeChars} characters`, hint);
  }
  return bad(`${spelled(type)} is no type: it ${typeNameProblem(type) ?? 'is empty'}`, hint);
}

function bad(message: string, hint: string): NameRead {
  return { is: 'bad', message, hint };
}

/** A name as it is seen, and with its unusual characters by number: `"café" ("cafe\u0301")`. */
function spelled(name: string): string {
  const seen = JSON.stringify(name);
  const plain = seen.replace(
    /[^\x20-\x7e]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return plain === seen ? seen : `${seen} (${plain})`;
}

/** Groups of two and more names that a folder may take for one: they differ in case only. */
export function caseClashes(names: readonly string[]): string[][] {
  const groups = new Map<string, Set<string>>();
  for (const name of names) {
    const folded = name.normalize('NFC').toLowerCase();
    const group = groups.get(folded) ?? new Set();
    groups.set(folded, group.add(name));
  }
  return [...groups.values()].filter((group) => group.size > 1).map((group) => [...group].sort());
}
