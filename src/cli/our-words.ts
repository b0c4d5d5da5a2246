import { basename } from 'node:path';

/**
 * A process that a handler has started, with the executable as its program: is it our program that is meant, or a script of
 * the handler's? In this order:
 *
 * 1. by a name of ours that is not `process.execPath` (from the PATH, through a link): our program;
 * 2. without a word, or with an option first: Node.js;
 * 3. a word that is a script on the disk: Node.js;
 * 4. one of our first words: our program;
 * 5. anything else: Node.js, which says that it does not find it.
 *
 * What came by `fork()` is always a script; whoever calls this has looked.
 */
export function isOurs(
  typed: string,
  argv: readonly string[],
  { execPath, isScript }: { execPath: string; isScript(word: string): boolean },
): boolean {
  const itself = typed === execPath || /^\/proc\/(?:self|\d+)\/exe$/.test(typed);
  if (!itself && basename(typed).startsWith('interlock')) return true;
  const [first = ''] = argv;
  if (first === '' || first.startsWith('-') || isScript(first)) return false;
  return OUR_WORDS.has(first);
}

/** The names of our programs, and each first word behind them (a test compares them with the list of commands). */
export const OUR_WORDS: ReadonlySet<string> = new Set([
  'interlock',
  'interlock-worker',
  'config',
  'conformance',
  'control-plane',
  'dev',
  'keys',
  'service',
  'spool',
  'status',
  'tasks',
  'update',
  'worker',
]);
