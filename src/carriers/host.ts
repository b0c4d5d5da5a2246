/**
 * A host of the pool: a process that has one handler's file loaded and runs one call of it at a time.
 * Phases: loading → idle ⇄ busy → retired. A retired one is killed as soon as it is not busy, and leaves the
 * pool when it is gone.
 */

import type { TaskFailure } from '../contract/errors.ts';
import { hostDefaults } from '../core/defaults.ts';
import { type Declaration, encodeFrame, type FromHost } from '../handler/protocol.ts';
import type { HandlerCode, Job } from '../ports/carrier.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { HostJobs } from './host-jobs.ts';
import type { HostGone, HostListener, HostProcess } from './host-process.ts';
import type { HostStart } from './host-starts.ts';
import { type WearLimits, wornOut } from './host-wear.ts';
import { misread } from './misread.ts';
import type { NewProcesses } from './new-processes.ts';
import { residentBytes } from './resident.ts';

/** Why a host serves nothing; `undefined` from `ready` means that it does. */
export type NotReady = TaskFailure;

export interface HostContext {
  readonly start: HostStart;
  readonly clock: Clock;
  readonly log: Log;
  readonly newProcesses: NewProcesses;
  readonly startMs: number;
  /** Something broke in it while it had no job. */
  tainted(host: Host): void;
}

export class Host {
  readonly file: string;
  readonly code: HandlerCode | undefined;
  readonly process: HostProcess;
  /** Never rejects; `undefined` when the module is loaded. */
  readonly ready: Promise<NotReady | undefined>;
  /** Processes that the module started while it was loaded: they stay as long as the host. */
  kept: ReadonlySet<number> = new Set();
  calls = 0;
  loaded = false;
  /** The short jobs that are in it; made with the first. */
  short: HostJobs | undefined;
  /** Takes no further call: why, for the log. */
  retired: string | undefined;
  #declaration: Declaration | undefined;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #since: number;
  readonly #resting: HostListener;
  #looked: { readonly at: number; readonly firstBytes: number | undefined } | undefined;

  constructor(file: string, code: HandlerCode | undefined, context: HostContext) {
    const { start, clock, log, newProcesses, startMs } = context;
    this.file = file;
    this.code = code;
    this.#log = log;
    this.#clock = clock;
    this.#since = clock.now();
    this.#resting = {
      frame: (frame) => {
        if (frame.t !== 'tainted') return;
        this.taint(frame.why);
        context.tainted(this);
      },
      output: () => {},
    };
    this.process = start.process;
    const kept = code?.kept === undefined ? {} : { kept: { file: code.kept, id: code.id } };
    this.process.write(encodeFrame({ t: 'load', file, ...kept }));
    this.ready = this.#load(clock, startMs).then((failure) => {
      if (failure) this.retire('not loaded');
      else this.kept = new Set(newProcesses.since(start.mark, this.process.kin));
      this.loaded = failure === undefined;
      return failure;
    });
  }

  hear(listener: HostListener | undefined): void {
    this.process.listener = listener;
  }

  /** It has no job: nobody else hears it. */
  rest(): void {
    this.hear(this.#resting);
  }

  /** Something broke in it outside of the call that it belongs to. */
  taint(why: string, next = 'The host is replaced as soon as its call is over.'): void {
    const text = `In a host of ${this.file} something was thrown that nobody caught: ${why}. ${next}`;
    this.#log.warn('host.tainted', text, { pid: this.process.pid, file: this.file });
    this.retire('something was thrown in it that nobody caught');
  }

  /**
   * Where its code is not kept, its file may say something else by now than the worker read: why this job must not run
   * in it. `undefined`: it may, or nothing is loaded yet.
   */
  unfit(job: Job): NotReady | undefined {
    const why = this.#declaration && misread(job, this.#declaration);
    return why === undefined ? undefined : notLoaded(`${this.file} ${why}`);
  }

  /** Between two calls: why a new one had better take its place. */
  worn(limits: WearLimits): string | undefined {
    const now = this.#clock.now();
    const wear = { calls: this.calls, ageMs: now - this.#since };
    const looked = this.#looked;
    const look = looked === undefined || now - looked.at >= hostDefaults.hostLookMs;
    const nowBytes = look ? residentBytes(this.process.pid) : undefined;
    const firstBytes = looked === undefined ? nowBytes : looked.firstBytes;
    if (look) this.#looked = { at: now, firstBytes };
    return wornOut({ ...wear, firstBytes, nowBytes }, limits);
  }

  /** Takes no more calls; the first reason stays. */
  retire(why: string): void {
    this.retired ??= why;
  }

  async #load(clock: Clock, startMs: number): Promise<NotReady | undefined> {
    let timedOut = false;
    const timer = clock.timer(startMs, () => {
      timedOut = true;
      this.process.kill('It took too long to load.');
    });
    const answer = new Promise<FromHost>((resolve) => {
      this.hear({
        frame: (frame) => {
          // Said in the moment of its kill: too late.
          if (timedOut) return;
          if (frame.t === 'loaded' || frame.t === 'not-loaded') resolve(frame);
        },
        output: () => {},
      });
    });
    const first = await Promise.race([answer, this.process.gone]);
    timer.cancel();
    this.hear(undefined);
    if ('t' in first) {
      if (first.t === 'loaded') {
        this.#declaration = first.declaration;
        return undefined;
      }
      this.process.kill('Its handler could not be loaded.');
      const problem = first.t === 'not-loaded' ? first.problem : undefined;
      return notLoaded(`${this.file}: ${problem?.message} ${problem?.hint}`);
    }
    if (first.notStarted !== undefined) {
      return { code: 'HOST_NOT_STARTED', message: first.notStarted, retryable: true };
    }
    if (timedOut) {
      return notLoaded(
        `${this.file} was not loaded within ${startMs / 1_000} s. Look for a top-level await that does not end, or a very large module.`,
      );
    }
    const last = this.process.stderrTail.text.trim().slice(-hostDefaults.stderrToldChars);
    return notLoaded(
      `The process of ${this.file} ended while the file was loading (${exitText(first)}).${last && ` It said: ${last}`}`,
    );
  }
}

function notLoaded(message: string): NotReady {
  return { code: 'HANDLER_NOT_LOADED', message: message.toWellFormed(), retryable: true };
}

/** `exit code 7`, `signal SIGKILL`. */
export function exitText(gone: HostGone): string {
  return gone.signal === undefined ? `exit code ${gone.exitCode}` : `signal ${gone.signal}`;
}
