/**
 * What a worker may not do, watched on everything that it sends, whatever a script answers. Messages cross on
 * the wire, so a worker is only held to an answer that went out at least `graceMs` before.
 */
import { type Attempt, gateOf } from './attempts.ts';
import { type LoggedRequest, type Report, toldAbout } from './journal.ts';
import { canonical, ENDS, OPS } from './reports.ts';
import { placeInBody } from './secrets.ts';
import { bearer, type Sessions } from './sessions.ts';
import type { Tasks } from './tasks.ts';

export type ViolationKind =
  | 'no-contract-header'
  | 'secret-in-address'
  | 'secret-in-body'
  | 'unknown-route'
  | 'invalid-request'
  | 'unknown-op'
  | 'unknown-attempt'
  | 'claim-while-draining'
  | 'claim-after-superseded'
  | 'request-id-reused'
  | 'claim-hot-loop'
  | 'report-after-stale'
  | 'report-after-end'
  | 'second-start'
  | 'second-outcome'
  | 'gate-skipped'
  | 'release-after-start'
  | 'two-on-their-way';

export interface Violation {
  kind: ViolationKind;
  t: number;
  /** Number of the request in the log. */
  request: number;
  attemptId?: string;
  detail: string;
}

/** What goes with a durable report whatever else was refused: its lease, and what was said before it. */
const OWED = ['renew', 'start', 'progress', 'log'];
/** A session may claim every 200 ms; 14 new claims in 2 s allow for late arrivals. */
const CLAIM_WINDOW_MS = 2_000;
const CLAIMS_IN_WINDOW = 14;

export class Violations {
  readonly list: Violation[] = [];
  readonly #tolerated: ViolationKind[];
  readonly #graceMs: number;
  readonly #tasks: Tasks;
  readonly #sessions: Sessions;
  /** Per session: when it said, or was told, something that ends its claims. */
  readonly #ends = new Map<
    string,
    { t: number; kind: 'claim-while-draining' | 'claim-after-superseded' }
  >();
  readonly #claims = new Map<
    string,
    { t: number; requestId: string; text: string; request: LoggedRequest }[]
  >();
  /** Every one that was sent. */
  readonly #keys = new Set<string>();
  readonly #sessionAt = new WeakMap<Report, string | undefined>();

  constructor(
    tasks: Tasks,
    sessions: Sessions,
    { graceMs, tolerate }: { graceMs: number; tolerate: ViolationKind[] },
  ) {
    this.#tasks = tasks;
    this.#sessions = sessions;
    this.#graceMs = graceMs;
    this.#tolerated = tolerate;
  }

  add(kind: ViolationKind, request: LoggedRequest, detail: string, attemptId?: string): void {
    if (this.#tolerated.includes(kind)) return;
    this.list.push({ kind, t: performance.now(), request: request.n, attemptId, detail });
  }

  /** Watches a request that has arrived whole, before it is answered. */
  watch(request: LoggedRequest): void {
    if (request.headers['interlock-contract'] !== '1') {
      const said = request.headers['interlock-contract'] ?? 'none';
      this.add('no-contract-header', request, `${request.method} ${request.route} carries ${said}`);
    }
    const key = bearer(request);
    const address = decodeURIComponentSafely(request.path);
    const token = this.#tasks.tokenIn(address);
    if (
      token !== undefined ||
      /\bil_\w/.test(address) ||
      (key !== undefined && address.includes(key))
    ) {
      this.add(
        'secret-in-address',
        request,
        `a key or token is in the address of ${request.method} ${request.route}`,
      );
    }
    if (key !== undefined) this.#keys.add(key);
    this.#body(request);
    if (request.route === 'claim') this.#claim(request);
    for (const report of request.reports) this.#report(report);
  }

  #body(request: LoggedRequest): void {
    const holdsKey = (text: string) => [...this.#keys].some((key) => text.includes(key));
    const holdsToken = (text: string) => this.#tasks.tokenIn(text) !== undefined;
    for (const [what, isSecret] of [
      ['the key', holdsKey],
      ['a leaseToken', holdsToken],
    ] as const) {
      const place = placeInBody(request, isSecret);
      if (place === undefined) continue;
      const where = place === '' ? 'the body' : `"${place}"`;
      this.add(
        'secret-in-body',
        request,
        `${what} is in ${where} of ${request.method} ${request.route}`,
      );
    }
  }

  /** Takes note of what an answered request means for later ones. */
  answered(request: LoggedRequest): void {
    const { body, workerId, answered } = request;
    if (!answered || !body?.sessionId) return;
    const told = answered.body as { code?: string; drain?: boolean } | undefined;
    const end = (kind: 'claim-while-draining' | 'claim-after-superseded') => {
      const id = `${workerId} ${body.sessionId}`;
      if (!this.#ends.has(id)) this.#ends.set(id, { t: answered.t, kind });
    };
    const said = request.route === 'present' && ['draining', 'offline'].includes(body.state ?? '');
    if (said || told?.drain === true) end('claim-while-draining');
    if (told?.code === 'SESSION_SUPERSEDED') end('claim-after-superseded');
  }

  #claim(request: LoggedRequest): void {
    const { workerId, sessionId, requestId = '' } = request.body ?? {};
    const id = `${workerId} ${sessionId}`;
    const claims = this.#claims.get(id) ?? [];
    this.#claims.set(id, claims);
    const first = claims.find((claim) => claim.requestId === requestId);
    if (first) {
      if (first.text !== request.bodyText && !endsWait(first.request, request)) {
        this.add('request-id-reused', request, `${requestId} came with another body`);
      }
      return;
    }
    const end = this.#ends.get(id);
    if (end && request.t > end.t + this.#graceMs) {
      const after = Math.round(request.t - end.t);
      this.add(end.kind, request, `a new claim ${after} ms after session ${sessionId} had to end`);
    }
    claims.push({ t: request.t, requestId, text: request.bodyText, request });
    // One look after a claim that brought work is no loop: only fruitless ones after fruitless ones count.
    const recent = claims.filter(
      ({ t, request: claim }, i) =>
        t > request.t - CLAIM_WINDOW_MS &&
        !broughtWork(claim) &&
        !(claims[i - 1] && broughtWork((claims[i - 1] as (typeof claims)[0]).request)),
    );
    if (recent.length > CLAIMS_IN_WINDOW) {
      const detail = `${recent.length} new claims without work in ${CLAIM_WINDOW_MS} ms`;
      this.add('claim-hot-loop', request, detail);
    }
  }

  #report(report: Report): void {
    const { op, request, attemptId } = report;
    const add = (kind: ViolationKind, detail: string) => this.add(kind, request, detail, attemptId);
    if (!OPS.includes(op)) add('unknown-op', `"${op}"`);
    const attempt = this.#tasks.attempt(attemptId);
    if (!attempt) {
      add('unknown-attempt', `${op} for an attempt that was never given out`);
      return;
    }
    this.#sessionAt.set(report, this.#sessions.worker(attempt.workerId).sessionId);
    const earlier = attempt.reports.filter((other) => other !== report && other.n < report.n);
    const before = report.t - this.#graceMs;
    const told = earlier.filter((other) => (toldAbout(other)?.t ?? Infinity) < before);
    this.#afterStale(report, earlier, told, add);
    const ended = told.some((other) => other.op in ENDS && toldAbout(other)?.accepted);
    if (ended && !(op in ENDS))
      add('report-after-end', `${op} after the answer to a terminal report`);
    if (op in ENDS) this.#outcome(report, attempt, earlier, add);
    if (
      op === 'start' &&
      told.some((other) => other.op === 'start' && toldAbout(other)?.accepted)
    ) {
      add('second-start', 'a start after the answer to an earlier start');
    }
    // Those of one batch are in order.
    const onTheWay = (other: Report) =>
      other.op === op && other.request !== request && !other.request.answered && !other.request.cut;
    if ((op === 'progress' || op === 'log') && earlier.some(onTheWay)) {
      add('two-on-their-way', `a second ${op} before the first was answered`);
    }
  }

  /**
   * A terminal report that was durable before a renewal was told stale is sent all the same. FCP cannot see
   * the disk: it takes one for durable that it has seen, or that comes within the grace.
   */
  #afterStale(report: Report, earlier: Report[], told: Report[], add: Add): void {
    const stale = told.filter((other) => toldAbout(other)?.code === 'STALE_ATTEMPT');
    const first = stale[0];
    if (!first) return;
    const since = toldAbout(first)?.t ?? 0;
    const durable = earlier.some((other) => other.op in ENDS && other.t < since + this.#graceMs);
    const outcome = stale.find((other) => other.op in ENDS);
    if (durable && !outcome && (report.op in ENDS || OWED.includes(report.op))) return;
    add('report-after-stale', `${report.op} after ${(outcome ?? first).op} was told STALE_ATTEMPT`);
  }

  #outcome(report: Report, attempt: Attempt, earlier: Report[], add: Add): void {
    const { op } = report;
    const session = this.#sessionAt.get(report);
    const other = earlier.find(
      (one) =>
        one.op in ENDS &&
        one.op !== 'release' &&
        one.answer?.body.accepted &&
        this.#sessionAt.get(one) === session &&
        canonical(one) !== canonical(report),
    );
    if (other) add('second-outcome', `${op} after ${other.op} was accepted`);
    const had = (name: string) =>
      earlier.some(
        (one) => one.op === name && (one.answer?.body.accepted || toldAbout(one)?.accepted),
      );
    if (op === 'complete' && gateOf(attempt) === 'start' && !had('start')) {
      add('gate-skipped', 'a result of a non-idempotent attempt whose start was never accepted');
    }
    const begun = gateOf(attempt) === undefined ? had('start') : had('effect');
    if (op === 'release' && begun) add('release-after-start', 'the handler had begun');
  }
}

type Add = (kind: ViolationKind, detail: string) => void;

function broughtWork(claim: LoggedRequest): boolean {
  const body = claim.answered?.body as { attempts?: unknown[] } | undefined;
  return (body?.attempts?.length ?? 0) > 0;
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The same claim, but that it does not wait any more, or is for nothing. */
function endsWait({ body: first }: LoggedRequest, { body: next }: LoggedRequest): boolean {
  if (first?.waitMs === undefined || next?.waitMs !== undefined) return false;
  const rest = { ...first, max: next?.max === 0 ? 0 : first.max, waitMs: undefined };
  return JSON.stringify(rest) === JSON.stringify(next);
}
