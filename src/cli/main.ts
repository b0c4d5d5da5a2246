import { existsSync } from 'node:fs';
import { availableParallelism, homedir, hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { TaskError } from '../contract/index.ts';
import { stateFolder } from '../system/state-folder.ts';
import type { Call, Command, Io } from './command.ts';
import { type ExitName, exitCode } from './exit-codes.ts';
import { failureJson, failureText, toFailure } from './failure.ts';
import { asTyped } from './own-name.ts';
import { readJsonObject } from './private-json.ts';
import { findProfile } from './profile.ts';
import type { Surroundings, settingTable } from './setting-table.ts';
import { checkConfigNames, readSettings, type SettingSources } from './settings.ts';
import { makeStyle, wantsColour } from './style.ts';
import { refuseSecretFlags } from './usage.ts';

export type Typed = Readonly<Record<string, string | readonly string[] | boolean>>;

/** Runs one command to its exit code, with whatever goes wrong told in words (or JSON) on stderr. */
export async function guarded(
  argv: readonly string[],
  io: Io,
  work: () => Promise<ExitName>,
): Promise<number> {
  try {
    refuseSecretFlags(argv);
    const exit = await work();
    await io.out.flush();
    if (io.out.fault) throw io.out.fault;
    return exitCode(exit);
  } catch (error) {
    const failure = toFailure(error);
    const debug = argv.includes('--debug') || io.env.INTERLOCK_LOG_LEVEL === 'debug';
    const json = argv.includes('--json') || logsJson(argv, io);
    const style = makeStyle(wantsColour(io.env, io.terminal.err));
    const hint = failure.hint && asTyped(failure.hint, io);
    await io.err.write(
      json ? failureJson(failure, debug) : failureText({ ...failure, hint }, style, debug),
    );
    return exitCode(failure.exit);
  }
}

/** A program whose log was asked for in JSON ends in JSON too. */
function logsJson(argv: readonly string[], { env }: Io): boolean {
  const at = argv.indexOf('--log-format');
  if (at >= 0) return argv[at + 1] === 'json';
  return argv.includes('--log-format=json') || env.INTERLOCK_LOG_FORMAT === 'json';
}

/** Puts together what a command gets, and runs it. */
export async function runCommand(command: Command, typed: Typed, io: Io): Promise<ExitName> {
  const { sources, profile, ignored } = readSources(typed, io);
  for (const line of ignored) await io.err.line(`note   ${line}`);
  const own = (command.settings ?? []) as readonly (keyof typeof settingTable)[];
  const settings = readSettings(own, sources);
  const keys = readSettings(['url', 'keyFile'], sources);
  const call: Call = {
    args: argsOf(command, typed) as Call['args'],
    settings: settings as Call['settings'],
    sources,
    keyPlaces: {
      keyFile: keys.keyFile && resolve(io.cwd, keys.keyFile),
      keyFileFrom: keys.from.keyFile,
      env: io.env,
      profile,
      url: keys.url,
    },
    notes: {},
    json: typed.json === true,
    debug: typed.debug === true,
    style: makeStyle(wantsColour(io.env, io.terminal.out)),
    io,
  };
  try {
    return await command.run(call);
  } catch (error) {
    throw withAddressOrigin(withKeyOrigin(error, call.notes.keyFrom), keys.from.url);
  }
}

/** A key that is refused: which of the many places was it from? */
function withKeyOrigin(error: unknown, from: string | undefined): unknown {
  const refused = error instanceof TaskError && /^(UNAUTHENTICATED|SCOPE_DENIED)$/.test(error.code);
  if (!refused || from === undefined) return error;
  const { code, message, hint, details } = error;
  return new TaskError(code, `${message.replace(/\.$/, '')}. It came from ${from}.`, {
    hint: code === 'UNAUTHENTICATED' ? NEW_KEY : hint,
    details,
    cause: error,
  });
}

/** The address of a profile is one of `interlock dev`, most of the time. */
function withAddressOrigin(error: unknown, from: string): unknown {
  const refused =
    error instanceof TaskError &&
    error.code === 'UNREACHABLE' &&
    error.details?.cause === 'connect' &&
    from.startsWith('the profile');
  if (!refused) return error;
  const { code, message, details } = error;
  return new TaskError(code, message, {
    hint: `The address comes from ${from}. Start what it belongs to: npm start, or interlock dev in that folder.`,
    details,
    cause: error,
  });
}

const NEW_KEY =
  'Use a key that this control plane has made; an admin makes them with interlock keys new, or on its machine with --data.';

/** All places that settings come from. */
export function readSources(typed: Typed, io: Io) {
  const said = (flag: string, variable: string) =>
    (typed[flag] as string | undefined) ?? (io.env[variable] || undefined);
  // Only where it is named: one that lies about in a folder must not turn keys to another address.
  const given = said('config', 'INTERLOCK_CONFIG');
  const file = resolve(io.cwd, given ?? '');
  const values = given === undefined ? undefined : readJsonObject(file, 'The config file');
  if (given !== undefined && values === undefined) {
    throw new TaskError('CONFIG_INVALID', `The config file ${file} does not exist.`, {
      hint: 'Give another one with --config or INTERLOCK_CONFIG, or leave both away.',
    });
  }
  if (values) checkConfigNames(file, values);
  const { profile, ignored } = findProfile(io.cwd, said('profile', 'INTERLOCK_PROFILE'));
  const sources: SettingSources = {
    flags: typed,
    env: io.env,
    config: values && { file, values },
    profile,
    around: surroundings(io),
  };
  return { sources, profile, ignored };
}

function surroundings(io: Io): Surroundings {
  const { env, cwd } = io;
  return {
    cwd,
    hostName: hostname(),
    cores: availableParallelism(),
    stateFolder: stateFolder({ platform: process.platform, env, home: env.HOME ?? homedir() }),
    checkout: existsSync(join(cwd, 'spool', 'README.md')) && existsSync(join(cwd, 'package.json')),
  };
}

function argsOf(command: Command, typed: Typed): Record<string, unknown> {
  const args: Record<string, unknown> = {};
  for (const { name } of command.positionals ?? []) args[name] = typed[name];
  for (const [name, { form }] of Object.entries(command.options ?? {}))
    args[name] = typed[name] ?? (form === 'switch' ? false : form === 'list' ? [] : undefined);
  return args;
}
