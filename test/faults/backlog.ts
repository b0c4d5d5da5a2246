/** A spool full of results that nobody was told of: real attempts of a real control plane, claimed and ended by a worker that is gone. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CollectingLog } from '../../sim/log.ts';
import type { Attempt } from '../../src/contract/index.ts';
import { openSpool } from '../../src/spool/index.ts';
import { groupName, sessionTag } from '../../src/spool/layout.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemDisk } from '../../src/system/disk.ts';
import { systemFolderLock } from '../../src/system/folder-lock.ts';
import { systemProcessInfo } from '../../src/system/process-info.ts';
import type { World } from '../e2e/world.ts';

const SESSION = 'ses_of_a_worker_that_is_gone';
/** The longest there is: nothing of it may run out while the backlog is made. */
const LEASE_MS = 600_000;
const AT_ONCE = 100;

/** Leaves `count` results in the spool of `worker`, `perFile` in a file. Returns the ids of their tasks. */
export async function leaveResults(
  world: World,
  count: number,
  perFile: number,
): Promise<string[]> {
  const opened = await openSpool({
    disk: systemDisk(),
    clock: systemClock(),
    log: new CollectingLog(),
    lock: systemFolderLock(),
    processInfo: await systemProcessInfo(),
    folder: world.spool(),
    workerId: 'worker',
    sessionId: SESSION,
    serviceUrl: world.url,
    project: 'default',
  });
  if (!opened.ok) throw opened.error;
  const { spool } = opened;
  const ids: string[] = [];
  const complete = ({ taskId, attemptId, fence, leaseToken }: Attempt) =>
    spool.writeReport(
      { op: 'complete', taskId, attemptId, fence, leaseToken, result: RESULT },
      { ...TYPE },
    );
  try {
    while (ids.length < count) {
      const tasks = Array.from({ length: AT_ONCE }, () => TASK);
      const made = await world.call('POST', '/tasks/batch', tasks);
      if (made.status !== 200) throw new Error(JSON.stringify(made.body));
      const { body } = await world.call(
        'POST',
        '/claims',
        {
          workerId: 'worker',
          sessionId: SESSION,
          requestId: `req-${ids.length}`,
          pools: ['default'],
          want: [{ ...TYPE, slots: AT_ONCE, effectSafety: 'pure' }],
          max: AT_ONCE,
          leaseMs: LEASE_MS,
        },
        { as: 'task-worker' },
      );
      if (body.attempts?.length !== AT_ONCE) throw new Error(JSON.stringify(body));
      const attempts = body.attempts as Attempt[];
      await Promise.all(attempts.map(complete));
      ids.push(...attempts.map(({ taskId }) => taskId));
    }
  } finally {
    await spool.close();
  }
  spread(join(world.spool(), 'reports'), perFile);
  return ids;
}

/** As a spool looks whose reports came one after the other, with pauses: many files that hold few each. */
function spread(folder: string, perFile: number): void {
  const files = readdirSync(folder);
  const lines = files.flatMap((name) =>
    readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter((line) => line !== ''),
  );
  for (const name of files) rmSync(join(folder, name));
  for (let from = 0; from < lines.length; from += perFile) {
    const name = groupName(from + 1, sessionTag(SESSION));
    const text = lines.slice(from, from + perFile).map((line) => `${line}\n`);
    writeFileSync(join(folder, name), text.join(''), { mode: 0o600 });
  }
}

const TYPE = { type: 'test/look', schemaVersion: 1 };
const TASK = { ...TYPE, input: {}, policy: { leaseMs: LEASE_MS } };
const RESULT = { from: 'a worker that is gone' };
