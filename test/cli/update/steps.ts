import { systemFiles, type UpdateFiles } from '../../../src/cli/update/files.ts';
import { systemPrograms } from '../../../src/cli/update/run-program.ts';
import { folderSource } from '../../../src/cli/update/source.ts';
import { readKeys } from '../../../src/cli/update/trust.ts';
import { type Installed, type UpdatePorts, update } from '../../../src/cli/update/update.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { systemFolderLock } from '../../../src/system/folder-lock.ts';
import { systemProcessInfo } from '../../../src/system/process-info.ts';

export type Step = keyof UpdateFiles;
/** Steps that change the disk: between two of them anything may end the machine. */
export const CHANGES: readonly Step[] = [
  'makeFolder',
  'write',
  'give',
  'twin',
  'rename',
  'remove',
  'removeFolder',
  'syncFolder',
];

/** Real files; `before` and `after` are told of every step that changes the disk. */
export function watchedFiles(told: {
  before?: (step: Step, paths: readonly string[]) => void;
  after?: (step: Step, paths: readonly string[]) => void;
}): UpdateFiles {
  const real = systemFiles();
  const watched = { ...real } as Record<Step, (...args: never[]) => Promise<unknown>>;
  for (const step of CHANGES) {
    const work = real[step] as (...args: unknown[]) => Promise<unknown>;
    watched[step] = async (...args: unknown[]) => {
      const paths = args.filter((one): one is string => typeof one === 'string');
      told.before?.(step, paths);
      const value = await work(...args);
      told.after?.(step, paths);
      return value;
    };
  }
  return watched as unknown as UpdateFiles;
}

/** An update of `exe` from a release folder, with these files, and no services. */
export async function updateWith(
  files: UpdateFiles,
  from: {
    readonly exe: string;
    readonly release: string;
    readonly pem: string;
    readonly target: string;
  },
): Promise<unknown> {
  const clock = systemClock();
  const ports: UpdatePorts = {
    clock,
    env: process.env,
    run: systemPrograms(clock),
    fetch: () => Promise.reject(new Error('nothing is fetched here')),
    files,
    folderLock: systemFolderLock(),
    processInfo: await systemProcessInfo(),
    tell: async () => {},
    services: async () => [],
  };
  const installed: Installed = { command: from.exe, version: '0.1.0', target: from.target };
  const keys = readKeys(from.pem);
  if (!keys.ok) throw new Error(keys.why);
  const source = await folderSource(from.release, '/');
  return update(ports, installed, {
    source,
    keys: keys.keys,
    allowDowngrade: false,
    readyWithinMs: 1_000,
  });
}
