import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Makes durable which names a folder has: a file that was synced is gone after a power cut where its name was not. */
export function syncFolder(folder: string, platform: NodeJS.Platform = process.platform): void {
  // Windows opens no folder for that; NTFS journals its names in the order of the calls.
  if (platform === 'win32') return;
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } catch (error) {
    // A file system without this call (some network and user-space ones): there is nothing more to do.
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'EINVAL' && code !== 'ENOTSUP') throw error;
  } finally {
    closeSync(fd);
  }
}
