import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { nearest } from '../src/core/nearest.ts';

/** What `npm run bench` is asked for; all of it is looked at before anything is measured. */

/** The rows by what measures them; `--only` takes a word of a name. */
export const ROWS = {
  project: [
    ...[
      'raw http',
      'raw groups',
      'raw files',
      'raw ipc',
      'start claim',
      'start first task',
      'kill',
    ],
    ...['streams', 'enqueue single', 'enqueue batch', 'drain 1', 'drain 16', 'drain shared 16'],
    ...['drain sdk 16', 'carrier', 'store', 'spool', 'latency', 'idle', 'pages'],
  ],
  executable: ['version', 'start first', 'start later', 'idle'],
  compare: ['drain 16', 'drain 1', 'enqueue single', 'enqueue bulk', 'latency', 'start', 'idle'],
} as const;
export type Kind = keyof typeof ROWS;

export interface BenchOptions {
  readonly kind: Kind;
  readonly quick: boolean;
  /** Names of `ROWS[kind]`, in their order. */
  readonly chosen: readonly string[];
  /** Absolute. */
  readonly json?: string;
  /** Absolute. */
  readonly binary?: string;
}

/** The command line is wrong; the message says what and what next. */
export class UsageError extends Error {}

/** Like EX_USAGE of the other programs here. */
export const EXIT_USAGE = 64;

const FLAGS = {
  quick: { type: 'boolean' },
  only: { type: 'string' },
  json: { type: 'string' },
  binary: { type: 'string' },
  compare: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** @returns 'help' where that is asked for. Throws `UsageError`. */
export function readOptions(argv: readonly string[]): BenchOptions | 'help' {
  const { tokens } = parseArgs({ args: [...argv], options: FLAGS, strict: false, tokens: true });
  const given: Record<string, string | true> = {};
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional')
      throw new UsageError(
        `"${token.value}" is no option.${onlyOr(token.value)} npm run bench -- --help lists them.`,
      );
    const { name, rawName, value } = token;
    if (!Object.hasOwn(FLAGS, name)) {
      const meant = nearest(name, Object.keys(FLAGS));
      throw new UsageError(
        `There is no option ${rawName}.${meant ? ` Did you mean --${meant}?` : ''} npm run bench -- --help lists them.`,
      );
    }
    const takes = FLAGS[name as keyof typeof FLAGS].type === 'string';
    if (takes && (!value || (value.startsWith('--') && !token.inlineValue)))
      throw new UsageError(`--${name} needs a value: ${EXAMPLES[name]}.`);
    if (!takes && value !== undefined) throw new UsageError(`--${name} takes no value.`);
    if (given[name] !== undefined && takes)
      throw new UsageError(`--${name} is given more than once. Give it once.`);
    given[name] = value ?? true;
  }
  if (given.help) return 'help';
  const { only, json, binary, compare } = given as Record<string, string | undefined>;
  if (binary && compare)
    throw new UsageError('--compare and --binary are two different benches. Give one of them.');
  const kind = compare ? 'compare' : binary ? 'executable' : 'project';
  return {
    kind,
    quick: given.quick === true,
    chosen: rowsOf(kind, only),
    ...(json && { json: writable(json) }),
    ...(binary && { binary: executable(binary) }),
  };
}

const EXAMPLES: Record<string, string> = {
  only: '--only drain',
  json: '--json figures.json',
  binary: '--binary build/binary/interlock-worker-linux-x64',
};

/** `spool` alone is `--only spool`, most likely. */
function onlyOr(word: string): string {
  return ROWS.project.some((name) => name.includes(word)) ? ` Did you mean --only ${word}?` : '';
}

function rowsOf(kind: Kind, only = ''): string[] {
  const names: readonly string[] = ROWS[kind];
  const found = names.filter((name) => name.includes(only.toLowerCase()));
  if (found.length > 0) return found;
  const meant = nearest(only, words(kind));
  throw new UsageError(
    `No row has "${only}" in its name, so nothing would be measured.${meant ? ` Did you mean ${meant}?` : ''} The rows${kind === 'project' ? '' : ` with --${kind === 'compare' ? kind : 'binary'}`}: ${names.join(', ')}.`,
  );
}

function words(kind: Kind): string[] {
  return [...new Set(ROWS[kind].flatMap((name) => name.split(' ')))];
}

/** It is written when all is measured: ten minutes later is too late to learn that it cannot be. */
function writable(path: string): string {
  const file = resolve(path);
  const folder = dirname(file);
  const cannot = (why: string) =>
    new UsageError(`--json ${path} cannot be written: ${why}. Give a file that can be.`);
  if (!existsSync(folder)) throw cannot(`there is no folder ${folder}`);
  if (!statSync(folder).isDirectory()) throw cannot(`${folder} is no folder`);
  if (existsSync(file) && !statSync(file).isFile()) throw cannot('it is no file');
  try {
    accessSync(existsSync(file) ? file : folder, constants.W_OK);
  } catch {
    throw cannot('this user may not');
  }
  return file;
}

function executable(path: string): string {
  const file = resolve(path);
  const cannot = (why: string) =>
    new UsageError(
      `--binary ${path} ${why}. npm run binary makes one: build/binary/interlock-worker-<platform>.`,
    );
  if (!existsSync(file)) throw cannot('does not exist');
  if (!statSync(file).isFile()) throw cannot('is no file');
  try {
    accessSync(file, constants.X_OK);
  } catch {
    throw cannot('may not be executed by this user');
  }
  return file;
}

export const HELP = `npm run bench -- [options]: what the main job costs, with durability on

  --quick          fewer tasks and runs: two minutes, not ten; good for a first look only
  --only <word>    the rows whose name has the word
  --json <file>    keep the figures in a file too
  --compare        other queues (BullMQ, graphile-worker, pg-boss) in turns with this one
  --binary <path>  rows of a standalone executable
  -h, --help       this page

Rows                  ${folded(ROWS.project)}
Rows with --compare   ${folded(ROWS.compare)}
Rows with --binary    ${folded(ROWS.executable)}

Examples
  npm run bench -- --quick --only spool
  npm run bench -- --only drain --json figures.json
  npm run bench -- --compare --only "enqueue single"

Exit codes: 0 measured, 1 a row failed, ${EXIT_USAGE} the command line is wrong, 128 + n ended by signal n.
What the rows mean, and what to set: docs/performance.md.`;

/** Comma-separated, in lines that begin below the first. */
function folded(names: readonly string[]): string {
  const lines = [''];
  for (const [i, name] of names.entries()) {
    const word = name + (i < names.length - 1 ? ', ' : '');
    if ((lines.at(-1) ?? '').length + word.length > 76) lines.push('');
    lines[lines.length - 1] += word;
  }
  return lines.map((line) => line.trimEnd()).join(`\n${' '.repeat(22)}`);
}

/** What has to be known about the figures; each a line below the table. */
export function remarks(
  { kind, quick, chosen }: BenchOptions,
  { load, cores }: { load: number; cores: number },
): string[] {
  const noRaw = kind === 'project' && !chosen.some((name) => name.startsWith('raw'));
  return [
    ...(quick
      ? ['A quick run: few tasks and single rounds. For figures to compare, run without --quick.']
      : []),
    ...(load > cores
      ? [
          `The machine was busy (load ${load.toFixed(1)} on ${cores} cores at the start): rates and times say little, processor times and counts hold.`,
        ]
      : []),
    ...(noRaw
      ? ['Left out: the raw rows, which tell what the machine gives at most (--only raw).']
      : []),
  ];
}
