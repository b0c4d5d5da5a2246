import { spoolDefaults } from '../core/defaults.ts';
import type { HeldLock } from '../ports/folder-lock.ts';
import type { Log } from '../ports/log.ts';
import { isNoRoom } from './errors.ts';
import type { Layout } from './layout.ts';
import { type LockPorts, takeAgain } from './owner-lock.ts';
import { removeReserve } from './reserve.ts';

/** `taken`: by another process · `gone`: removed or moved away · `unreachable`: the disk does not let us see. */
export type Loss = 'taken' | 'gone' | 'unreachable';

/**
 * Keeps the lock of an open spool. When it was altered or taken away it is taken again if the spool is still ours;
 * else the spool is lost, which is told once.
 */
export class LockKeeper {
  readonly #ports: LockPorts & { readonly log: Log };
  readonly #layout: Layout;
  readonly #sessionId: string;
  readonly #onLost: (loss: Loss, why: string) => void;
  #held: HeldLock | undefined;
  #released = false;

  constructor(
    ports: LockPorts & { readonly log: Log },
    layout: Layout,
    sessionId: string,
    held: HeldLock,
    onLost: (loss: Loss, why: string) => void,
  ) {
    this.#ports = ports;
    this.#layout = layout;
    this.#sessionId = sessionId;
    this.#held = held;
    this.#onLost = onLost;
  }

  /** The lock was altered under us. Never rejects. */
  async altered(why: string): Promise<void> {
    const again = await this.#takeAgain();
    const held = typeof again === 'string' ? undefined : again;
    if (this.#released) {
      await held?.release();
      return;
    }
    this.#held = held;
    if (typeof again === 'string') {
      this.#onLost(again, why);
      return;
    }
    this.#ports.log.warn(
      'spool.lock-retaken',
      `The spool's lock was altered (${why}); it was taken again.`,
    );
  }

  /** Twice is fine. */
  async release(): Promise<void> {
    this.#released = true;
    await this.#held?.release();
  }

  async #takeAgain(): Promise<HeldLock | Loss> {
    for (let tries = 1; ; tries++) {
      try {
        return await takeAgain(this.#ports, this.#layout, this.#sessionId, (why) => {
          void this.altered(why);
        });
      } catch (cause) {
        // The lock is a folder, and finds no room: the spool is as good as ours, so its reserve may go.
        if (isNoRoom(cause)) await removeReserve(this.#ports.disk, this.#layout);
        // The disk may be in trouble for a moment (no file can be opened): that is not a loss yet.
        if (tries >= spoolDefaults.lockTries) return this.#unreachable();
        await this.#ports.clock.sleep(spoolDefaults.lockLookMs);
      }
    }
  }

  /** A folder that is not there any more takes no lock either. */
  async #unreachable(): Promise<Loss> {
    try {
      const there = await this.#ports.disk.stat(this.#layout.folder);
      return there === undefined ? 'gone' : 'unreachable';
    } catch {
      return 'unreachable';
    }
  }
}
