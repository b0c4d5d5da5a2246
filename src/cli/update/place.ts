import { basename, dirname, join } from 'node:path';

/** Where an executable and what belongs to its updates lie. All on one file system, so a rename is always one step. */
export interface Place {
  /** The file itself; links that lead to it stay as they are. */
  readonly exe: string;
  readonly folder: string;
  /** The version before the last update. */
  readonly previous: string;
  /** Ours while an update runs; what a killed one left in it is swept by the next. */
  readonly staging: string;
  /** Who updates now. */
  readonly owner: string;
  readonly ownerNext: string;
  /** The new executable, until it is in place. */
  readonly fresh: string;
  /** Second names on their way: of what becomes `previous`, and of what is put back. */
  readonly keep: string;
  readonly back: string;
  /** The previous one of before, until the new one is known to do. */
  readonly older: string;
}

export function placeOf(exe: string): Place {
  const folder = dirname(exe);
  const name = basename(exe);
  const staging = join(folder, `.${name}.update`);
  return {
    exe,
    folder,
    staging,
    previous: `${exe}.previous`,
    owner: join(staging, 'owner.json'),
    ownerNext: join(staging, 'owner.json.new'),
    // As the executable is named: Windows starts only what ends in .exe.
    fresh: join(staging, `new-${name}`),
    keep: join(staging, `keep-${name}`),
    back: join(staging, `back-${name}`),
    older: join(staging, `older-${name}`),
  };
}
