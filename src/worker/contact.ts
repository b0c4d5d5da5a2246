import { cutText } from '../contract/errors.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { Cadence, Contact } from '../core/readiness.ts';
import type { Clock } from '../ports/clock.ts';
import type { Answer } from '../ports/transport.ts';
import type { Attempts } from './attempts.ts';
import type { WorkerContext } from './context.ts';

/** When the worker last heard what. The loops write it; readiness and the watchdog are decided from it. */
export class ContactBook {
  readonly #clock: Clock;
  readonly startedAt: number;
  claimOkAt: number | undefined;
  renewalOkAt: number | undefined;
  callEndedAt: number | undefined;
  /** Presence is the call that is always due. */
  nextCallAt: number | undefined;
  claimingSince: number | undefined;
  claims: Cadence | undefined;
  lastFailure: string | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.startedAt = clock.now();
  }

  /** A call of any kind, with or without an answer. */
  ended(): void {
    this.callEndedAt = this.#clock.now();
  }

  claimOk(): void {
    this.claimOkAt = this.#clock.now();
    this.lastFailure = undefined;
  }

  renewalOk(): void {
    this.renewalOkAt = this.#clock.now();
    this.lastFailure = undefined;
  }

  /** A claim or renewal that did not succeed. */
  failed(answer: Exclude<Answer<unknown>, { kind: 'ok' }>): void {
    const why =
      answer.kind === 'no-answer'
        ? answer.why
        : `${answer.status} ${answer.problem.code}: ${answer.problem.detail ?? answer.problem.title ?? 'no detail'}`;
    this.lastFailure = cutText(why, WHY_CHARS);
  }

  /**
   * How often claims are due now; `undefined`: not at all. A slot that is free again, or hints that are gone, give it a
   * moment before it can be late; not while claims fail, else what comes and goes would hide an outage.
   */
  claimsDue(everyMs: number | undefined, failing: boolean): void {
    const { claims } = this;
    if (everyMs === claims?.everyMs) return;
    if (everyMs === undefined) this.claims = undefined;
    else if (failing || (claims && claims.everyMs < everyMs)) this.claims = { ...claims, everyMs };
    else this.claims = { everyMs, since: this.#clock.now() };
  }
}

export function contactOf(ctx: WorkerContext, attempts: Attempts): Contact {
  const { contact, ports } = ctx;
  return {
    now: ports.clock.now(),
    startedAt: contact.startedAt,
    lastClaimOkAt: contact.claimOkAt,
    lastRenewalOkAt: contact.renewalOkAt,
    lastCallEndedAt: contact.callEndedAt,
    nextCallAt: contact.nextCallAt,
    claimingSince: contact.claimingSince,
    // A report that waits for its answer is none: it is on disk, and a restart sends it.
    held: attempts.slots.held + attempts.slots.waiting,
    draining: ctx.draining || ctx.stopped,
    notClaiming: ctx.notClaiming ?? nothingToClaim(ctx, attempts),
    claims: contact.claims,
    renewals: renewals(attempts),
    lastFailure: contact.lastFailure,
  };
}

/** Why claims are not even due, where that is no sign of health. */
function nothingToClaim(ctx: WorkerContext, attempts: Attempts): string | undefined {
  const { handlers, maxConcurrent } = ctx.settings;
  if (handlers.length === 0) return 'it has no handlers, and only delivers what it still owes';
  const stuck = [...attempts].filter(({ state }) => state.slot && state.stuck).length;
  if (stuck >= maxConcurrent)
    return `each of its ${maxConcurrent} slots is held by a handler that was stopped or killed and does not go`;
  const { claimable } = attempts.slots;
  if (claimable === 0 || ctx.pauses.want(claimable, attempts.here()).length > 0) return undefined;
  const [first] = ctx.pauses.types;
  return `every type that it serves is paused here${first ? ` (${first.why})` : ''}`;
}

function renewals(attempts: Attempts): Cadence | undefined {
  let shortest = Number.POSITIVE_INFINITY;
  for (const held of attempts.toRenew()) {
    if (held.renewAt === Number.POSITIVE_INFINITY) continue;
    const third = held.leaseMs * workerDefaults.renewShare * (1 + workerDefaults.renewJitter);
    // One whose lease has run out is asked for more seldom.
    const due = held.leaseToldOut ? Math.max(third, workerDefaults.expiredRenewMs) : third;
    shortest = Math.min(shortest, due);
  }
  return Number.isFinite(shortest) ? { everyMs: shortest } : undefined;
}

/** Of an answer that is told in a sentence. */
const WHY_CHARS = 300;
