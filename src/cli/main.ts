import { existsSync } from 'node:fs';
import { availableParallelism, hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { TaskError } from '../contract/index.ts';
import { homeFolder, stateFolder } from '../system/state-folder.ts';
import type { Call, Command, Io } from './command.ts';
import { type ConfigFile, configError, readConfigFile } from './config-file.ts';
import { type ExitName, exitCode } from './exit-codes.ts';
import { failureJson, failureText, toFailure } from './failure.ts';
import { oldProfile } from './keys.ts';
import { asTyped } from './own-name.ts';
import { findProfile, type Profile } from './profile.ts';
import type { Surroundings, settingTable } from './setting-table.ts';
import { readSettings, type SettingSources } from './settings.ts';
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
export async function runCommand(
  command: Command,
  typed: Typed,
  io: Io,
  rest: readonly string[] = [],
): Promise<ExitName> {
  if (command.looksItself) return command.run(bareCall(command, typed, io, rest));
  const { sources, profile, ignored } = await readSources(typed, io);
  for (const line of ignored) await io.err.line(`note   ${line}`);
  const own = (command.settings ?? []) as readonly (keyof typeof settingTable)[];
  const settings = readSettings(own, sources);
  const keys = readSettings(['url', 'keyFile'], sources);
  const call: Call = {
    args: argsOf(command, typed) as Call['args'],
    rest,
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

/** What a command gets that looks at all places itself, since something may be wrong with them. */
function bareCall(command: Command, typed: Typed, io: Io, rest: readonly string[]): Call {
  const around = surroundings(io);
  return {
    args: argsOf(command, typed) as Call['args'],
    rest,
    settings: { from: {} },
    sources: { flags: typed, env: io.env, around },
    keyPlaces: {
      keyFile: undefined,
      keyFileFrom: 'default',
      env: io.env,
      profile: undefined,
      url: '',
    },
    notes: {},
    json: typed.json === true,
    debug: typed.debug === true,
    style: makeStyle(wantsColour(io.env, io.terminal.out)),
    io,
  } as Call;
}

/** A key that is refused: which of the many places was it from? */
function withKeyOrigin(error: unknown, from: string | undefined): unknown {
  const refused = error instanceof TaskError && /^(UNAUTHENTICATED|SCOPE_DENIED)$/.test(error.code);
  if (!refused || from === undefined) return error;
  const { code, message, hint, details } = error;
  return new TaskError(code, `${message.replace(/\.$/, '')}. It came from ${from}.`, {
    hint: code === 'UNAUTHENTICATED' ? NEW_KEY + oldProfile(from) : hint,
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

/** All places that settings come from, as they were looked at. */
export interface Sources {
  readonly sources: SettingSources;
  readonly profile: Profile | undefined;
  /** Found but not used, with why. */
  readonly ignored: readonly string[];
}

/**
 * Reads all places that settings come from; may be called again later, and keeps nothing.
 * Rejects with `CONFIG_INVALID` where a file is damaged, or its names and forms are wrong.
 */
export async function readSources(typed: Typed, io: Io): Promise<Sources> {
  const { config, ...read } = await lookAtSources(typed, io);
  if (config && config.problems.length > 0) throw configError(config);
  return read;
}

/** The same, also where the config file has problems. Rejects only for what cannot be read at all. */
export async function lookAtSources(
  typed: Typed,
  io: Io,
): Promise<Sources & { readonly config: ConfigFile | undefined }> {
  // Only where it is named: one that lies about in a folder must not turn keys to another address.
  const given = saidFile('config', 'INTERLOCK_CONFIG', typed, io);
  const config = given === undefined ? undefined : await readConfigFile(resolve(io.cwd, given));
  const { profile, ignored } = findProfile(
    io.cwd,
    saidFile('profile', 'INTERLOCK_PROFILE', typed, io),
  );
  const sources: SettingSources = {
    flags: typed,
    env: io.env,
    config: config && { file: config.file, values: config.values },
    profile,
    around: surroundings(io),
  };
  return { sources, profile, ignored, config };
}

/** A file that a flag or a variable names. */
export function saidFile(flag: string, variable: string, typed: Typed, io: Io): string | undefined {
  return (typed[flag] as string | undefined) ?? (io.env[variable] || undefined);
}

function surroundings(io: Io): Surroundings {
  const { env, cwd } = io;
  return {
    cwd,
    hostName: hostname(),
    cores: availableParallelism(),
    stateFolder: stateFolder({ platform: process.platform, env, home: homeFolder(env) }),
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
