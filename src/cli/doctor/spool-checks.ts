import { statfs } from 'node:fs/promises';
import type { SpoolInspection } from '../../worker/spool.ts';
import { durationWords } from '../duration.ts';
import { type Check, fail, ok, skip, warn } from './check.ts';
import { checkStale, type StaleReport } from './stale-reports.ts';

/** What `inspectSpool` found, one line each. @param memory the folder does not outlive the machine's next start. */
export function checkSpool(
  found: SpoolInspection,
  memory: boolean,
  stale: readonly StaleReport[] = [],
): Check[] {
  const { folder } = found;
  if (!found.exists) {
    return [
      fail(
        'spool',
        `${folder} does not exist`,
        'Give the folder that the worker uses (--spool); a worker makes it at its first start.',
      ),
    ];
  }
  const checks = [
    found.readable.ok
      ? ok('spool read', folder)
      : fail(
          'spool read',
          `${folder} cannot be read (${found.readable.why})`,
          'Check the owner and the mode of the folder, and the limit of open files.',
        ),
    found.writable.ok
      ? ok(
          'spool write',
          `written and made durable in ${durationWords(found.writable.tookMs ?? 0)}`,
        )
      : fail(
          'spool write',
          `${folder} cannot be written (${found.writable.why})`,
          writeFix(found.writable.why),
        ),
  ];
  if (memory)
    checks.push(
      warn(
        'spool disk',
        'it is in memory (tmpfs): a restart of the machine loses what is in it',
        'Put it on a disk (--spool).',
      ),
    );
  if (!found.readable.ok) return checks;
  return [
    ...checks,
    ownerCheck(found),
    debtCheck(found),
    ...damageChecks(found),
    ...asideChecks(found, stale),
  ];
}

/** Whether a folder lies in memory only. `false` where that cannot be seen. */
export async function liesInMemory(folder: string): Promise<boolean> {
  try {
    const { type } = await statfs(folder);
    return process.platform === 'linux' && MEMORY_TYPES.has(type);
  } catch {
    return false;
  }
}

function ownerCheck({ owner }: SpoolInspection): Check {
  if (!owner) return ok('spool owner', 'nobody has used it yet');
  const who = `worker ${owner.workerId}, process ${owner.pid} on ${owner.hostName}`;
  switch (owner.state) {
    case 'alive':
      return ok('spool owner', `${who}, runs since ${owner.since}`);
    case 'closed':
      return ok('spool owner', `nobody; ${who} gave it back in order`);
    case 'gone':
      return warn(
        'spool owner',
        `${who} has ended without giving it back`,
        'Start the worker again: it takes the spool over and sends what is in it.',
      );
    default:
      return ok('spool owner', `${who}; from here it cannot be seen whether it runs`);
  }
}

function debtCheck({ pending, bytes, oldestMs, running, owner }: SpoolInspection): Check {
  if (pending === 0) {
    const held = running === 0 ? '' : `; ${count(running, 'attempt is', 'attempts are')} in work`;
    return ok('spool debt', `every report has been answered${held}`);
  }
  const oldest = oldestMs === null ? '' : `, the oldest for ${durationWords(oldestMs)}`;
  const says = `${count(pending, 'report is', 'reports are')} not answered yet (${bytes} bytes)${oldest}`;
  if (owner?.state === 'alive' && (oldestMs ?? 0) < DEBT_MS) return ok('spool debt', says);
  return warn(
    'spool debt',
    says,
    owner?.state === 'alive'
      ? 'The worker tries again by itself; see its log for why it gets no answer.'
      : 'Start the worker that owns the spool: it sends them first.',
  );
}

function damageChecks({
  corruptLines,
  newer,
  unreadable,
  folder,
  setAside,
}: SpoolInspection): Check[] {
  const checks: Check[] = [];
  const bad = corruptLines.length + setAside.corrupt;
  if (bad === 0) checks.push(ok('spool damage', 'every record has its checksum'));
  for (const { file, line, why } of corruptLines.slice(0, SHOWN))
    checks.push(
      fail(
        'spool damage',
        `${file}, line ${line}: ${why}`,
        'The next start of the worker sets it aside. Check the disk.',
      ),
    );
  if (setAside.corrupt > 0)
    checks.push(
      fail(
        'spool damage',
        `${count(setAside.corrupt, 'damaged record was', 'damaged records were')} set aside`,
        `Look into ${folder}/corrupt, check the disk, then remove them.`,
      ),
    );
  for (const { file, why } of unreadable.slice(0, SHOWN))
    checks.push(
      fail(
        'spool damage',
        `${file} cannot be read (${why})`,
        'Check the disk and the permissions.',
      ),
    );
  if (newer > 0)
    checks.push(
      warn(
        'spool version',
        `${count(newer, 'record is', 'records are')} of a later version`,
        'Use the newer program for this spool.',
      ),
    );
  return checks;
}

function asideChecks(
  { setAside, folder }: SpoolInspection,
  stale: readonly StaleReport[],
): Check[] {
  const checks: Check[] = [];
  if (setAside.refused > 0)
    checks.push(
      fail(
        'spool refused',
        `${count(setAside.refused, 'report was', 'reports were')} refused for good`,
        `Look into ${folder}/refused: each file has the report and the answer. Remove them when they are dealt with.`,
      ),
    );
  if (setAside.stale > 0) checks.push(checkStale(folder, setAside.stale, stale));
  if (checks.length === 0) checks.push(skip('spool aside', 'nothing was set aside'));
  return checks;
}

function writeFix(why: string | undefined): string {
  if (why === 'ENOSPC' || why === 'EDQUOT') return 'Free some space; the worker goes on by itself.';
  if (why === 'EROFS') return 'Mount the disk writable, or give another folder (--spool).';
  return 'Check the owner and the mode of the folder, or give another one (--spool).';
}

function count(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`;
}

/** tmpfs and ramfs. */
const MEMORY_TYPES = new Set([0x01021994, 0x858458f6]);
/** A report is answered in milliseconds; a minute without is worth a look. */
const DEBT_MS = 60_000;
const SHOWN = 10;
