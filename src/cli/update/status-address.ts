import { readStatusFile } from '../status/status-file.ts';
import { knownSpools } from './running.ts';
import { addressAt } from './systemd-show.ts';

/**
 * Where a running worker of a service is asked: as its spool tells, whatever its settings come from. A worker is known by
 * its process; `undefined` where it has no status port, or none yet.
 *
 * @param folders state folders and spools that may be its.
 */
export async function statusAddressOf(
  pid: number,
  folders: { readonly states: readonly string[]; readonly spools: readonly string[] },
): Promise<string | undefined> {
  const spools = [...folders.spools];
  for (const state of folders.states) spools.push(...(await knownSpools(state, undefined)));
  for (const spool of spools) {
    const file = readStatusFile(spool);
    if (file?.pid === pid) return addressAt(file.host, file.port);
  }
  return undefined;
}
