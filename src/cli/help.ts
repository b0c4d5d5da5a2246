import type { Command } from './command.ts';
import { type Flag, flagsOf } from './options.ts';

export interface Group {
  /** `tasks`. */
  readonly name: string;
  readonly summary: string;
}

/** The page of one command. @param program as it was called: `interlock`, `interlock-worker`. */
export function commandHelp(command: Command, width: number, program = 'interlock'): string {
  const { rest } = command;
  const words = [
    command.path,
    ...(command.positionals ?? []).map(placeholder),
    '[options]',
    ...(rest ? [`-- <${rest.name}>`] : []),
  ];
  const usage = program === 'interlock' ? [program, ...words] : [program, '[options]'];
  const lines = [usage.join(' '), '', ...wrapped(command.description ?? command.summary, width, 2)];
  const positionals = (command.positionals ?? []).map((one): Row => [placeholder(one), one.help]);
  if (rest) positionals.push([`-- <${rest.name}>`, rest.help]);
  if (positionals.length > 0) lines.push('', ...rows(positionals, width));
  const flags = [...flagsOf(command), HELP];
  for (const group of GROUPS) {
    const of = flags.filter((flag) => flag.group === group);
    if (of.length > 0) lines.push('', group, ...rows(of.map(flagRow), width));
  }
  lines.push('', 'Examples');
  for (const [line, what] of command.examples) {
    const start = program === 'interlock' ? `interlock ${line}` : line.replace(/^\S+/, program);
    lines.push(`  ${start}`, ...(what ? [`      ${what}`] : []));
  }
  return `${lines.join('\n')}\n`;
}

/** The page of everything, or of one group. */
export function overview(
  commands: readonly Command[],
  group: Group | undefined,
  width: number,
): string {
  const shown = commands.filter(({ path }) => !group || path.startsWith(`${group.name} `));
  const lines = [
    `interlock ${group ? `${group.name} ` : ''}<command>`,
    '',
    ...wrapped(group?.summary ?? ABOUT, width, 2),
    '',
    ...rows(
      shown.map(
        ({ path, positionals, summary }): Row => [
          [path, ...(positionals ?? []).map(placeholder)].join(' '),
          summary,
        ],
      ),
      width,
    ),
    '',
    '  interlock <command> --help   what it takes, with examples',
    '  interlock --version          which version this is',
    '',
    '  Settings, keys, signals and exit codes: docs/operations.md',
  ];
  return `${lines.join('\n')}\n`;
}

/** How wide help may be on a terminal of that many columns. */
export function helpWidth(columns: number | undefined): number {
  return Math.min(100, Math.max(60, columns ?? 100));
}

type Row = readonly [string, string];

function flagRow({ name, alias, argument, form, help }: Flag): Row {
  const value = form === 'switch' ? '' : ` <${argument ?? 'value'}>`;
  return [`${alias ? `-${alias}, ` : ''}--${name}${value}`, help];
}

/** Two columns; a left part that is too wide has a line of its own. */
function rows(all: readonly Row[], width: number): string[] {
  const left = Math.min(LEFT_MAX, Math.max(...all.map(([name]) => name.length))) + 2;
  return all.flatMap(([name, text]) => {
    const [first = '', ...rest] = wrapped(text, width, left + 2);
    const own = name.length > left - 2;
    return [
      ...(own ? [`  ${name}`, first] : [`  ${name.padEnd(left)}${first.trimStart()}`]),
      ...rest,
    ];
  });
}

/** Lines of at most `width`, indented; line breaks of the text stay. */
function wrapped(text: string, width: number, indent: number): string[] {
  const margin = ' '.repeat(indent);
  return text.split('\n').flatMap((paragraph) => {
    const lead = /^ */.exec(paragraph)?.[0] ?? '';
    const lines: string[] = [];
    let line = lead;
    for (const word of paragraph.trim().split(' ')) {
      const longer = line.trim() === '' ? `${line}${word}` : `${line} ${word}`;
      if (longer.length + indent > width && line.trim() !== '') {
        lines.push(margin + line);
        line = lead + word;
      } else line = longer;
    }
    return [...lines, (margin + line).trimEnd()];
  });
}

export function placeholder({ name, optional }: { name: string; optional?: true }): string {
  return optional ? `[${name}]` : `<${name}>`;
}

const ABOUT = 'Tasks that survive crashes: submit them, work on them, look after them.';
const GROUPS = ['Options', 'Settings', 'Common'];
const HELP: Flag = { name: 'help', alias: 'h', form: 'switch', help: 'This page', group: 'Common' };
const LEFT_MAX = 28;
