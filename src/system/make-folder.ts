import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * A folder for this user alone, with those above it. Not `mkdir`'s own `recursive`: where a parent takes no folders at all and
 * says that it is not there (automounts, `/proc`), Node.js tries again for ever. Throws what the system says.
 */
export function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error;
    makeFolder(dirname(folder));
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (again) {
      if ((again as NodeJS.ErrnoException).code !== 'EEXIST') throw again;
    }
  }
}
