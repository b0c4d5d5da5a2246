import { readFileSync } from 'node:fs';

/** Memory of a process that is in the machine's (resident), in bytes. `undefined` where nobody tells (not Linux, gone). */
export function residentBytes(pid: number | undefined): number | undefined {
  if (process.platform !== 'linux' || pid === undefined) return undefined;
  try {
    // Not `statm`: it counts pages, whose size nobody tells.
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kib === undefined ? undefined : Number(kib) * 1_024;
  } catch {
    return undefined;
  }
}
