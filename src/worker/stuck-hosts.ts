import type { ReportOf } from '../contract/index.ts';
import { hostDefaults } from '../core/defaults.ts';
import { stillRunning } from '../core/lost-evidence.ts';
import type { OldHosts } from '../ports/old-hosts.ts';
import type { RecoveredRunning } from '../spool/index.ts';
import type { WorkerContext } from './context.ts';
import { type Held, label } from './held.ts';
import type { RunAttempt } from './run-attempt.ts';

/**
 * Handler processes of an earlier session that were killed and do not go (they hang in the kernel). Their attempts keep
 * their slots; nothing is said or renewed for them until they are seen gone, then each is told as lost. Woken by its own
 * look once a second; sends nothing itself; ends when nothing is left, or with the worker.
 */
export class StuckHosts {
  readonly #ctx: WorkerContext;
  readonly #run: RunAttempt;
  readonly #old: OldHosts;
  readonly #lostOf: (record: RecoveredRunning) => ReportOf<'lost'>;
  readonly #held = new Map<RecoveredRunning, Held>();

  constructor(
    ctx: WorkerContext,
    run: RunAttempt,
    old: OldHosts,
    lostOf: (record: RecoveredRunning) => ReportOf<'lost'>,
  ) {
    this.#ctx = ctx;
    this.#run = run;
    this.#old = old;
    this.#lostOf = lostOf;
  }

  hold(stuck: ReadonlyMap<RecoveredRunning, readonly number[]>): void {
    const { log } = this.#ctx.ports;
    const known = new Set([...stuck.values()].flat());
    for (const [record, pids] of stuck) {
      this.#held.set(record, this.#run.attempts.addStuck(record, pids));
      log.error(
        'handler.stuck',
        `The handler of ${label({ attempt: record })}, started by an earlier process of this worker, was killed but does not go (process ${pids.join(', ')}). It keeps a slot, and nothing is reported for it until it is gone. ${ADVICE}`,
        { attemptId: record.attemptId, pids },
      );
    }
    const others = this.#old.left.map(({ pid }) => pid).filter((pid) => !known.has(pid));
    if (others.length > 0)
      log.error(
        'host.left',
        `Handler processes of an earlier session do not go away, and run nothing that is owed: ${others.join(', ')}. ${ADVICE}`,
        { pids: others },
      );
    void this.#watch();
  }

  async #watch(): Promise<void> {
    while (this.#held.size > 0) {
      await this.#ctx.pause(hostDefaults.orphansLookMs);
      if (this.#ctx.stopped) return;
      const left = stillRunning([...this.#held.keys()], await this.#old.look());
      for (const [record, held] of this.#held) {
        const pids = left.get(record);
        if (pids !== undefined) held.leftPids = pids;
        else this.#gone(record, held);
      }
    }
  }

  #gone(record: RecoveredRunning, held: Held): void {
    this.#held.delete(record);
    this.#ctx.ports.log.info(
      'handler.gone',
      `The handler of ${label(held)}, started by an earlier process of this worker, is gone at last; the attempt is told as lost.`,
      { attemptId: record.attemptId },
    );
    this.#run.attempts.unstick(held, this.#lostOf(record));
    this.#run.writeReport(held);
  }
}

const ADVICE =
  'It hangs in the kernel, mostly on a disk or a driver: mend that, or restart the machine.';
