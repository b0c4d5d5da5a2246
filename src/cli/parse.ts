import yargs, { type Argv } from 'yargs';
import { VERSION } from '../contract/version.ts';
import type { Command } from './command.ts';
import { commandHelp, type Group, helpWidth, overview } from './help.ts';
import { type Flag, flagsOf } from './options.ts';
import { didYouMean, meantBy } from './suggest.ts';
import { usageError } from './usage.ts';

/** What a command line asks for. */
export type Parsed =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'command';
      readonly command: Command;
      /** By name, only what was typed. */
      readonly typed: Readonly<Record<string, string | readonly string[] | boolean>>;
      /** What stood after `--`, where the command takes that. */
      readonly rest: readonly string[];
    };

export interface Known {
  readonly commands: readonly Command[];
  readonly groups: readonly Group[];
  /** Of the terminal, for the width of help. */
  readonly columns: number | undefined;
}

/** Reads a command line. Throws `USAGE`, with what was most likely meant. */
export async function parseCommandLine(argv: readonly string[], known: Known): Promise<Parsed> {
  const at = argv.findIndex((arg) => !LEADING.has(arg));
  const line = at < 0 ? [] : [...argv.slice(at), ...argv.slice(0, at)];
  const [first] = line;
  if (first === '--version' || first === '-v') return text(VERSION);
  if (first === undefined || HELP.has(first)) return all(known, line[1]);

  const group = groupOf(line, known);
  const depth = group ? group.name.split(' ').length : 0;
  const next = line[depth];
  if (group && (next === undefined || HELP.has(next))) return all(known, group.name);
  const path = line.slice(0, depth + 1).join(' ');
  const command = known.commands.find((one) => one.path === path);
  if (!command) throw unknownCommand(path, group, known);
  return readCommand(command, line.slice(depth + 1), known.columns);
}

/** The innermost one that the line begins with: `tasks`, `tasks outbox`. */
function groupOf(line: readonly string[], { commands, groups }: Known): Group | undefined {
  const fits = ({ name }: Group) => {
    const words = name.split(' ');
    if (!words.every((word, i) => word === line[i])) return false;
    // `worker` is a command too: what follows says which is meant.
    const next = line[words.length];
    const alone = commands.some(({ path }) => path === name);
    return !alone || (next !== undefined && /^\w/.test(next));
  };
  return groups.filter(fits).sort((a, b) => b.name.length - a.name.length)[0];
}

/** What is ours of a command line: after `--` stands somebody else's. */
export function beforeRest(argv: readonly string[]): readonly string[] {
  const at = argv.indexOf('--');
  return at < 0 ? argv : argv.slice(0, at);
}

/** Reads what follows a command. */
export async function readCommand(
  command: Command,
  argv: readonly string[],
  columns: number | undefined,
  program?: string,
): Promise<Parsed> {
  const flags = flagsOf(command);
  const own = command.rest ? beforeRest(argv) : argv;
  const rest = argv.slice(own.length + 1);
  const parsed = (await commandParser(command, flags).parse([...own])) as Record<string, unknown>;
  if (parsed.help === true) return text(commandHelp(command, helpWidth(columns), program));
  return { kind: 'command', command, typed: checked(command, flags, parsed), rest };
}

function commandParser(command: Command, flags: readonly Flag[]): Argv {
  const parser = yargs()
    .locale('en')
    .exitProcess(false)
    .help(false)
    .version(false)
    .parserConfiguration({
      'parse-numbers': false,
      'parse-positional-numbers': false,
      'dot-notation': false,
      'camel-case-expansion': false,
      'greedy-arrays': false,
      'boolean-negation': false,
      'strip-aliased': true,
    })
    .option('help', { type: 'boolean', alias: 'h' })
    .fail((message: string | null, error: unknown) => {
      if (error instanceof Error && error.name !== 'YError') throw error;
      throw usageError(words(message ?? (error as Error | undefined)?.message ?? ''), command.path);
    });
  for (const { name, form, alias } of flags) {
    parser.option(name, {
      type: form === 'switch' ? 'boolean' : form === 'list' ? 'array' : 'string',
      ...(form !== 'switch' && { string: true, requiresArg: true }),
      ...(alias && { alias }),
    });
  }
  return parser;
}

/** What yargs says, in our words. */
function words(message: string): string {
  const flag = /^Not enough arguments following: (\S+)$/.exec(message)?.[1];
  if (flag) return `--${flag} needs a value.`;
  return message ? `${message}.` : 'The command line is wrong.';
}

/** Nothing unknown, nothing twice, nothing missing. */
function checked(
  command: Command,
  flags: readonly Flag[],
  argv: Record<string, unknown>,
): Record<string, string | string[] | boolean> {
  const typed: Record<string, string | string[] | boolean> = {};
  const words = (argv._ as unknown[]).map(String);
  const places = command.positionals ?? [];
  const extra = words[places.length];
  // Its flags would be taken for ours.
  if (extra !== undefined && command.rest)
    throw usageError(
      `${command.path} takes the ${command.rest.name} after --, with a blank on both sides: … -- ${words.slice(places.length).join(' ')}`,
      command.path,
    );
  for (const [name, value] of Object.entries(argv)) {
    if (name === '_' || name === '$0' || name === 'help' || value === undefined) continue;
    const flag = flags.find((one) => one.name === name);
    if (!flag) throw unknownFlag(command, flags, name);
    if (flag.form !== 'list' && Array.isArray(value))
      throw usageError(`--${name} is given more than once.`, command.path);
    typed[name] = flag.form === 'list' ? [value].flat().map(String) : (value as string | boolean);
  }
  for (const [i, { name, optional }] of places.entries()) {
    const word = words[i];
    if (word !== undefined) typed[name] = word;
    else if (!optional) throw usageError(`${command.path} needs <${name}>.`, command.path);
  }
  if (extra !== undefined) {
    const quoting = /\s/.test(words.join(' ')) ? '' : ' Text with spaces needs quotes.';
    throw usageError(`${command.path} does not take "${extra}".${quoting}`, command.path);
  }
  return typed;
}

function unknownFlag(command: Command, flags: readonly Flag[], name: string): Error {
  const names = flags.map((flag) => flag.name);
  const shown = name.length === 1 ? `-${name}` : `--${name}`;
  const meant = name.length === 1 ? '' : didYouMean(name, names, (n) => `--${n}`);
  return usageError(`${command.path} has no flag ${shown}.${meant}`, command.path);
}

function unknownCommand(path: string, group: Group | undefined, known: Known): Error {
  const [first = ''] = path.split(' ');
  const names = known.commands.map((command) => command.path);
  const tops = [
    ...names.filter((name) => !name.includes(' ')),
    ...known.groups.map(({ name }) => name),
  ];
  // `interlock submit` means `interlock tasks submit`.
  const inside = names.find((name) => name.endsWith(` ${first}`));
  if (WORKER_CHECK.has(path))
    return usageError(
      `There is no command "${path}". Did you mean interlock-worker --check${group ? '' : ', or config check'}?`,
      group?.name,
      'Run interlock-worker --check (the same as interlock worker --check); interlock-worker --help lists all its flags.',
    );
  const meant = group ? meantBy(path, names) : (inside ?? meantBy(first, tops));
  if (meant === undefined) return usageError(`There is no command "${path}".`, group?.name);
  return usageError(
    `There is no command "${path}". Did you mean ${meant}?`,
    group?.name,
    runInstead(known.commands.find((one) => one.path === meant) ?? meant),
  );
}

/** The command that was meant, as it is typed; a group has none of its own. What followed is not repeated: it may hold anything. */
function runInstead(meant: Command | string): string {
  if (typeof meant === 'string') return `Run interlock ${meant} --help for its commands.`;
  const takes = (meant.positionals ?? []).map(({ name, optional }) =>
    optional ? `[${name}]` : `<${name}>`,
  );
  return `Run ${['interlock', meant.path, ...takes].join(' ')}`;
}

function all({ commands, groups, columns }: Known, name: string | undefined): Parsed {
  const group = groups.find((one) => one.name === name);
  return text(overview(commands, group, helpWidth(columns)));
}

function text(value: string): Parsed {
  return { kind: 'text', text: `${value.trimEnd()}\n` };
}

/** Typed as a word, it is a flag of the worker. */
const WORKER_CHECK = new Set(['check', 'worker check']);
const HELP = new Set(['--help', '-h', 'help']);
/** Switches that may stand before the command. */
const LEADING = new Set(['--json', '--debug']);
