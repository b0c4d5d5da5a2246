import { hideSecretsIn } from '../../contract/hidden.ts';
import { TaskError } from '../../contract/index.ts';
import { proxyFromEnvironment } from '../../wire/proxy.ts';
import { type Call, type Command, defineCommand } from '../command.ts';
import { configError, sentence } from '../config-file.ts';
import {
  effectiveKeys,
  effectiveRoute,
  effectiveSettings,
  strayVariables,
  unusedNames,
  wordsOf,
} from '../effective.ts';
import { missingWords } from '../keys.ts';
import { lookAtSources, type Sources, type Typed } from '../main.ts';
import { settingNames, settingTable } from '../setting-table.ts';
import { findSetting } from '../settings.ts';
import { plain } from '../style.ts';
import { usageError } from '../usage.ts';
import { type Effective, effectiveLines, effectiveToml } from '../views/effective.ts';

export const configPrint = defineCommand({
  path: 'config print',
  summary: 'Show every setting that a command would run with, and where each comes from',
  description:
    'Show every setting that a command would run with, and where each comes from. Give it the flags and variables that the command is started with. Keys and passwords are never shown. Ends with 64 if a setting is not valid, 78 if the config file is wrong.',
  looksItself: true,
  options: {
    for: {
      form: 'text',
      argument: 'command',
      help: 'The command: worker, control-plane, "tasks submit" … [worker]',
    },
    toml: { form: 'switch', help: 'As a config file that gives the same' },
  },
  settings: settingNames,
  examples: [
    ['config print', 'what a worker would run with that is started here'],
    ['config print --for control-plane --config /etc/interlock/interlock.toml', ''],
    ['config print --max-concurrent 4 --toml > worker.toml', 'flags become a file'],
  ],
  async run(call) {
    const { args, io, json, style } = call;
    if (args.toml && json) throw usageError('--toml and --json are two answers.', 'config print');
    const typed = call.sources.flags as Typed;
    const command = await commandFor(args.for ?? 'worker', 'config print');
    refuseForeignFlags(command, typed);
    const looked = await lookAtSources(typed, io);
    const found = safe(await effectiveOf(command, looked, call));
    const text = json
      ? `${JSON.stringify(found)}\n`
      : args.toml
        ? await effectiveToml(found)
        : effectiveLines(found, style, io.columns)
            .map((line) => `${line}\n`)
            .join('');
    await io.out.write(text);
    const { config } = looked;
    // Told again on stderr, where a script that keeps stdout sees it.
    if (config && config.problems.length > 0) throw configError(config);
    const wrong = found.settings.filter(({ problem }) => problem !== undefined);
    if (wrong.length === 0 && !found.route?.problem) return 'ok';
    const [first] = wrong;
    if (!json && !args.toml) return 'usage';
    throw first
      ? new TaskError('SETTING_INVALID', first.problem ?? '', { hint: first.next })
      : new TaskError('INVALID_PROXY', found.route?.problem ?? '');
  },
});

/** The command that is meant, by its path. Rejects with `USAGE`. */
export async function commandFor(path: string, asker: string): Promise<Command> {
  // The list has this very command in it.
  const { commands } = await import('../commands.ts');
  const name = path.replace(/^interlock-worker$/, 'worker').replace(/^interlock /, '');
  const found = commands.find((one) => one.path === name);
  if (found?.settings?.length && !found.looksItself) return found;
  const names = commands.filter(({ settings, looksItself }) => settings?.length && !looksItself);
  throw usageError(
    `--for "${path}" is no command with settings.`,
    asker,
    `Those are: ${names.map((one) => one.path).join(', ')}.`,
  );
}

/** A flag that the command would refuse must not look as if it were taken. */
function refuseForeignFlags(command: Command, typed: Typed): void {
  for (const name of settingNames) {
    const { flag } = settingTable[name];
    if (typed[flag] === undefined || command.settings?.includes(name)) continue;
    throw usageError(`${command.path} has no flag --${flag}.`, command.path);
  }
}

/** Values that hold a key or a password are refused as settings; names of files and variables may hold them too. */
function safe({ settings, route, ...more }: Effective): Effective {
  return {
    ...hideSecretsIn(more),
    settings: settings.map(({ value, shown, ...one }) => ({ ...hideSecretsIn(one), value, shown })),
    // It never repeats what it is made of, and its hint shows how a password is written.
    ...(route !== undefined && { route }),
  };
}

async function effectiveOf(
  command: Command,
  { sources, profile, ignored, config }: Sources & Awaited<ReturnType<typeof lookAtSources>>,
  { io }: Pick<Call, 'io'>,
): Promise<Effective> {
  const settings = effectiveSettings(command, sources, io);
  const reaches = command.settings?.includes('url') === true;
  const hasKey = command.settings?.includes('keyFile') === true;
  const valueIn = (flag: string) => settings.find(({ name }) => name === flag)?.value ?? undefined;
  const url = reaches ? (valueIn('url') as string | undefined) : undefined;
  const places = {
    keyFile: valueIn('key-file') as string | undefined,
    keyFileFrom: findSetting('keyFile', sources).from,
    env: io.env,
    profile,
    url: url ?? '',
  };
  const keys = hasKey ? await effectiveKeys(command, places) : undefined;
  const extra = io.env.NODE_EXTRA_CA_CERTS;
  const unused = config ? unusedNames(command, config) : [];
  const kinds = command.path === 'worker' ? (['task-worker'] as const) : undefined;
  return {
    command: command.path,
    config: config?.file ?? null,
    profile: profile?.file ?? null,
    settings,
    ...(keys && { keys }),
    ...(keys?.length === 0 && { noKey: missingWords(places, kinds) }),
    ...(reaches && { route: effectiveRoute(url, proxyFromEnvironment(io.env)) ?? null }),
    ...(reaches && {
      trust: [
        'the well-known authorities and those of the system',
        ...(extra ? [`NODE_EXTRA_CA_CERTS ${extra}`] : []),
        ...(valueIn('ca-file') === undefined
          ? []
          : [`--ca-file ${wordsOf(valueIn('ca-file') ?? '')}`]),
      ],
    }),
    notes: [
      ...ignored,
      ...(config?.problems ?? []).map((problem) => `${config?.file}: ${sentence(problem)}`),
      ...(unused.length === 0
        ? []
        : [`${command.path} does not read these of the config file: ${unused.join(', ')}`]),
      ...strayVariables(io.env),
    ].map((note) => plain(note)),
  };
}
