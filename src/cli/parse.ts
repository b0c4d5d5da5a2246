import yargs, { type Argv } from 'yargs';
import type { Command, Positional } from './command.ts';
import { type Flag, flagsOf } from './options.ts';
import { didYouMean } from './suggest.ts';
import { usageError } from './usage.ts';
import { VERSION } from './version.ts';

/** What a command line asks for. */
export type Parsed =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'command';
      readonly command: Command;
      /** By name, only what was typed. */
      readonly typed: Readonly<Record<string, string | readonly string[] | boolean>>;
    };

export interface Group {
  /** `tasks`. */
  readonly name: string;
  readonly summary: string;
}

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
  const [first, second] = line;
  if (first === '--version' || first === '-v') return text(VERSION);
  if (first === undefined || HELP.has(first)) return text(await overview(known, line[1]));

  const group = known.groups.find(({ name }) => name === first);
  if (group && (second === undefined || HELP.has(second)))
    return text(await overview(known, first));
  const path = group ? `${first} ${second}` : first;
  const command = known.commands.find((one) => one.path === path);
  if (!command) throw unknownCommand(path, group, known);
  return readCommand(command, line.slice(group ? 2 : 1), known.columns);
}

/** Reads what follows a command. */
export async function readCommand(
  command: Command,
  argv: readonly string[],
  columns: number | undefined,
): Promise<Parsed> {
  const flags = flagsOf(command);
  const parser = commandParser(command, flags, columns);
  let output = '';
  const argvTyped = (await parser.parse(
    [...argv],
    {},
    (_error: unknown, _argv: unknown, said: string) => {
      output = said;
    },
  )) as Record<string, unknown>;
  if (output) return text(output);
  return { kind: 'command', command, typed: checked(command, flags, argvTyped) };
}

function commandParser(
  command: Command,
  flags: readonly Flag[],
  columns: number | undefined,
): Argv {
  const usage = [
    `interlock ${command.path}`,
    ...(command.positionals ?? []).map(placeholder),
    '[options]',
  ];
  const words = (command.positionals ?? []).map(({ name, help }) => `  <${name}>  ${help}`);
  const parser = plain(columns).usage(
    [usage.join(' '), command.description ?? command.summary, words.join('\n')]
      .filter(Boolean)
      .join('\n\n'),
  );
  for (const { name, form, help, alias, group } of flags) {
    parser.option(name, {
      type: form === 'switch' ? 'boolean' : form === 'list' ? 'array' : 'string',
      ...(form !== 'switch' && { string: true, requiresArg: true }),
      ...(alias && { alias }),
      describe: help,
      group: `${group}:`,
    });
  }
  for (const [line, what] of command.examples) parser.example(`interlock ${line}`, what);
  return parser;
}

/** Everything there is, or everything of a group. */
async function overview({ commands, groups, columns }: Known, name?: string): Promise<string> {
  const group = groups.find((one) => one.name === name);
  const parser = plain(columns).usage(
    group
      ? `interlock ${group.name} <command>\n\n${group.summary}`
      : 'interlock <command>\n\nTasks that survive crashes: submit them, work on them, look after them.',
  );
  for (const { path, positionals, summary } of commands) {
    if (group && !path.startsWith(`${group.name} `)) continue;
    parser.command([path, ...(positionals ?? []).map(placeholder)].join(' '), summary);
  }
  parser.epilogue(
    'interlock <command> --help tells what a command takes, with examples.\nSettings and exit codes: docs/operations.md',
  );
  return parser.getHelp();
}

function plain(columns: number | undefined): Argv {
  return yargs()
    .scriptName('interlock')
    .locale('en')
    .exitProcess(false)
    .showHelpOnFail(false)
    .help('help')
    .alias('help', 'h')
    .version(false)
    .wrap(Math.min(110, Math.max(60, columns ?? 100)))
    .parserConfiguration({
      'parse-numbers': false,
      'parse-positional-numbers': false,
      'dot-notation': false,
      'camel-case-expansion': false,
      'greedy-arrays': false,
      'boolean-negation': false,
      'strip-aliased': true,
    })
    .fail((message: string | null, error: unknown) => {
      throw error instanceof Error
        ? error
        : usageError(`${message ?? 'The command line is wrong'}.`);
    });
}

/** Nothing unknown, nothing twice, nothing missing. */
function checked(
  command: Command,
  flags: readonly Flag[],
  argv: Record<string, unknown>,
): Record<string, string | string[] | boolean> {
  const typed: Record<string, string | string[] | boolean> = {};
  for (const [name, value] of Object.entries(argv)) {
    if (name === '_' || name === '$0' || name === 'help' || value === undefined) continue;
    const flag = flags.find((one) => one.name === name);
    if (!flag) throw unknownFlag(command, flags, name);
    if (flag.form !== 'list' && Array.isArray(value))
      throw usageError(`--${name} is given more than once.`, command.path);
    typed[name] = flag.form === 'list' ? [value].flat().map(String) : (value as string | boolean);
  }
  const words = (argv._ as unknown[]).map(String);
  const places = command.positionals ?? [];
  for (const [i, { name, optional }] of places.entries()) {
    const word = words[i];
    if (word !== undefined) typed[name] = word;
    else if (!optional) throw usageError(`${command.path} needs <${name}>.`, command.path);
  }
  const extra = words[places.length];
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
  const meant = group
    ? didYouMean(path, names)
    : inside
      ? ` Did you mean ${inside}?`
      : didYouMean(first, tops);
  return usageError(`There is no command "${path}".${meant}`, group?.name);
}

function placeholder({ name, optional }: Positional): string {
  return optional ? `[${name}]` : `<${name}>`;
}

function text(value: string): Parsed {
  return { kind: 'text', text: `${value.trimEnd()}\n` };
}

const HELP = new Set(['--help', '-h', 'help']);
/** Switches that may stand before the command. */
const LEADING = new Set(['--json', '--debug']);
