import { appendFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TerminalReport } from '../../src/contract/index.ts';
import { openEntry, openSpool, readEntries, type Spool } from '../../src/spool/index.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemDisk } from '../../src/system/disk.ts';
import { systemFolderLock } from '../../src/system/folder-lock.ts';
import { systemProcessInfo } from '../../src/system/process-info.ts';
import { silent } from './plane.ts';
import { temporaryFolder } from './world.ts';

/** As a control plane makes it: 43 characters. */
export const tokenOf = (attempt: string) => `Secret-${attempt}`.padEnd(43, 'x');
export const META = { type: 'demo/hello', schemaVersion: 1 };

export function four(attempt: string, task = attempt) {
  const leaseToken = tokenOf(attempt);
  return { taskId: `tsk_${task}`, attemptId: `att_${attempt}`, fence: 1, leaseToken };
}

type Complete = Extract<TerminalReport, { op: 'complete' }>;

export function complete(
  attempt: string,
  result: Complete['result'] = { hello: attempt },
): Complete {
  return { op: 'complete', ...four(attempt), result };
}

export function smallReport(attempt: string): TerminalReport {
  const error = { code: 'RESULT_REFUSED', message: 'too large', retryable: false };
  return { op: 'fail', ...four(attempt), error };
}

let sessions = 0;

/** The spool of worker garage on the real disk, made by the code that a worker runs. */
export async function openGarage(folder = join(temporaryFolder(), 'spool')) {
  const opened = await openSpool({
    disk: systemDisk(),
    clock: systemClock(),
    log: silent,
    lock: systemFolderLock(),
    processInfo: await systemProcessInfo(),
    folder,
    workerId: 'garage',
    sessionId: `ses_${++sessions}`,
    serviceUrl: 'http://127.0.0.1:7420',
    project: 'default',
  });
  if (!opened.ok) throw opened.error;
  return { folder, spool: opened.spool };
}

const problem = (code: string, detail: string, more = {}) => ({
  code,
  title: code,
  detail,
  ...more,
});

/** As the worker does it: set aside with the answer, then the small report in its place, which `answer` is for. */
export async function refuse(spool: Spool, report: TerminalReport, smallAnswered = true) {
  const spooled = await spool.writeReport(report, META);
  // As a proxy that quotes what it got.
  const detail = `The body has 4200000 bytes; 4194304 are allowed: ${report.leaseToken}`;
  await spool.setAside(spooled, 'refused', {
    status: 413,
    problem: problem('PAYLOAD_TOO_LARGE', detail),
  });
  const small = await spool.writeReport(smallReport(report.attemptId.slice(4)), {
    ...META,
    followUp: true,
  });
  if (smallAnswered) await spool.answered(small);
  return small;
}

/** One of each: owed, running, stale, refused, and a damaged line that the second start has set aside. */
export async function fullSpool() {
  const first = await openGarage();
  await first.spool.writeReport(complete('damaged'), META);
  await first.spool.close();
  const [name = ''] = readdirSync(join(first.folder, 'reports'));
  const torn = `{"v":1, "kind":"report","leaseToken":"${tokenOf('torn')}","x":"\u0007\u001b[2J`;
  appendFileSync(
    join(first.folder, 'reports', name),
    Buffer.concat([Buffer.from(torn), Buffer.from([0xff, 0x0a])]),
  );

  const { folder, spool } = await openGarage(first.folder);
  for (const report of spool.recovered.reports) await spool.answered(report);
  await spool.recordClaim([
    {
      ...four('running'),
      ...META,
      effectSafety: 'non-idempotent',
      effectGate: 'start',
      claimedAt: new Date().toISOString(),
    },
  ]);
  await spool.writeReport(complete('owed'), META);
  const late = await spool.writeReport(complete('late'), META);
  const recorded = problem('STALE_ATTEMPT', 'Its outcome is kept as a late report.', {
    recorded: true,
  });
  await spool.setAside(late, 'stale', { status: 409, problem: recorded });
  await refuse(spool, complete('large', { text: 'y'.repeat(5_000) }));
  await spool.idle();
  return { folder, spool };
}

/** The reports that the next start of the worker will send. */
export async function owedReports(folder: string): Promise<TerminalReport[]> {
  const disk = systemDisk();
  const processInfo = await systemProcessInfo();
  const read = await readEntries({ disk, lock: systemFolderLock(), processInfo, folder });
  if (!read.ok) throw read.error;
  const owed = read.entries.filter(({ state }) => state === 'owed');
  const opened = await Promise.all(owed.map((entry) => openEntry(disk, folder, entry)));
  return opened.flatMap((one) => one?.report?.body ?? []);
}

/** The next start of the worker: how many reports it has to send. It gives the spool back. */
export async function nextStart(folder: string): Promise<number> {
  const { spool } = await openGarage(folder);
  const { pending } = spool.stats();
  await spool.close();
  return pending;
}
