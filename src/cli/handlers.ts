import { existsSync } from 'node:fs';
import { createProbe, type ProbeOptions } from '../carriers/probe.ts';
import { TaskError, typeKey } from '../contract/index.ts';
import { type Discovery, type DiscoveryOptions, discoverHandlers } from '../handler/discovery.ts';
import type { Log } from '../ports/log.ts';
import { compileCacheFolder } from '../system/compile-cache.ts';
import type { Io } from './command.ts';
import { withoutStandIn } from './first-process.ts';

export type { Discovery, HandlerProblem } from '../handler/discovery.ts';

/** What handlers inherit: the environment of the worker, without what is between `dev` and the worker. */
export function hostEnvironment(io: Io): Readonly<Record<string, string | undefined>> {
  const { INTERLOCK_LIFE_LINE: _, ...env } = io.env;
  return withoutStandIn(env);
}

/** Finds the handlers of a folder by loading each in a process of its own. Throws `NO_PROCESS_LIST`, before anything is begun. */
export function discover(
  folder: string,
  io: Io,
  how: Pick<DiscoveryOptions, 'early' | 'portable'> &
    Pick<ProbeOptions, 'signal' | 'keepIn'> & { readonly log?: Log } = {},
): Promise<Discovery> {
  // In a bare root folder, most often. Whether a handler's processes have gone could never be seen: no slot would be free.
  if (process.platform === 'linux' && !existsSync('/proc/self/stat'))
    throw new TaskError(
      'NO_PROCESS_LIST',
      '/proc is not mounted here, so it cannot be seen which processes of handlers still run.',
      { hint: 'Mount it: mount -t proc proc /proc.' },
    );
  const probe = createProbe({
    clock: io.clock,
    log: how.log ?? SILENT,
    command: io.programs.host,
    env: hostEnvironment(io),
    marker: `probe-${Buffer.from(io.random.bytes(16)).toString('hex')}`,
    compileCache: compileCacheFolder(io.env),
    keepIn: how.keepIn,
    signal: how.signal,
  });
  const { early, portable } = how;
  return discoverHandlers({
    folder,
    probe,
    ...(portable && { portable }),
    ...(early && { early }),
  });
}

/** `demo/hello@1`. */
export function handlerKey(handler: {
  readonly type: string;
  readonly schemaVersion: number;
}): string {
  return typeKey(handler.type, handler.schemaVersion);
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
