/**
 * A host of the pool: a process that has one handler's file loaded and runs one call of it at a time.
 * Phases: loading → idle ⇄ busy → retired. A retired one is killed as soon as it is not busy, and leaves the
 * pool when it is gone.
 */

import type { TaskFailure } from '../contract/errors.ts';
import { hostDefaults } from '../core/defaults.ts';
import { encodeFrame, type FromHost } from '../handler/protocol.ts';
import type { HandlerCode } from '../ports/carrier.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { type HostGone, type HostListener, HostProcess } from './host-process.ts';
import type { NewProcesses } from './new-processes.ts';
import type { SpawnOptions } from './spawn-host.ts';

/** Why a host serves nothing; `undefined` from `ready` means that it does. */
export type NotReady = TaskFailure;

export interface HostContext {
  readonly spawn: SpawnOptions;
  readonly clock: Clock;
  readonly log: Log;
  readonly newProcesses: NewProcesses;
  readonly startMs: number;
  readonly callsMax: number;
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
  readonly callsMax: number;
  loaded = false;
  /** Takes no further call: why, for the log. */
  retired: string | undefined;
  readonly #log: Log;
  readonly #resting: HostListener;

  constructor(file: string, code: HandlerCode | undefined, context: HostContext) {
    const { spawn, clock, log, newProcesses, startMs } = context;
    this.file = file;
    this.code = code;
    this.callsMax = context.callsMax;
    this.#log = log;
    this.#resting = {
      frame: (frame) => {
        if (frame.t !== 'tainted') return;
        this.taint(frame.why);
        context.tainted(this);
      },
      output: () => {},
    };
    const mark = newProcesses.mark();
    this.process = new HostProcess(spawn, clock, log);
    void this.process.started.then((pid) => pid && newProcesses.verify(mark, pid));
    const kept = code?.kept === undefined ? {} : { kept: { file: code.kept, id: code.id } };
    this.process.write(encodeFrame({ t: 'load', file, ...kept }));
    this.ready = this.#load(clock, startMs).then((failure) => {
      if (failure) this.retire('not loaded');
      else this.kept = new Set(newProcesses.since(mark, this.process.kin));
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
  taint(why: string): void {
    const text = `In a host of ${this.file} something was thrown that nobody caught: ${why}. The host is replaced as soon as its call is over.`;
    this.#log.warn('host.tainted', text, { pid: this.process.pid, file: this.file });
    this.retire('something was thrown in it that nobody caught');
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
          if (frame.t === 'loaded' || frame.t === 'not-loaded') resolve(frame);
        },
        output: () => {},
      });
    });
    const first = await Promise.race([answer, this.process.gone]);
    timer.cancel();
    this.hear(undefined);
    if ('t' in first) {
      if (first.t === 'loaded') return undefined;
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
