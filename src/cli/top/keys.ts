/** What a terminal sends, as keys: a character by itself, others by a name in capitals. Pure. */

export type Key = string;

const NAMED: Readonly<Record<string, Key>> = {
  '\r': 'ENTER',
  '\n': 'ENTER',
  '\t': 'TAB',
  '\u007f': 'BACKSPACE',
  '\b': 'BACKSPACE',
  '\u0003': 'CTRL-C',
  '\u0004': 'CTRL-D',
  '\u000c': 'CTRL-L',
  '\u0015': 'CTRL-U',
};
const SEQUENCES: Readonly<Record<string, Key>> = {
  A: 'UP',
  B: 'DOWN',
  C: 'RIGHT',
  D: 'LEFT',
  H: 'HOME',
  F: 'END',
  '1~': 'HOME',
  '7~': 'HOME',
  '4~': 'END',
  '8~': 'END',
  '5~': 'PAGE-UP',
  '6~': 'PAGE-DOWN',
};
const ESCAPE = '\u001b';
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what terminals send
const SEQUENCE = /^\u001b(?:\[([0-9:;<=>?]*[@-~])|O([A-Za-z]))/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what terminals send
const UNFINISHED = /^\u001b(?:\[[0-9:;<=>?]*|O)?$/;

/**
 * The keys in what came, and what may be the beginning of another one.
 * @param over nothing follows: a lone ESC is the key of that name.
 */
export function readKeys(text: string, over: boolean): { keys: Key[]; rest: string } {
  const keys: Key[] = [];
  for (let left = text; left !== ''; ) {
    if (left.startsWith(ESCAPE)) {
      const [all, bracket, letter] = SEQUENCE.exec(left) ?? [];
      if (all !== undefined) {
        // Others mean nothing here, and are no text either.
        const key = SEQUENCES[bracket ?? letter ?? ''];
        if (key !== undefined) keys.push(key);
        left = left.slice(all.length);
        continue;
      }
      if (!over && UNFINISHED.test(left)) return { keys, rest: left };
      keys.push('ESCAPE');
      left = UNFINISHED.test(left) ? '' : left.slice(1);
      continue;
    }
    const [first = ''] = left;
    left = left.slice(first.length);
    const named = NAMED[first];
    if (named !== undefined) keys.push(named);
    else if (first >= ' ') keys.push(first);
  }
  return { keys, rest: '' };
}
