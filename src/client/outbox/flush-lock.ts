import type { Clock } from '../../ports/clock.ts';
import type { Disk } from '../../ports/disk.ts';
import type { FolderLock } from '../../ports/folder-lock.ts';
import type { Log } from '../../ports/log.ts';
import type { ProcessInfo } from '../../ports/process-info.ts';
import { layoutOf } from '../../spool/layout.ts';
import { LockKeeper } from '../../spool/lock-keeper.ts';
import { closedOwner, type Owner } from '../../spool/owner.ts';
import { rewriteOwner, takeSpool } from '../../spool/owner-lock.ts';

export interface FlushLockPorts {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly log: Log;
  readonly lock: FolderLock;
  readonly processInfo: ProcessInfo;
}

/**
 * Who sends what other processes stored in the folder: one process at a time, so that a control plane that comes back is
 * not met by all of them with all of it. The spool's owner lock: a holder that has died holds it no longer. It only saves
 * work: two that send the same make one task.
 */
export class FlushLock {
  readonly #ports: FlushLockPorts;
  readonly #folder: string;
  readonly #tag: string;
  #held: { keeper: LockKeeper; owner: Owner } | undefined;
  #taking: Promise<string | undefined> | undefined;
  #closed = false;

  constructor(ports: FlushLockPorts, folder: string, tag: string) {
    this.#ports = ports;
    this.#folder = folder;
    this.#tag = tag;
  }

  get held(): boolean {
    return this.#held !== undefined;
  }

  /**
   * In words who holds it, or why it cannot be taken; `undefined`: this process holds it now. At once, but for a holder
   * that is out of sight (another host): then after 10 s. Never rejects.
   */
  take(): Promise<string | undefined> {
    this.#taking ??= this.#take().finally(() => {
      this.#taking = undefined;
    });
    return this.#taking;
  }

  async #take(): Promise<string | undefined> {
    if (this.#held) return undefined;
    const layout = layoutOf(this.#folder);
    let owner: Owner | undefined;
    const onLost = (why: string) => void this.#held?.keeper.altered(why);
    try {
      const make = () => {
        owner = this.#owner();
        return owner;
      };
      const taken = await takeSpool(this.#ports, layout, make, onLost);
      if (!taken.ok) {
        const { pid, hostName } = taken.error.details ?? {};
        return pid === undefined ? 'another process' : `process ${pid} on ${hostName}`;
      }
      const keeper = new LockKeeper(this.#ports, layout, this.#tag, taken.held, () => {
        this.#held = undefined;
      });
      this.#held = { keeper, owner: owner as Owner };
      if (!this.#closed) return undefined;
      await this.release();
      return 'nobody: it was closed meanwhile';
    } catch (error) {
      this.#ports.log.debug('outbox.lock', 'The lock of the outbox cannot be taken now.', {
        error,
      });
      return `nobody: the lock cannot be taken (${(error as Error).message})`;
    }
  }

  /** Twice is fine; never rejects. */
  async release(): Promise<void> {
    this.#closed = true;
    const held = this.#held;
    this.#held = undefined;
    if (!held) return;
    const owner = closedOwner(held.owner, this.#ports.clock.wall());
    // Without it (a full disk) the next one finds out that this process is gone.
    await rewriteOwner(this.#ports, layoutOf(this.#folder), owner).catch(() => {});
    await held.keeper.release();
  }

  #owner(): Owner {
    const { hostName, pid, startTime, bootId, pidNamespace } = this.#ports.processInfo.self;
    return {
      // The form is the spool's; a producer has no worker id.
      workerId: 'outbox',
      sessionId: this.#tag,
      earlierSessions: [],
      hostName,
      pid,
      startTime,
      bootId,
      pidNamespace,
      since: new Date(this.#ports.clock.wall()).toISOString(),
    };
  }
}
