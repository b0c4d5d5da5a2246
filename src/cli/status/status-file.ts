import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { parseJson } from '../../contract/index.ts';
import type { ProcessIdentity, ProcessInfo } from '../../ports/process-info.ts';
import { judgeOwner } from '../../spool/owner.ts';

/**
 * `status.json` in the spool of a worker with a status port: where it is asked. It is there while the worker runs; one
 * that a killed worker left behind is told by its pid and start time.
 */
const statusFile = z.object({
  host: z.string(),
  port: z.int().min(1).max(65_535),
  workerId: z.string(),
  pid: z.int(),
  hostName: z.string(),
  startTime: z.string().optional(),
  bootId: z.string().optional(),
  pidNamespace: z.string().optional(),
});
export type StatusFile = z.infer<typeof statusFile>;

export function statusFileOf(spoolFolder: string): string {
  return join(spoolFolder, 'status.json');
}

/** Throws what the system says. */
export function writeStatusFile(
  spoolFolder: string,
  where: Pick<StatusFile, 'host' | 'port' | 'workerId'>,
  { hostName, pid, startTime, bootId, pidNamespace }: ProcessIdentity,
): void {
  const file = statusFileOf(spoolFolder);
  const beside = `${file}.${pid}`;
  const content = { ...where, pid, hostName, startTime, bootId, pidNamespace };
  rmSync(beside, { force: true });
  writeFileSync(beside, `${JSON.stringify(content)}\n`, { mode: 0o600, flag: 'wx' });
  chmodSync(beside, 0o600);
  renameSync(beside, file);
}

/** Our own only: an heir of the spool may have written its one. */
export function removeStatusFile(spoolFolder: string, pid: number): void {
  if (readStatusFile(spoolFolder)?.pid === pid) rmSync(statusFileOf(spoolFolder), { force: true });
}

/** `undefined` where there is none that can be read: it only helps to find a worker. */
export function readStatusFile(spoolFolder: string): StatusFile | undefined {
  try {
    const parsed = parseJson(readFileSync(statusFileOf(spoolFolder), 'utf8'));
    return parsed.ok ? statusFile.safeParse(parsed.value).data : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the worker that wrote it still runs, as far as this process can tell. */
export async function judgeStatusFile(
  file: StatusFile,
  { self, look }: ProcessInfo,
): Promise<'alive' | 'gone' | 'unknown'> {
  return judgeOwner(file, self, await look(file.pid), undefined);
}
