import { type ClaimRequest, type PresenceRequest, terminalOps } from '../src/contract/index.ts';
import { workerDefaults } from '../src/core/defaults.ts';
import { type OfferedAttempt, type SentCall, type SentReport, sameReport } from './wire-words.ts';

/** What a worker may never do on the wire, watched in simulated time, where nothing crosses by accident. */
export class WireWatch {
  readonly violations: string[] = [];
  readonly #claims = new Map<string, { text: string; max: number; waited: boolean }>();
  readonly #claimsOpen = new Set<SentCall>();
  /** By session. */
  readonly #fruitlessAt = new Map<string, number>();
  /** Sessions whose last claim brought nothing. */
  readonly #idle = new Set<string>();
  /** Sessions that said or were told something that ends their claims. */
  readonly #closed = new Set<string>();

  call(call: SentCall): void {
    if (call.kind === 'claim') this.#claim(call);
    if (call.kind !== 'present') return;
    const { sessionId, state } = call.request as PresenceRequest;
    if (state === 'draining' || state === 'offline') this.#closed.add(sessionId);
  }

  answered(call: SentCall): void {
    const { answer } = call;
    this.#claimsOpen.delete(call);
    const session = (call.request as { sessionId?: string } | undefined)?.sessionId ?? '';
    if (answer?.kind === 'refused' && answer.problem.code === 'SESSION_SUPERSEDED')
      this.#closed.add(session);
    if (answer?.kind !== 'ok') return;
    if ((answer.value as { drain?: boolean } | null)?.drain) this.#closed.add(session);
    if (call.kind !== 'claim') return;
    const { attempts } = answer.value as { attempts: unknown[] };
    // One look after work was found (and the first of all) is no loop; from the second in a row on they keep apart.
    if (attempts.length === 0 && this.#idle.has(session)) this.#fruitlessAt.set(session, call.at);
    if (attempts.length === 0) this.#idle.add(session);
    else this.#idle.delete(session);
  }

  report(sent: SentReport, offered: OfferedAttempt | undefined): void {
    const { report, at } = sent;
    const { op } = report;
    const say = (what: string) => {
      this.violations.push(`${op} of ${report.attemptId} at ${at}: ${what}`);
    };
    if (!offered) {
      say('of an attempt that was never given out');
      return;
    }
    const earlier = offered.sent.filter((one) => one !== sent);
    const told = earlier.filter(({ answeredAt }) => answeredAt !== undefined && answeredAt < at);
    const terminal = terminalOps.has(op);
    // In the very moment of the answer is after it.
    const accepted = (name: string) => earlier.some((one) => one.report.op === name && taken(one));
    const stale = told.find(
      ({ answer }) => answer?.kind === 'refused' && answer.problem.code === 'STALE_ATTEMPT',
    );
    const durable = earlier.some(
      (one) => terminalOps.has(one.report.op) && one.at <= (stale?.answeredAt ?? 0),
    );
    if (stale && !(durable && (terminal || op === 'renew') && !terminalOps.has(stale.report.op)))
      say('after STALE_ATTEMPT');
    const otherEnd = told.find((one) => terminalOps.has(one.report.op) && taken(one));
    if (otherEnd && !terminal) say('after its terminal report was accepted');
    if (terminal && otherEnd && !sameReport(otherEnd.report, report)) say('a second outcome');
    if (terminal && otherEnd && sameReport(otherEnd.report, report))
      say('sent again although it was accepted');
    const onTheWay = earlier.some((one) => one.report.op === op && one.answeredAt === undefined);
    if (op !== 'renew' && onTheWay) say('two on their way');
    if (op === 'start' && accepted('start')) say('a second start');
    const { effectGate, effectSafety } = offered.attempt;
    const startGate = effectSafety === 'non-idempotent' && effectGate === 'start';
    if (op === 'complete' && startGate && !accepted('start')) say('without its gate');
    if (op === 'release' && (accepted('effect') || (!startGate && accepted('start'))))
      say('although it began');
    const lostSpooled = earlier.some((one) => one.report.op === 'lost');
    if (op === 'renew' && lostSpooled) say('while its lost is spooled');
  }

  #claim(call: SentCall): void {
    const request = call.request as ClaimRequest;
    const say = (what: string) => this.violations.push(`claim at ${call.at}: ${what}`);
    const before = this.#claims.get(request.requestId);
    // One for nothing ends the wait of the same claim; one that waited is repeated without.
    const ends = before?.waited && request.waitMs === undefined;
    if (this.#claimsOpen.size > 0 && !(ends && request.max === 0)) say('two at once');
    this.#claimsOpen.add(call);
    const text = claimText(request, before?.max ?? request.max);
    if (before) {
      if (before.text !== text) say('a request id with another body');
      return;
    }
    const { max, waitMs } = request;
    this.#claims.set(request.requestId, { text, max, waited: waitMs !== undefined });
    if (this.#closed.has(request.sessionId)) say('although it had to end');
    const gap = call.at - (this.#fruitlessAt.get(request.sessionId) ?? Number.NEGATIVE_INFINITY);
    if (gap < workerDefaults.claimGapMs - 0.001) say(`${gap} ms after a fruitless one`);
    if (request.max < 1) say('for no slot');
  }
}

/** Accepted, and by an answer that names this report. */
function taken({ answer, report }: SentReport): boolean {
  if (answer?.kind !== 'ok') return false;
  const { attemptId, fence, op } = answer.value;
  return attemptId === report.attemptId && fence === report.fence && op === report.op;
}

/** Of the same claim for nothing, and of one that waits, too. */
function claimText(request: ClaimRequest, max: number): string {
  return JSON.stringify({
    ...request,
    max: request.max === 0 ? max : request.max,
    waitMs: undefined,
  });
}
