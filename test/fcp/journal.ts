/**
 * What FCP saw, in order: requests, the reports in them (sent alone or in a batch), and notes. Whoever waits
 * for something is asked again after each change; nothing polls. `t` is `performance.now()` of this process.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { AnswerBody } from './answers.ts';

export const BASE_PATH = '/api/tasks/v1';

export type Route =
  | 'discovery'
  | 'openapi'
  | 'present'
  | 'claim'
  | 'report'
  | 'batch'
  | 'hints'
  | 'doctor'
  | 'other';

/** A request's JSON as it was sent: the types say what belongs there, nobody has checked that it does. */
export interface Body {
  op?: string;
  taskId?: string;
  attemptId?: string;
  fence?: number;
  leaseToken?: string;
  workerId?: string;
  sessionId?: string;
  earlierSessions?: string[];
  requestId?: string;
  state?: string;
  slots?: { max: number; busy: number };
  pools?: string[];
  handlersHash?: string;
  handlers?: Record<string, unknown>[];
  want?: Want[];
  max?: number;
  leaseMs?: number;
  reports?: Body[];
  n?: number;
  percent?: number;
  message?: string;
  checkpoint?: unknown;
  lines?: { at: string; level: string; text: string }[];
  result?: unknown;
  error?: { code: string; message: string; retryable?: boolean; [key: string]: unknown };
  reason?: string;
  begun?: boolean;
  killed?: boolean;
  [key: string]: unknown;
}

export interface Want {
  type: string;
  schemaVersion: number;
  slots: number;
  effectSafety?: string;
  effectGate?: string;
}

export interface LoggedRequest {
  /** 1, 2, 3 … in the order in which requests had arrived whole. */
  n: number;
  /** When its headers arrived. */
  t: number;
  method: string;
  /** With the query, as sent. */
  path: string;
  query: URLSearchParams;
  route: Route;
  /** Of the address of a single report. */
  op?: string;
  attemptId?: string;
  /** Of the address (present, hints) or the body (claim). */
  workerId?: string;
  headers: IncomingHttpHeaders;
  bodyText: string;
  /** `undefined` if the text is no JSON object. */
  body: Body | undefined;
  /** The reports it carries: one for a single report, any number for a batch. */
  reports: Report[];
  socketId: number;
  /** What went to the worker, once the last byte was handed to the socket. */
  answered?: { t: number; status: number; body: unknown };
  /** Why no whole answer went out: by the script, a restart, or since the worker hung up. */
  cut?: 'before' | 'after' | 'midway' | 'raw' | 'restart' | 'client';
}

export interface Report {
  /** 1, 2, 3 … over all reports. */
  n: number;
  t: number;
  op: string;
  attemptId: string;
  taskId: string | undefined;
  fence: number | undefined;
  body: Body;
  via: 'single' | 'batch';
  request: LoggedRequest;
  /** Place in the batch. */
  index: number;
  /** What the control plane or an `onReport` rule decided; none if a rule kept the request from them. */
  answer?: { status: number; body: AnswerBody };
}

/** What the worker was told about one report, whoever said it; `undefined` while it was told nothing. */
export function toldAbout(report: Report): Told | undefined {
  const told = report.request.answered;
  if (!told) return undefined;
  const whole = told.body as AnswerBody | undefined;
  const inBatch = report.via === 'batch' && told.status === 200;
  const said = inBatch ? whole?.results?.[report.index] : { status: told.status, body: whole };
  if (!said) return undefined;
  const accepted = said.status === 200 && said.body?.accepted === true;
  return { t: told.t, status: said.status, accepted, code: said.body?.code };
}

export interface Told {
  t: number;
  status: number;
  accepted: boolean;
  code: string | undefined;
}

export type Found<T> = Exclude<T, false | null | undefined | 0 | ''>;

export interface UntilOptions {
  /** [10000] */
  timeoutMs?: number;
  /** What is waited for, for the message. */
  what?: string;
}

export class Journal {
  readonly requests: LoggedRequest[] = [];
  readonly reports: Report[] = [];
  readonly notes: { t: number; text: string }[] = [];
  readonly #checks = new Set<() => void>();
  readonly #rejects = new Set<(error: Error) => void>();
  /** The first mistake of a script; every wait ends with it. */
  failure: Error | undefined;

  note(text: string): void {
    this.notes.push({ t: performance.now(), text });
    this.changed();
  }

  changed(): void {
    for (const check of [...this.#checks]) check();
  }

  /** Ends every wait, present and future, with this error. */
  fail(error: Error): void {
    this.failure ??= error;
    for (const reject of [...this.#rejects]) reject(error);
  }

  /** Resolves with what `look` returns as soon as that is something; rejects with the timeline. */
  until<T>(look: () => T, options: UntilOptions = {}): Promise<Found<T>> {
    const { timeoutMs = 10_000, what = look.toString().replace(/\s+/g, ' ').slice(0, 200) } =
      options;
    return new Promise<Found<T>>((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer);
        this.#checks.delete(check);
        this.#rejects.delete(refuse);
        settle();
      };
      const refuse = (error: Error) => end(() => reject(error));
      const check = () => {
        try {
          const found = look();
          if (found instanceof Promise)
            throw new TypeError('until() takes a predicate that is not async');
          if (found) end(() => resolve(found as Found<T>));
        } catch (error) {
          refuse(error as Error);
        }
      };
      const timer = setTimeout(() => {
        refuse(new Error(`FCP waited ${timeoutMs} ms in vain for: ${what}\n${this.dump()}`));
      }, timeoutMs);
      this.#checks.add(check);
      this.#rejects.add(refuse);
      if (this.failure) refuse(this.failure);
      else check();
    });
  }

  /** The last lines of the timeline, without keys and tokens. */
  dump(lines = 80): string {
    const all = [
      ...this.requests.map((request) => ({ t: request.t, text: requestLine(request) })),
      ...this.notes,
    ].sort((a, b) => a.t - b.t);
    const from = all[0]?.t ?? 0;
    const shown = all.slice(-lines);
    const head = all.length > shown.length ? [`… ${all.length - shown.length} earlier lines`] : [];
    return [...head, ...shown.map((e) => `+${((e.t - from) / 1000).toFixed(3)} ${e.text}`)].join(
      '\n',
    );
  }
}

function requestLine(request: LoggedRequest): string {
  const what = request.reports.length
    ? request.reports.map((r) => `${r.op} ${r.attemptId.slice(-6)}${codeOf(r)}`).join(', ')
    : (request.body?.requestId ?? request.body?.state ?? '');
  const end = request.answered ? `→ ${request.answered.status}` : '→ no answer';
  const late = request.answered ? ` after ${Math.round(request.answered.t - request.t)} ms` : '';
  const cut = request.cut ? ` (cut: ${request.cut})` : '';
  const path = request.path.replace(/il_[\w-]+/g, 'il_…').slice(0, 120);
  return `#${request.n} socket ${request.socketId} ${request.method} ${path} ${what} ${end}${late}${cut}`;
}

function codeOf(report: Report): string {
  if (!report.answer) return '';
  const { status, body } = report.answer;
  return ` [${status}${body.code ? ` ${body.code}` : ''}${body.replayed ? ' replayed' : ''}]`;
}
