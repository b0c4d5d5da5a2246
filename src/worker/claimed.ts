import { careInWords as inWords, lessCareful } from '../contract/care.ts';
import { type Attempt, attemptIdentity, attempt as attemptSchema } from '../contract/index.ts';
import { typeKey } from '../contract/names.ts';
import { plainAttempt } from '../contract/plain-answers.ts';
import { sentence } from '../contract/sentence.ts';
import { four } from '../core/attempt-report.ts';
import { backoffMs } from '../core/backoff.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { RunningRecord } from '../spool/index.ts';
import type { ClaimedAhead } from './ahead.ts';
import type { Attempts } from './attempts.ts';
import type { ServedHandler, WorkerContext } from './context.ts';
import { type Held, label, type Named } from './held.ts';
import type { ReportLoop } from './report-loop.ts';

export interface Taken {
  /** How many attempts the answer brought that we can run. */
  readonly granted: number;
  /** Nothing may be claimed before that: the disk refuses what claims bring. */
  readonly notBefore: number;
}

/**
 * What becomes of the attempts in a claim's answer: read one by one, taken up to the free slots, recorded on disk, then
 * given their slots. What cannot be run here is given back.
 */
export class Claimed {
  readonly #ctx: WorkerContext;
  readonly #attempts: Attempts;
  readonly #reports: ReportLoop;
  readonly #ahead: ClaimedAhead;
  /** Records in a row that the disk refused. */
  #notRecorded = 0;

  constructor(ctx: WorkerContext, attempts: Attempts, reports: ReportLoop, ahead: ClaimedAhead) {
    this.#ctx = ctx;
    this.#attempts = attempts;
    this.#reports = reports;
    this.#ahead = ahead;
  }

  /**
   * @param sentAt when the claim was sent, or, of one that waited, for what it had waited then: leases count from there.
   * @param room how many there is room for, those ahead of a slot included.
   */
  async take(items: readonly unknown[], sentAt: number, room: number): Promise<Taken> {
    const fresh: Held[] = [];
    let granted = 0;
    let left = room;
    let free = this.#attempts.slots.claimable;
    for (const item of items) {
      const read = this.#read(item, sentAt);
      if (read === undefined) continue;
      granted++;
      if (this.#ctx.draining || left-- <= 0) {
        const reason = this.#ctx.draining ? 'drain' : 'no-slot';
        this.#giveBack(read.attempt, reason, { leaseMs: read.attempt.leaseMs, sentAt });
      } else {
        const held = this.#attempts.add(read.attempt, read.handler, sentAt);
        if (free-- <= 0) this.#ahead.came(held);
        fresh.push(held);
      }
    }
    if (granted > 0) this.#ctx.wake.renew.wake();
    for (const held of fresh)
      this.#ctx.ports.log.info('attempt.claimed', `${label(held)} was claimed.`, {
        taskId: held.attempt.taskId,
        attemptId: held.attempt.attemptId,
        fence: held.attempt.fence,
        attempt: held.work?.attempt.attempt,
      });
    return { granted, notBefore: fresh.length === 0 ? 0 : await this.#begin(fresh) };
  }

  /**
   * Without its running record nothing is begun that must not run twice. What may begins beside the write: where that is lost
   * with this process, the attempt's lease runs out. Resolves with the time before which nothing may be claimed.
   */
  async #begin(fresh: readonly Held[]): Promise<number> {
    const { clock, log, random, spool } = this.#ctx.ports;
    const claimedAt = new Date(clock.wall()).toISOString();
    for (const held of fresh) held.workedAt = { claimedAt };
    const records = fresh.map((held) => runningRecord(held, claimedAt));
    const written = spool.recordClaim(records);
    for (const held of fresh) held.recorded = held.state.effectSafety === 'pure';
    this.#attempts.grantSlots();
    try {
      await written;
    } catch (cause) {
      this.#ctx.spoolFailed(cause);
      const back = fresh.filter((held) => this.#attempts.giveBack(held, 'spool'));
      for (const held of back) this.#reports.add(held);
      const begun = fresh.length - back.length;
      const unrecorded =
        begun === 0
          ? ''
          : ` ${begun} that may run again ${begun === 1 ? 'has' : 'have'} begun without a record: should this process end first, nobody is told before the lease runs out.`;
      log.error(
        'spool.trouble',
        `What a claim brought could not be recorded, so what has not begun is given back: ${sentence(cause instanceof Error ? cause.message : String(cause))}${unrecorded}`,
        { attempts: fresh.length, begun },
      );
      // A spool that says it is well again and refuses the next record too must not use up tasks.
      return clock.now() + backoffMs(workerDefaults.retry, ++this.#notRecorded, random.fraction());
    }
    this.#notRecorded = 0;
    for (const held of fresh) held.recorded = true;
    this.#attempts.grantSlots();
    return 0;
  }

  #read(item: unknown, sentAt: number): { attempt: Attempt; handler: ServedHandler } | undefined {
    let attempt = plainAttempt(item);
    if (attempt === undefined) {
      const parsed = attemptSchema.safeParse(item);
      if (!parsed.success) {
        const why = parsed.error.issues
          .slice(0, 5)
          .map((issue) => `${issue.path.join('.')} ${issue.message}`)
          .join('; ');
        this.#unreadable(item, why, sentAt);
        return undefined;
      }
      attempt = parsed.data;
    }
    // An attempt is begun once, whatever an answer says: a repeated claim brings back what we already have.
    if (this.#attempts.had(attempt.attemptId)) {
      if (this.#attempts.get(attempt.attemptId) === undefined)
        this.#ctx.ports.log.debug(
          'attempt.known',
          `Attempt ${attempt.attemptId} was here before; it is not run again.`,
        );
      return undefined;
    }
    const handler = this.#ctx.served.byType.get(typeKey(attempt.type, attempt.schemaVersion));
    if (handler === undefined) {
      this.#ctx.ports.log.warn(
        'attempt.no-handler',
        `${label({ attempt })} is given back: there is no handler for it here.`,
        { attemptId: attempt.attemptId },
      );
      this.#giveBack(attempt, 'no-handler', { leaseMs: attempt.leaseMs, sentAt });
      return undefined;
    }
    // Fixed here: a reload after this answer changes nothing for what it brought.
    if (lessCareful(attempt, handler)) {
      const [claimedAs, isNow] = [inWords(attempt), inWords(handler)];
      this.#ctx.ports.log.info(
        'attempt.handler-changed',
        `${label({ attempt })} is given back: it was claimed as ${claimedAs}, and its handler, read again since, is ${isNow}. The next claim asks for it as that.`,
        { attemptId: attempt.attemptId, claimedAs, isNow },
      );
      this.#giveBack(attempt, 'handler-changed', { leaseMs: attempt.leaseMs, sentAt });
      return undefined;
    }
    return { attempt, handler };
  }

  #unreadable(item: unknown, why: string, sentAt: number): void {
    const { log } = this.#ctx.ports;
    const identity = attemptIdentity.safeParse(item);
    if (!identity.success) {
      log.error('attempt.undecodable', `An attempt without a readable identity came: ${why}`);
      return;
    }
    const { attemptId } = identity.data;
    if (this.#attempts.had(attemptId)) return;
    log.error(
      'attempt.undecodable',
      `Attempt ${attemptId} could not be read and is given back: ${why}`,
      { attemptId },
    );
    const { leaseMs } = item as { leaseMs?: unknown };
    this.#giveBack({ type: 'unknown', schemaVersion: 1, ...identity.data }, 'undecodable', {
      leaseMs: typeof leaseMs === 'number' && leaseMs > 0 ? leaseMs : workerDefaults.unknownLeaseMs,
      sentAt,
    });
  }

  #giveBack(
    attempt: Named,
    reason: string,
    lease: { readonly leaseMs: number; readonly sentAt: number },
  ): void {
    const report = { op: 'release' as const, ...four(attempt), reason };
    this.#reports.add(this.#attempts.addReported(attempt, report, undefined, lease));
  }
}

function runningRecord(held: Held, claimedAt: string): RunningRecord {
  const { effectSafety, effectGate } = held.state;
  return {
    ...four(held.attempt),
    type: held.attempt.type,
    schemaVersion: held.attempt.schemaVersion,
    effectSafety,
    effectGate,
    claimedAt,
  };
}
