/** What a fault test needs of the machine: without it, it is skipped and says why. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first that is missing, in words; printed too. `root`, a device by its path, or a program by its name. */
export function missing(...needs: readonly string[]): string | undefined {
  const why = needs.map(lack).find((one) => one !== undefined);
  if (why) console.log(`skipped: ${why}`);
  return why;
}

function lack(need: string): string | undefined {
  if (process.platform !== 'linux') return 'these faults are made with means of Linux';
  if (need === 'root') return process.getuid?.() === 0 ? undefined : 'root is needed';
  return program(need) === undefined ? `${need} is not here` : undefined;
}

/** Where a program is; also in the folders of administrators, which a PATH may lack. */
export function program(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  const places = name.startsWith('/') ? [name] : folders.map((folder) => join(folder, name));
  return places.find((place) => {
    try {
      accessSync(place, name.startsWith('/dev/') ? constants.R_OK : constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
