/** What a test wants to happen instead of the default: rules, asked in the order in which they were made. */
import type { Journal, LoggedRequest, Report, Route } from './journal.ts';

export type RequestMatch = Route | 'any' | 'reports' | ((request: LoggedRequest) => unknown);
export type ReportMatch = string | ((report: Report) => unknown);

export interface RuleOptions {
  /** How often the rule applies before it is spent [Infinity]. */
  times?: number;
}

export interface Rule<Subject> {
  /** What it has caught. */
  readonly seen: Subject[];
  off(): void;
}

/** Requests that carry at least one report of this op, alone or in a batch. */
export function carrying(op: string): (request: LoggedRequest) => boolean {
  return (request) => request.reports.some((report) => report.op === op);
}

export function matchesRequest(match: RequestMatch, request: LoggedRequest): boolean {
  if (typeof match === 'function') return Boolean(match(request));
  if (match === 'any') return true;
  if (match === 'reports') return request.route === 'report' || request.route === 'batch';
  return request.route === match;
}

export function matchesReport(match: ReportMatch, report: Report): boolean {
  return typeof match === 'function' ? Boolean(match(report)) : report.op === match;
}

export class Script<Match, Subject, Handler> {
  readonly #rules: { match: Match; handler: Handler; left: number; seen: Subject[] }[] = [];
  readonly #matches: (match: Match, subject: Subject) => boolean;
  readonly #journal: Journal;

  constructor(matches: (match: Match, subject: Subject) => boolean, journal: Journal) {
    this.#matches = matches;
    this.#journal = journal;
  }

  on(match: Match, handler: Handler, { times = Infinity }: RuleOptions = {}): Rule<Subject> {
    const rule = { match, handler, left: times, seen: [] as Subject[] };
    this.#rules.push(rule);
    return {
      seen: rule.seen,
      off: () => {
        rule.left = 0;
      },
    };
  }

  /** The handler for this subject, if a rule wants it; the rule is used up by one. */
  take(subject: Subject): Handler | undefined {
    try {
      const rule = this.#rules.find(({ left, match }) => left > 0 && this.#matches(match, subject));
      if (!rule) return undefined;
      rule.left--;
      rule.seen.push(subject);
      return rule.handler;
    } catch (error) {
      this.#journal.fail(error as Error);
      return undefined;
    }
  }
}
