import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { TaskError } from '../../contract/index.ts';
import { homeFolder } from '../../system/state-folder.ts';
import type { Io } from '../command.ts';
import { usageError } from '../usage.ts';
import { type ServiceKind, serviceKinds } from './description.ts';
import { type RunProgram, systemPrograms } from './run-program.ts';

/** The machine as the commands of a service see it, so that tests can give another one. */
export interface ServiceWorld {
  readonly platform: NodeJS.Platform;
  /** `undefined` where users have no numbers. */
  readonly uid: number | undefined;
  readonly home: string;
  /** Before every path of the machine that we write or look at: '' in the world as it is. */
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folders that are emptied, and that a service does not see. */
  readonly temporary: readonly string[];
  readonly run: RunProgram;
}

export function serviceWorld({ env, clock }: Pick<Io, 'env' | 'clock'>): ServiceWorld {
  return {
    platform: process.platform,
    uid: process.getuid?.(),
    home: homeFolder(env),
    root: '',
    env,
    temporary: ['/tmp', '/var/tmp', '/dev/shm'],
    run: systemPrograms(env, clock),
  };
}

/** The kind that was asked for, else that of this machine. Throws `USAGE`, or `SERVICE_MANAGER_ABSENT`. */
export function kindOf(asked: string | undefined, world: ServiceWorld, dry: boolean): ServiceKind {
  const own = ownKind(world.platform);
  if (asked !== undefined && !(serviceKinds as readonly string[]).includes(asked))
    throw usageError(
      `--kind "${asked}" is none of ${serviceKinds.join(', ')}.`,
      'worker service install',
    );
  const kind = (asked as ServiceKind | undefined) ?? own ?? 'systemd';
  if (dry) return kind;
  if (kind !== own)
    throw usageError(
      `This machine (${world.platform}) does not run services of ${kind}; with --dry-run its files are printed here.`,
      'worker service install',
    );
  // What sd_booted(3) asks.
  if (kind === 'systemd' && !existsSync(join(world.root, '/run/systemd/system')))
    throw new TaskError(
      'SERVICE_MANAGER_ABSENT',
      'This machine is not run by systemd: there is no /run/systemd/system.',
      {
        hint: 'docs/service.md has what to do under runit, OpenRC and in a container; --dry-run shows the unit that another machine would get.',
      },
    );
  return kind;
}

/** `undefined`: none that we know. */
export function ownKind(platform: NodeJS.Platform): ServiceKind | undefined {
  if (platform === 'linux') return 'systemd';
  if (platform === 'darwin') return 'launchd';
  return platform === 'win32' ? 'windows' : undefined;
}
