import {
  type BigIntStatsFs,
  closeSync,
  constants,
  fsyncSync,
  openSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * What a folder lies on. `memory` is gone with the machine's next start, `overlay` with its container; over a `network`, and
 * through a `user-space` file system, locks and fsync are only as good as what is behind.
 */
export interface Storage {
  readonly kind: 'disk' | 'memory' | 'overlay' | 'network' | 'user-space' | 'unknown';
  /** `ext4`, `tmpfs` …; the number of one that is not known. */
  readonly name: string;
  /** For this user. */
  readonly freeBytes: number;
  /** Files (inodes) that can still be made; `undefined` where there is no such bound. */
  readonly freeFiles?: number;
}

/** `undefined` where there is no such folder, or the system does not tell. */
export async function storageOf(
  folder: string,
  platform: NodeJS.Platform = process.platform,
): Promise<Storage | undefined> {
  try {
    return storage(await statfs(folder, { bigint: true }), platform);
  } catch {
    return undefined;
  }
}

/** @param found as `statfs` gives it. */
export function storage(
  found: Pick<BigIntStatsFs, 'type' | 'bavail' | 'bsize' | 'files' | 'ffree'>,
  platform: NodeJS.Platform,
): Storage {
  const type = Number(BigInt.asUintN(32, found.type));
  // Elsewhere the numbers mean something else, and differ between versions.
  const known = platform === 'linux' ? TYPES.get(type) : undefined;
  const [kind, name] =
    known ?? (['unknown', platform === 'linux' ? `0x${type.toString(16)}` : 'unknown'] as const);
  return {
    kind,
    name,
    freeBytes: Number(found.bavail * found.bsize),
    ...(found.files > 0n && { freeFiles: Number(found.ffree) }),
  };
}

/**
 * How long fsync takes, in ms, one number a round: what was written before each differs and is new. The calls are
 * synchronous, so that nothing else of this process is measured. The file is removed. Throws the disk's error.
 *
 * @param name of a file that is not there; one that a kill leaves must be one that the folder's owner sweeps.
 */
export function timeSyncs(folder: string, name: string, rounds: number): number[] {
  const path = join(folder, name);
  const { O_CREAT, O_EXCL, O_WRONLY } = constants;
  const file = openSync(path, O_CREAT | O_EXCL | O_WRONLY, 0o600);
  try {
    return Array.from({ length: rounds }, (_, round) => {
      writeSync(file, Buffer.alloc(BLOCK_BYTES, 1 + round), 0, BLOCK_BYTES, round * BLOCK_BYTES);
      const began = process.hrtime.bigint();
      fsyncSync(file);
      return Number(process.hrtime.bigint() - began) / 1e6;
    });
  } finally {
    closeSync(file);
    unlinkSync(path);
  }
}

/** A page: the least that a disk writes. */
const BLOCK_BYTES = 4_096;

/** `f_type` of statfs(2) on Linux. */
const TYPES: ReadonlyMap<number, readonly [Storage['kind'], string]> = new Map([
  [0xef53, ['disk', 'ext4']],
  [0x58465342, ['disk', 'xfs']],
  [0x9123683e, ['disk', 'btrfs']],
  [0x2fc12fc1, ['disk', 'zfs']],
  [0xf2f52010, ['disk', 'f2fs']],
  [0xca451a4e, ['disk', 'bcachefs']],
  [0x4d44, ['disk', 'vfat']],
  [0x2011bab0, ['disk', 'exfat']],
  [0x7366746e, ['disk', 'ntfs3']],
  [0x5346544e, ['disk', 'ntfs']],
  [0x3153464a, ['disk', 'jfs']],
  [0x52654973, ['disk', 'reiserfs']],
  [0xf15f, ['disk', 'ecryptfs']],
  [0x01021994, ['memory', 'tmpfs']],
  [0x858458f6, ['memory', 'ramfs']],
  [0x794c7630, ['overlay', 'overlay']],
  [0x61756673, ['overlay', 'aufs']],
  [0x6969, ['network', 'nfs']],
  [0xff534d42, ['network', 'cifs']],
  [0xfe534d42, ['network', 'smb']],
  [0x517b, ['network', 'smb']],
  [0x01021997, ['network', '9p']],
  [0x00c36400, ['network', 'ceph']],
  [0x5346414f, ['network', 'afs']],
  [0x6b414653, ['network', 'afs']],
  [0x01161970, ['network', 'gfs2']],
  [0x7461636f, ['network', 'ocfs2']],
  [0x0bd00bd0, ['network', 'lustre']],
  [0x47504653, ['network', 'gpfs']],
  [0x786f4256, ['network', 'vboxsf']],
  [0x65735546, ['user-space', 'fuse']],
]);
