import { spoolDefaults } from '../../core/defaults.ts';
import type { Storage } from '../../system/storage.ts';
import { sizeWords } from '../size-words.ts';
import { type Check, ok, warn } from './check.ts';

/** What a spool lies on: whether it outlives what it has to, whether there is room, and how fast it is. */
export function checkStorage(
  storage: Storage | undefined,
  syncs: readonly number[] | undefined,
): Check[] {
  return [
    ...(storage ? [kindCheck(storage), ...roomChecks(storage)] : []),
    ...syncChecks(storage, syncs),
  ];
}

function kindCheck({ kind, name, freeBytes }: Storage): Check {
  const free = `${sizeWords(freeBytes)} free`;
  const doubt = (says: string, fix: string) => warn('spool disk', `${says}; ${free}`, fix);
  switch (kind) {
    case 'memory':
      return doubt(
        `it is in memory (${name}): a restart of the machine loses what is in it`,
        'Put it on a disk (--spool).',
      );
    case 'overlay':
      return doubt(
        `it is in the layer of a container (${name}): what is in it goes with the container`,
        'Mount a volume into the container and put it there (--spool).',
      );
    case 'network':
      return doubt(
        `it is on a network file system (${name}): locks and fsync are only as good as its server`,
        'Put it on a disk of this machine (--spool).',
      );
    case 'user-space':
      return doubt(
        `a program is the file system (${name}): locks and fsync are only as good as that`,
        'Put it on a disk of this machine (--spool), unless you know that program.',
      );
    case 'disk':
      return ok('spool disk', `${name}, ${free}`);
    default:
      return ok('spool disk', `${free}; what kind of file system it is cannot be seen`);
  }
}

function roomChecks({ freeBytes, freeFiles }: Storage): Check[] {
  const checks: Check[] = [];
  if (freeBytes < LOW_BYTES)
    checks.push(
      warn(
        'spool room',
        `only ${sizeWords(freeBytes)} are free: reports that pile up while the control plane is away may need ${sizeWords(LOW_BYTES)}`,
        'Free some space, or put it on a larger disk (--spool).',
      ),
    );
  if (freeFiles !== undefined && freeFiles < LOW_FILES)
    checks.push(
      warn(
        'spool room',
        `only ${freeFiles} more files can be made there (inodes)`,
        'Remove files that are not needed, or put it on another disk (--spool).',
      ),
    );
  return checks;
}

function syncChecks(storage: Storage | undefined, syncs: readonly number[] | undefined): Check[] {
  if (!syncs?.length) return [];
  const sorted = [...syncs].sort((a, b) => a - b);
  const median = sorted[sorted.length >> 1] as number;
  const says = `it takes ${msWords(median)} (median of ${syncs.length}), at most ${msWords(sorted.at(-1) as number)}`;
  // In memory nothing else is to be expected, and that is told already.
  if (median < FAST_MS && storage?.kind !== 'memory')
    return [
      warn(
        'spool fsync',
        `${says}: faster than a disk can be, so a power cut may lose what it called durable`,
        'Check the disk’s write cache and the mount options (a virtual disk may be set to ignore flushes).',
      ),
    ];
  if (median > SLOW_MS)
    return [
      warn(
        'spool fsync',
        `${says}: each report waits for two of them before it is sent`,
        'Put it on a faster disk (--spool), or see what else keeps this one busy.',
      ),
    ];
  return [ok('spool fsync', says)];
}

function msWords(ms: number): string {
  return `${ms < 10 ? Number(ms.toPrecision(2)) : Math.round(ms)} ms`;
}

/** The bound of the spool itself (`spoolDefaults.pendingBytes`). */
const LOW_BYTES = spoolDefaults.pendingBytes;
/** A file holds a group of reports; a worker that is cut off for a day makes some hundreds. */
const LOW_FILES = 1_000;
/** The fastest disks with a protected cache need 20 to 30 µs for a page and its journal; a call that does nothing needs 1. */
const FAST_MS = 0.01;
/** A busy hard disk or SD card needs 20 to 80 ms. */
const SLOW_MS = 100;
