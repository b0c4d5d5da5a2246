import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { TaskError } from '../../contract/index.ts';
import { foreignIn } from '../../spool/accept.ts';
import { layoutOf } from '../../spool/layout.ts';
import { systemDisk } from '../../system/disk.ts';
import type { ServiceDescription } from './description.ts';
import { cannotBeWritten } from './file-text.ts';
import type { ServiceId } from './papers.ts';
import { isProgram, type Reader, unreachable } from './reach.ts';
import { windowsCannotSay } from './windows-task.ts';
import type { ServiceWorld } from './world.ts';

/** What no file of any manager can hold, whatever the machine. */
export function checkWords(service: ServiceDescription, { kind }: ServiceId): string[] {
  // All of it: each of them may come to stand in the file.
  const words = Object.values(service)
    .flat()
    .filter((word) => typeof word === 'string');
  const found: string[] = [];
  for (const word of words) {
    if (cannotBeWritten(word))
      found.push(
        `${JSON.stringify(word)} holds a control character, or what is none, which a service file cannot.`,
      );
    else if (kind === 'windows' && windowsCannotSay(word))
      found.push(`"${word}" holds % or ", which cmd.exe would read as something else.`);
  }
  // A unit reads such paths to the end of their line, without quotes.
  for (const path of [service.keyFile, service.environmentFile ?? ''])
    if (/^\s|\s$|\\$/.test(path))
      found.push(`"${path}" begins or ends with a blank or a backslash.`);
  for (const group of service.groups)
    if (!/^[\w.-]+$/.test(group)) found.push(`"${group}" is no name of a group.`);
  if (service.runAs !== undefined && ALMIGHTY[kind].test(service.runAs)) found.push(NOT_ROOT);
  if (kind !== 'windows' && service.spoolNamed && /["\\]/.test(service.spool))
    found.push(`The spool "${service.spool}" holds a quote or a backslash.`);
  return found;
}

const NOT_ROOT = 'Handlers are not to run as root: name another user with --run-as.';
/** Users that may do everything, as they can be named. */
const ALMIGHTY = {
  systemd: /^(root|0+)$/,
  launchd: /^(root|0+)$/,
  windows: /^(nt authority\\|\.\\)?(local ?)?system$|^\*?s-1-5-18$/i,
};

/**
 * What is not there, or what the service's user could not read: told before anything is written, not by a service that
 * starts again and again. Empty: all well.
 */
export async function checkMachine(
  service: ServiceDescription,
  { kind, scope }: ServiceId,
  world: ServiceWorld,
): Promise<string[]> {
  const [program = ''] = service.command;
  const { root } = world;
  const found: string[] = [];
  if (!isProgram(join(root, program)))
    found.push(`The program ${program} is not there, or may not be executed.`);
  const reader = await readerOf(service, scope, world);
  if (reader === undefined)
    return [...found, `There is no user "${service.runAs}" on this machine.`];
  // By whatever name.
  if (scope === 'system' && service.runAs !== undefined && reader !== 'nobody' && reader.uid === 0)
    found.push(NOT_ROOT);
  if (kind !== 'windows')
    for (const path of [...service.reads, ...(kind === 'launchd' ? [service.keyFile] : [])]) {
      if (scope === 'system' && world.temporary.some((folder) => path.startsWith(`${folder}/`))) {
        found.push(
          `${path} lies in a folder for temporary files, which is emptied, and which the service would not see.`,
        );
        continue;
      }
      const why = unreachable(path, reader, root);
      if (why !== undefined)
        found.push(
          `${path} ${why}${why.includes('mode') ? `: ${whoWords(service)} cannot read it` : ''}.`,
        );
    }
  const handlers = join(root, service.handlers);
  if (existsSync(handlers) && !statSync(handlers).isDirectory())
    found.push(`${service.handlers} is no folder with handlers.`);
  if (!existsSync(join(root, service.keyFile)))
    found.push(`The key file ${service.keyFile} is not there.`);
  if (service.environmentFile !== undefined && !existsSync(join(root, service.environmentFile)))
    found.push(`The file of --environment-file, ${service.environmentFile}, is not there.`);
  if (service.spoolNamed) found.push(...(await othersIn(service.spool, root)));
  if (kind === 'systemd' && scope === 'system' && service.spoolNamed && service.runAs === undefined)
    found.push(
      `The spool ${service.spool} would belong to a user that is made anew for the service; without --spool it lies in /var/lib.`,
    );
  if (kind === 'launchd' && scope === 'system' && service.runAs === undefined)
    found.push('launchd makes no user for a service, and handlers are not to run as root.');
  return found;
}

/** A worker keeps its records beside nothing else, and `uninstall --purge` would have to tell them apart. */
async function othersIn(spool: string, root: string): Promise<string[]> {
  let names: string[];
  try {
    names = await foreignIn(systemDisk(), layoutOf(join(root, spool)));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOTDIR' ? [`${spool} is no folder.`] : [];
  }
  const others = names.map((name) => JSON.stringify(name));
  if (others.length === 0) return [];
  const some = `${others.slice(0, 3).join(', ')}${others.length > 3 ? ', …' : ''}`;
  return [`${spool} holds what is no spool (${some}): give the spool a folder of its own.`];
}

/** The first thing that is wrong, with what else is. */
export function refuse(found: readonly string[], service: ServiceDescription): TaskError {
  const [first = '', ...others] = found;
  const user = service.runAs === undefined && service.scope === 'system';
  return new TaskError('SERVICE_UNFIT', [first, ...others].join(' '), {
    hint:
      user && found.some((one) => /cannot read it\.|made anew/.test(one))
        ? 'Put what it reads where all users may read it, such as /opt or /srv (chmod -R a+rX), or give a user that may with --run-as.'
        : 'Correct it and run the same command again; --dry-run shows what would be written.',
    details: { found: [...found] },
  });
}

async function readerOf(
  { runAs }: ServiceDescription,
  scope: 'system' | 'user',
  { run, uid }: ServiceWorld,
): Promise<Reader | undefined> {
  if (scope === 'user') return { uid: uid ?? 0, gids: process.getgroups?.() ?? [] };
  if (runAs === undefined) return 'nobody';
  const [user, groups] = await Promise.all([
    run(['id', '-u', '--', runAs]),
    run(['id', '-G', '--', runAs]),
  ]);
  if (user?.code !== 0 || groups?.code !== 0) return undefined;
  return { uid: Number(user.out), gids: groups.out.trim().split(/\s+/).map(Number) };
}

function whoWords({ runAs, scope }: ServiceDescription): string {
  if (scope === 'user') return 'this user';
  return runAs === undefined ? 'the user that is made for the service' : `user "${runAs}"`;
}
