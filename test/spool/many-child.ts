/** A process of its own for `many.faults.test.ts`: opens the spool, reads and answers all, tells what that cost. */
import { CollectingLog } from '../../sim/log.ts';
import { openSpool } from '../../src/spool/index.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemDisk } from '../../src/system/disk.ts';
import { systemFolderLock } from '../../src/system/folder-lock.ts';
import { systemProcessInfo } from '../../src/system/process-info.ts';

const MB = 1_048_576;
const opened = await openSpool({
  disk: systemDisk(),
  clock: systemClock(),
  log: new CollectingLog(),
  lock: systemFolderLock(),
  processInfo: await systemProcessInfo(),
  folder: process.argv[2] as string,
  workerId: 'child',
  sessionId: 'ses_here',
  serviceUrl: 'http://127.0.0.1:7420',
});
if (!opened.ok) throw opened.error;
const { spool } = opened;
globalThis.gc?.();
const heapMb = Math.round(process.memoryUsage().heapUsed / MB);
const { reports } = spool.recovered;
let read = 0;
for (let from = 0; from < reports.length; from += 100) {
  const some = reports.slice(from, from + 100);
  for (const body of await Promise.all(some.map((one) => spool.body(one))))
    if (body.op === 'complete' && String(body.result).length > 100) read++;
  await Promise.all(some.map((one) => spool.answered(one)));
}
const { ok, pending: left } = spool.stats();
await spool.close();
const peakMb = Math.round(process.resourceUsage().maxRSS / 1_024);
process.stdout.write(JSON.stringify({ found: reports.length, read, left, ok, heapMb, peakMb }));
