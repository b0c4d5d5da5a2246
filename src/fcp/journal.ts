/**
 * What FCP saw, in order: requests, the reports in them (sent alone or in a batch), and notes. Whoever waits
 * for something is asked again after each change; nothing polls. `t` is `performance.now()` of this process.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { AnswerBody } from './answers.ts';
import { foldedTimeline, type Note, playedLines, wholeTimeline } from './timeline.ts';

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
  waitMs?: number;
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
  /** What the script did with it, in words; none where the answer was the honest one. */
  played?: string;
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
  /** What an `onReport` rule did with it, in words. */
  played?: string;
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

/** What was waited for did not come, or what should not come came. The message ends with the timeline. */
export class Unmet extends Error {
  override readonly name = 'Unmet';
  /** Without the timeline. */
  readonly says: string;

  constructor(says: string, timeline: string) {
    super(`${says}\n${timeline}`);
    this.says = says;
  }
}

export interface UntilOptions {
  /** [that of FCP: 10000] */
  timeoutMs?: number;
  /** What is waited for, for the message; asked at its end where it is a function. */
  what?: string | (() => string);
}

export class Journal {
  readonly #waitMs: number;
  readonly requests: LoggedRequest[] = [];
  readonly reports: Report[] = [];
  readonly notes: Note[] = [];
  readonly #checks = new Set<() => void>();
  readonly #rejects = new Set<(error: Error) => void>();
  /** The first mistake of a script; every wait ends with it. */
  failure: Error | undefined;

  /** @param waitMs how long `until` waits where its caller says nothing. */
  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  note(text: string): void {
    this.notes.push({ t: performance.now(), text });
    this.changed();
  }

  /** A note on what the script did. */
  did(text: string): void {
    this.notes.push({ t: performance.now(), text, played: true });
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
    const { timeoutMs = this.#waitMs, what = look.toString().replace(/\s+/g, ' ').slice(0, 200) } =
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
        const words = typeof what === 'function' ? what() : what;
        const says = `The kit waited ${timeoutMs / 1_000} s in vain for: ${words}`;
        refuse(new Unmet(says, this.dump()));
      }, timeoutMs);
      this.#checks.add(check);
      this.#rejects.add(refuse);
      if (this.failure) refuse(this.failure);
      else check();
    });
  }

  /** The timeline without keys and tokens, what is alike folded. */
  dump(lines = 80): string {
    return foldedTimeline(this.requests, this.notes, lines).join('\n');
  }

  /** All of it, bounded, line by line. */
  timeline(): string[] {
    return wholeTimeline(this.requests, this.notes);
  }

  /** What the script did, each once, in order. */
  played(): string[] {
    return playedLines(this.requests, this.notes).map(({ text }) => text);
  }
}
