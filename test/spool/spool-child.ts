/**
 * A process with a spool of its own, led by messages: `write` a report, `flood` (16 at a time until killed), `stats`,
 * `close`. It tells what became durable, in the moment it did.
 */

import { openSpool } from '../../src/spool/index.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemDisk } from '../../src/system/disk.ts';
import { systemFolderLock } from '../../src/system/folder-lock.ts';
import { systemLog } from '../../src/system/log.ts';
import { systemProcessInfo } from '../../src/system/process-info.ts';
import { complete, held, META } from './world.ts';

const [folder = '', sessionId = 'ses_child'] = process.argv.slice(2);
const say = (message: object) => process.send?.(message);

const opened = await openSpool({
  disk: systemDisk(),
  clock: systemClock(),
  log: systemLog({ level: 'info', format: 'json' }),
  lock: systemFolderLock(),
  processInfo: await systemProcessInfo(),
  folder,
  workerId: 'child',
  sessionId,
  serviceUrl: 'http://127.0.0.1:7420',
  onLost: (why) => say({ lost: why }),
});

if (!opened.ok) {
  say({ refused: opened.error.code, message: opened.error.message });
  process.disconnect();
} else {
  const { spool } = opened;
  const { reports, running, corrupt } = spool.recovered;
  say({
    opened: process.pid,
    earlierSessions: spool.earlierSessions,
    reports: reports.map(({ head }) => head.attemptId),
    running: running.map(({ attemptId, begun }) => `${attemptId}${begun ? ' begun' : ''}`),
    corrupt,
  });

  const flood = async (lane: number) => {
    for (let i = 0; ; i++) {
      const id = `att_${sessionId.slice(4)}r${lane}x${i}`;
      await spool.recordClaim([held(id, lane % 2 ? 'pure' : 'non-idempotent')]);
      await spool.markBegun(id);
      say({ began: id });
      const report = await spool.writeReport(complete(id, 'x'.repeat(100 * lane)), META);
      say({ durable: id });
      // Every other lane is answered; whoever is told so may forget it.
      if (lane % 4 < 2) continue;
      say({ answered: id });
      await spool.answered(report);
    }
  };

  process.on('message', async (message: { do: string; id?: string }) => {
    if (message.do === 'write')
      await spool.writeReport(complete(message.id ?? ''), META).then(
        () => say({ durable: message.id }),
        (error: Error) => say({ failed: message.id, why: error.message }),
      );
    if (message.do === 'flood') for (let lane = 0; lane < 16; lane++) void flood(lane);
    if (message.do === 'stats') say({ stats: spool.stats() });
    if (message.do === 'close') {
      await spool.close();
      process.disconnect();
    }
  });
}
