import { type SpoolInspection, spoolFlag } from '../../spool/index.ts';
import type { Storage } from '../../system/storage.ts';
import { withoutKeys } from '../../wire/key.ts';
import { durationWords } from '../duration.ts';
import { sizeWords } from '../size-words.ts';
import { type Check, fail, ok, skip, warn } from './check.ts';
import { checkStale, type StaleReport } from './stale-reports.ts';
import { checkStorage } from './storage-checks.ts';

/** What was seen beside the records. */
export interface SpoolSurroundings {
  readonly storage?: Storage | undefined;
  /** How long fsync took, in ms, a number a round. */
  readonly syncs?: readonly number[] | undefined;
  readonly stale?: readonly StaleReport[];
  /** What can be done about what was refused, a sentence each. */
  readonly refusedSteps?: readonly string[];
  /** Handler processes of sessions that are over. */
  readonly hosts?: readonly { readonly pid: number }[];
}

/** What `inspectSpool` found, one line each. */
export function checkSpool(found: SpoolInspection, around: SpoolSurroundings = {}): Check[] {
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
  checks.push(...checkStorage(around.storage, around.syncs));
  if (!found.readable.ok) return checks;
  return [
    ...checks,
    ...reserveChecks(found),
    ownerCheck(found),
    ...hostChecks(found, around.hosts ?? []),
    ...refusalChecks(found),
    debtCheck(found),
    ...damageChecks(found),
    ...asideChecks(found, around.stale ?? [], around.refusedSteps ?? []),
  ];
}

/** Missing beside a live worker, it was given up; where no worker is at work it says nothing. */
function reserveChecks({ reserveBytes, reserveTrouble, owner }: SpoolInspection): Check[] {
  if (reserveTrouble?.inTheWay)
    return [
      fail(
        'spool reserve',
        `${reserveTrouble.why}: the worker can make no reserve there, and claims nothing`,
        'Move it away; a worker that runs makes the reserve by itself after that.',
      ),
    ];
  if (reserveTrouble)
    return [
      warn(
        'spool reserve',
        `${reserveTrouble.why}: it may be no help when the disk is full`,
        'The worker makes it anew at its start, or within a minute while it runs. If this stays, the file system packs it or tells no sizes: then leave it.',
      ),
    ];
  if (reserveBytes !== undefined)
    return [
      ok(
        'spool reserve',
        `${sizeWords(reserveBytes)} are kept for what runs when the disk is full`,
      ),
    ];
  if (!hasWorker(owner)) return [];
  return [
    warn(
      'spool reserve',
      'it was given up: the disk was full',
      'Free some space, 5 MB at least; the worker makes it again by itself, and claims nothing until then.',
    ),
  ];
}

function hostChecks(
  { owner }: SpoolInspection,
  hosts: readonly { readonly pid: number }[],
): Check[] {
  if (hosts.length === 0) return [];
  const pids = hosts.slice(0, SHOWN).map(({ pid }) => pid);
  const one = hosts.length === 1;
  return [
    warn(
      'spool hosts',
      `${one ? 'a handler process' : `${hosts.length} handler processes`} of an earlier session still ${one ? 'runs' : 'run'}: ${pids.join(', ')}`,
      owner?.state === 'alive'
        ? 'If they stay, they hang in the system: mend what they wait for (a mount, a device), or restart the machine.'
        : 'The next start of the worker ends them before it claims anything.',
    ),
  ];
}

/** One that runs. */
function hasWorker(owner: SpoolInspection['owner']): boolean {
  return owner?.state === 'alive' && owner.visit === undefined;
}

function ownerCheck({ owner }: SpoolInspection): Check {
  if (!owner) return ok('spool owner', 'nobody has used it yet');
  if (owner.visit !== undefined)
    return ok(
      'spool owner',
      `\`${owner.visit}\`, process ${owner.pid} on ${owner.hostName}, since ${owner.since}; no worker`,
    );
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

/** What the worker itself has met: 401, 403, 426 or a 404 that is about no attempt of it. */
function refusalChecks({ refusal, owner }: SpoolInspection): Check[] {
  if (refusal === undefined) return [];
  const lives = hasWorker(owner);
  return [
    warn(
      'spool refusal',
      `${lives ? 'since' : 'its last worker was refused, since'} ${refusal.at}: ${withoutKeys(refusal.why)}`,
      `${lives ? 'Put a key that is good into its key file: the worker reads it again within a minute, without a restart; where it came from INTERLOCK_WORKER_KEY, set that and start the worker again.' : 'Start the worker with a key that is good.'} A key: interlock keys new "${owner?.workerId ?? 'my worker'}" --kind task-worker. If the key is good, check the address (--url).`,
    ),
  ];
}

function debtCheck({ pending, bytes, oldestMs, running, owner, refusal }: SpoolInspection): Check {
  if (pending === 0) {
    return ok('spool debt', `every report has been answered${heldWords(running, owner)}`);
  }
  const oldest = oldestMs === null ? '' : `, the oldest for ${durationWords(oldestMs)}`;
  const says = `${count(pending, 'report is', 'reports are')} not answered yet (${sizeWords(bytes)})${oldest}`;
  if (hasWorker(owner) && (oldestMs ?? 0) < DEBT_MS) return ok('spool debt', says);
  return warn(
    'spool debt',
    says,
    hasWorker(owner)
      ? refusal === undefined
        ? 'The worker tries again by itself; see its log for why it gets no answer.'
        : 'The worker tries again by itself; the control plane refuses it until that is mended.'
      : 'Start the worker that owns the spool: it sends them first.',
  );
}

/** Of a worker that has gone, nothing is in work any more. */
function heldWords(running: number, owner: SpoolInspection['owner']): string {
  if (running === 0) return '';
  if (hasWorker(owner)) return `; ${count(running, 'attempt is', 'attempts are')} in work`;
  return `; ${count(running, 'attempt was', 'attempts were')} in work when its worker ended: the next start tells ${running === 1 ? 'it' : 'them'} as lost`;
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
        `Check the disk. To see them: interlock spool list --state corrupt${spoolFlag(folder)}; to remove them: interlock spool discard --all --state corrupt${spoolFlag(folder)}`,
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
  refusedSteps: readonly string[],
): Check[] {
  const checks: Check[] = [];
  if (setAside.refused > 0)
    checks.push(
      fail(
        'spool refused',
        `${count(setAside.refused, 'report was', 'reports were')} refused for good`,
        [`interlock spool list --state refused${spoolFlag(folder)} tells why.`, ...refusedSteps]
          .map((step) => step.replace(/^refused: /, ''))
          .join(' | '),
      ),
    );
  if (setAside.stale > 0) checks.push(checkStale(folder, setAside.stale, stale));
  if (checks.length === 0) checks.push(skip('spool aside', 'nothing was set aside'));
  return checks;
}

function writeFix(why: string | undefined): string {
  if (why === 'ENOSPC' || why === 'EDQUOT')
    return 'Free some space, 5 MB at least; the worker goes on by itself.';
  if (why === 'EROFS') return 'Mount the disk writable, or give another folder (--spool).';
  return 'Check the owner and the mode of the folder, or give another one (--spool).';
}

function count(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`;
}

/** A report is answered in milliseconds; a minute without is worth a look. */
const DEBT_MS = 60_000;
const SHOWN = 10;
