/** A command line of Node.js, as far as it may stand behind the executable. */
export interface NodeWords {
  /** What is asked for: the script is the first of `rest`; a text comes from the command line; `stdin` has one too. */
  readonly does:
    | 'script'
    | 'stdin'
    | 'repl'
    | 'version'
    | 'check'
    | { readonly code: string; readonly name: '[eval]'; readonly print: boolean };
  /** The value of what comes from standard input is written too. */
  readonly print: boolean;
  /** The script and its arguments, or the arguments alone. */
  readonly rest: readonly string[];
  /** Options that Node can take only at its start, as typed. */
  readonly options: readonly string[];
  /** The command line without them. */
  readonly kept: readonly string[];
  readonly inputType?: string;
  readonly envFiles: readonly string[];
  /** Why it cannot be run, in words. */
  readonly refused?: string;
}

/** What our executable gives itself: said again by nobody's will, as Node's `fork` repeats it. */
const OURS = '--disable-warning=ExperimentalWarning';

/** @param allowed what NODE_OPTIONS takes. @param terminal standard input is a person's. */
export function readNodeWords(
  argv: readonly string[],
  { allowed, terminal }: { allowed: { has(name: string): boolean }; terminal: boolean },
): NodeWords {
  const options: string[] = [];
  const kept: string[] = [];
  const envFiles: string[] = [];
  let inputType: string | undefined;
  let code: string | undefined;
  let print = false;
  let asks: 'version' | 'check' | 'repl' | undefined;
  let refused: string | undefined;
  let i = 0;
  for (; i < argv.length && refused === undefined; i++) {
    const word = argv[i] as string;
    if (word === '--' || word === '-' || !word.startsWith('-')) break;
    const [name = '', joined] = word.split(/=(.*)/s);
    const value = () => {
      if (joined !== undefined) return joined;
      i += 1;
      if (i >= argv.length) refused = `${name} requires an argument.`;
      return argv[i] ?? '';
    };
    const from = i;
    const option = WORDS[name];
    if (word === OURS) continue;
    if (option === 'eval') code = value();
    else if (option === 'print') {
      print = true;
      const next = argv[i + 1];
      if (name === '-pe' || (next !== undefined && !next.startsWith('-'))) code = value();
    } else if (option === 'input-type') inputType = value();
    else if (option === 'env-file') envFiles.push(value());
    else if (option !== undefined) asks = option;
    else if (allowed.has(name)) {
      const typed = [word];
      if (joined === undefined && takesValue(name)) typed.push(value());
      options.push(...typed);
      continue;
    } else refused = notKnown(word);
    kept.push(...argv.slice(from, i + 1));
  }
  kept.push(...argv.slice(i));
  const marked = argv[i] === '--';
  const rest = argv.slice(marked ? i + 1 : i);
  const stdin = !marked && rest[0] === '-';
  const does = (): NodeWords['does'] => {
    if (asks === 'version') return 'version';
    if (code !== undefined) return { code, name: '[eval]', print };
    if (asks === 'check') return 'check';
    if (asks === 'repl') return 'repl';
    if (rest.length > 0 && !stdin) return 'script';
    return terminal && !stdin ? 'repl' : 'stdin';
  };
  return {
    does: does(),
    rest,
    options,
    kept,
    envFiles,
    print,
    ...(inputType !== undefined && { inputType }),
    ...(refused !== undefined && { refused }),
  };
}

const WORDS: Readonly<
  Record<string, 'eval' | 'print' | 'input-type' | 'env-file' | 'version' | 'check' | 'repl'>
> = {
  '-e': 'eval',
  '--eval': 'eval',
  '-p': 'print',
  '--print': 'print',
  '-pe': 'print',
  '--input-type': 'input-type',
  '--env-file': 'env-file',
  '-v': 'version',
  '--version': 'version',
  '-c': 'check',
  '--check': 'check',
  '-i': 'repl',
  '--interactive': 'repl',
};

/** Of those that NODE_OPTIONS takes: whose value may be the next word. */
function takesValue(name: string): boolean {
  return VALUED.has(name);
}

const VALUED: ReadonlySet<string> = new Set([
  '-C',
  '--conditions',
  '--diagnostic-dir',
  '--disable-warning',
  '--dns-result-order',
  '--experimental-loader',
  '--heapsnapshot-signal',
  '--icu-data-dir',
  '--import',
  '--inspect-port',
  '--loader',
  '--max-http-header-size',
  '--max-old-space-size',
  '--max-semi-space-size',
  '--openssl-config',
  '--redirect-warnings',
  '-r',
  '--require',
  '--stack-trace-limit',
  '--title',
  '--tls-cipher-list',
  '--tls-keylog',
  '--unhandled-rejections',
]);

function notKnown(word: string): string {
  return `this option of Node.js is not known, or not possible, in a single executable: ${word}`;
}
