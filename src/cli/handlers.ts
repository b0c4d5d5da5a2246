import { join } from 'node:path';
import { createProbe } from '../carriers/probe.ts';
import type { HostCommand } from '../carriers/spawn-host.ts';
import { typeKey } from '../contract/index.ts';
import { type Discovery, discoverHandlers } from '../handler/discovery.ts';
import type { Log } from '../ports/log.ts';
import type { Io } from './command.ts';
import { compileCacheFolder } from './compile-cache.ts';

export type { Discovery, HandlerProblem } from '../handler/discovery.ts';

/** How handler hosts are started: the Node that runs us, and `host.js` beside us. */
export function hostCommand(io: Io): HostCommand {
  return {
    execPath: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', join(io.programs, 'host.js')],
  };
}

/** What handlers inherit: the environment of the worker, without what is between `dev` and the worker. */
export function hostEnvironment(io: Io): Readonly<Record<string, string | undefined>> {
  const { INTERLOCK_LIFE_LINE: _, ...env } = io.env;
  return env;
}

/** Finds the handlers of a folder by loading each in a process of its own. */
export function discover(
  folder: string,
  io: Io,
  how: { readonly log?: Log; readonly portable?: boolean } = {},
): Promise<Discovery> {
  const probe = createProbe({
    clock: io.clock,
    log: how.log ?? SILENT,
    command: hostCommand(io),
    env: hostEnvironment(io),
    marker: `probe-${Buffer.from(io.random.bytes(16)).toString('hex')}`,
    compileCache: compileCacheFolder(io.env),
  });
  return discoverHandlers({ folder, probe, ...(how.portable && { portable: true }) });
}

/** `demo/hello@1`. */
export function handlerKey(handler: {
  readonly type: string;
  readonly schemaVersion: number;
}): string {
  return typeKey(handler.type, handler.schemaVersion);
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
