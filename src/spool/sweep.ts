import { basename } from 'node:path';
import { spoolDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';
import type { Disk } from '../ports/disk.ts';
import { isProbe } from './layout.ts';
import { oddity } from './private.ts';

/**
 * Removes what killed writers left, behind the lock: nobody else writes under these names, but a doctor's probes, which
 * must be old. Only plain files of our own: whatever else has such a name was not written by a spool. Never rejects.
 */
export async function sweep(
  ports: { readonly disk: Disk; readonly clock: Clock },
  temporaries: readonly string[],
): Promise<void> {
  const { disk, clock } = ports;
  for (const path of temporaries) {
    try {
      const seen = await disk.look(path);
      if (!seen || oddity(seen, 'file') !== undefined) continue;
      if (isProbe(basename(path))) {
        const stat = await disk.stat(path);
        // Far in the future is as old: a clock was wrong once.
        const ageMs = Math.abs(clock.wall() - (stat?.modifiedMs ?? 0));
        if (ageMs < spoolDefaults.probeOldMs) continue;
      }
      await disk.remove(path);
    } catch {
      // It stays until the next start.
    }
  }
}
