import { resolve } from 'node:path';
import { hideSecretsIn } from '../../contract/hidden.ts';
import { TaskError } from '../../contract/index.ts';
import { type Command, defineCommand } from '../command.ts';
import { type ConfigReport, checkConfig } from '../config-checks.ts';
import { readConfigFile, sentence } from '../config-file.ts';
import type { ConfigProblem } from '../config-shape.ts';
import { saidFile, type Typed } from '../main.ts';
import type { Surroundings } from '../setting-table.ts';
import { plain, type Style } from '../style.ts';
import { usageError } from '../usage.ts';
import { commandFor } from './config-print.ts';

export const configCheck = defineCommand({
  path: 'config check',
  summary: 'Check a config file: names, forms and values, all that is wrong at once',
  description:
    'Check a config file: names, forms and values, all that is wrong at once. Ends with 0, or with 78 if something is wrong; warnings do not count. Nothing else is read: flags, variables and the profile are of no matter.',
  looksItself: true,
  positionals: [
    { name: 'file', help: 'The file [that of --config or INTERLOCK_CONFIG]', optional: true },
  ],
  options: {
    for: {
      form: 'text',
      argument: 'command',
      help: 'Warn of what this command does not read: worker, control-plane … [none: a file may serve several]',
    },
  },
  examples: [
    ['config check worker.toml', ''],
    ['config check --for worker /etc/interlock/worker.toml', 'and what does nothing for a worker'],
  ],
  async run({ args, io, json, style, sources }) {
    const typed = sources.flags as Typed;
    const named = args.file ?? saidFile('config', 'INTERLOCK_CONFIG', typed, io);
    if (named === undefined)
      throw usageError('config check needs a file, and --config names none.', 'config check');
    const reader = args.for === undefined ? undefined : await commandFor(args.for, 'config check');
    const report = hideSecretsIn(await look(resolve(io.cwd, named), sources.around, reader));
    const ok = report.problems.length === 0;
    if (json) await io.out.line(JSON.stringify({ ok, ...report }));
    else for (const line of reportLines(report, style)) await io.out.line(line);
    return ok ? 'ok' : 'configuration';
  },
});

/** A file that cannot be read or parsed has one problem: that. */
async function look(
  file: string,
  around: Surroundings,
  reader: Command | undefined,
): Promise<ConfigReport> {
  try {
    return checkConfig(await readConfigFile(file), around, reader);
  } catch (error) {
    const problems = error instanceof TaskError ? error.details?.problems : undefined;
    if (problems === undefined) throw error;
    return { file, problems: problems as ConfigProblem[], warnings: [] };
  }
}

function reportLines({ file, problems, warnings }: ConfigReport, style: Style): string[] {
  const told = (word: string, problem: ConfigProblem) => {
    const { line, column, hint } = problem;
    const place = line === undefined ? '' : `line ${line}${column ? `, column ${column}` : ''}: `;
    return [`${word}  ${place}${plain(sentence(problem))}`, `       ${style.faint(plain(hint))}`];
  };
  const count = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;
  const warned = warnings.length === 0 ? '' : `, ${count(warnings.length, 'warning')}`;
  return [
    ...problems.flatMap((problem) => told(style.bad('wrong'), problem)),
    ...warnings.flatMap((problem) => told(style.warn('warn '), problem)),
    problems.length === 0
      ? style.good(`${file} is well${warned}.`)
      : style.bad(`${file}: ${count(problems.length, 'problem')}${warned}.`),
  ];
}
