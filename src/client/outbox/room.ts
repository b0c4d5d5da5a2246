import { join } from 'node:path';
import { outboxDefaults } from '../../core/defaults.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Disk } from '../../ports/disk.ts';
import { outboxError } from './errors.ts';
import type { OutboxLayout } from './layout.ts';

/**
 * Whether there is room for more. What this process adds and removes is counted as it happens, what others do when it
 * is looked again: now and then, and before anything is refused.
 */
export class OutboxRoom {
  readonly #ports: { readonly disk: Disk; readonly clock: Clock };
  readonly #layout: OutboxLayout;
  readonly #names: () => Promise<readonly string[]>;
  #size: { files: number; bytes: number; readonly atMs: number } | undefined;
  #measuring: Promise<void> | undefined;

  constructor(
    ports: { readonly disk: Disk; readonly clock: Clock },
    layout: OutboxLayout,
    names: () => Promise<readonly string[]>,
  ) {
    this.#ports = ports;
    this.#layout = layout;
    this.#names = names;
  }

  /** Throws `OUTBOX_FULL`. */
  async take(bytes: number): Promise<void> {
    const nowMs = this.#ports.clock.now();
    const { measureEveryMs } = outboxDefaults;
    if (!this.#size || nowMs - this.#size.atMs > measureEveryMs) await this.#measure();
    // Others may have sent some since.
    if (this.#isOver(bytes) && (this.#size?.atMs ?? 0) < nowMs) await this.#measure();
    if (this.#isOver(bytes)) {
      const { files = 0, bytes: held = 0 } = this.#size ?? {};
      throw outboxError(
        'OUTBOX_FULL',
        `The outbox ${this.#layout.folder} is full (${files} files, ${held} bytes), so the submission is not stored.`,
        { details: { files, bytes: held } },
      );
    }
    this.#add(1, bytes);
  }

  giveBack(bytes: number): void {
    this.#add(-1, -bytes);
  }

  #isOver(bytes: number): boolean {
    const { files = 0, bytes: held = 0 } = this.#size ?? {};
    return files >= outboxDefaults.files || held + bytes > outboxDefaults.bytes;
  }

  #add(files: number, bytes: number): void {
    if (!this.#size) return;
    this.#size.files += files;
    this.#size.bytes += bytes;
  }

  /** Those who come together look together. */
  #measure(): Promise<void> {
    this.#measuring ??= this.#count().finally(() => {
      this.#measuring = undefined;
    });
    return this.#measuring;
  }

  async #count(): Promise<void> {
    const { disk, clock } = this.#ports;
    const atMs = clock.now();
    const names = await this.#names();
    let bytes = 0;
    for (const name of names)
      bytes += (await disk.stat(join(this.#layout.intents, name)))?.bytes ?? 0;
    this.#size = { files: names.length, bytes, atMs };
  }
}
