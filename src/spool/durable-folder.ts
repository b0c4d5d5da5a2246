import { join } from 'node:path';
import type { Disk } from '../ports/disk.ts';

/**
 * Puts whole files into a folder so that they survive a power cut: two fsyncs, file and folder. Those who come while the
 * folder is being synced share its next sync.
 */
export class DurableFolder {
  readonly #disk: Disk;
  readonly #folder: string;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#folder = folder;
  }

  /**
   * Resolves when file and name are durable. Rejects with the disk's error; then the file is not there (as far
   * as the disk still obeys). After a failed fsync nothing is known of that file: write another one.
   */
  async write(name: string, text: string): Promise<void> {
    const path = join(this.#folder, name);
    await this.#disk.writeFile(path, text);
    try {
      await this.#sync();
    } catch (error) {
      await this.#disk.remove(path).catch(() => {});
      throw error;
    }
  }

  #sync(): Promise<void> {
    if (!this.#running) return this.#start();
    // The sync under way may have begun before our name was there.
    this.#next ??= this.#running.catch(() => {}).then(() => this.#start());
    return this.#next;
  }

  #start(): Promise<void> {
    this.#next = undefined;
    const running = this.#disk.syncFolder(this.#folder).finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
