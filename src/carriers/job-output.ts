import { hostDefaults } from '../core/defaults.ts';
import type { FromHost } from '../handler/protocol.ts';
import type { Job, JobListener } from '../ports/carrier.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { JobLog } from './job-log.ts';
import { OutputLines } from './output-lines.ts';

/** Whoever hears a handler may be at fault: its job goes on to its end all the same. */
export function safely(log: Log, say: () => void): void {
  try {
    say();
  } catch (error) {
    const text = `What a handler said could not be delivered: ${String(error)}`;
    log.error('host.not-heard', text, { stack: (error as Error)?.stack });
  }
}

/**
 * A job that is over holds these in place of its own: old tables of maps that it was in keep it for a while (see
 * `Held.letGo`), so it must hold little.
 */
export const NO_JOB: Job = {
  ...{ taskId: '', attemptId: '', attempt: 0, fence: 0, type: '', schemaVersion: 0, effectKey: '' },
  ...{ effectSafety: 'pure', effectGate: 'start', labels: {}, input: null },
};
export const nobody: JobListener = {
  begun: () => {},
  progress: () => {},
  log: () => {},
  effectRequested: () => {},
};

/** What a job says before its end: progress, its log, what its process prints. Made when it is needed: most say nothing. */
export class JobOutput {
  readonly #clock: Clock;
  #listener: JobListener;
  #log: JobLog | undefined;
  #stdout: OutputLines | undefined;
  #stderr: OutputLines | undefined;
  #more: Timer | undefined;
  #effectAsked = false;
  #over = false;

  constructor(clock: Clock, listener: JobListener) {
    this.#clock = clock;
    this.#listener = listener;
  }

  add(...line: Parameters<JobLog['add']>): void {
    this.#lines.add(...line);
  }

  /** @param more asks for the next progress. */
  heard(frame: FromHost, more: () => void): void {
    if (frame.t === 'log') this.#lines.add(frame.level, frame.text);
    else if (frame.t === 'progress') {
      this.#listener.progress(frame.update);
      this.#more ??= this.#clock.timer(hostDefaults.progressEveryMs, () => {
        this.#more = undefined;
        more();
      });
    } else if (frame.t === 'effect') {
      if (!this.#effectAsked) this.#listener.effectRequested();
      this.#effectAsked = true;
    }
  }

  drop(bytes: number): void {
    if (bytes > 0) this.#lines.drop(bytes);
  }

  printed(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    if (stream === 'stdout') {
      this.#stdout ??= new OutputLines(this.#lines, 'info');
      this.#stdout.push(chunk);
    } else {
      this.#stderr ??= new OutputLines(this.#lines, 'warn');
      this.#stderr.push(chunk);
    }
  }

  /** Nothing more comes; nobody is told after it. */
  end(): void {
    this.#more?.cancel();
    try {
      this.#stdout?.end();
      this.#stderr?.end();
      this.#log?.end();
    } finally {
      this.#over = true;
      this.#listener = nobody;
    }
  }

  get #lines(): JobLog {
    this.#log ??= new JobLog(this.#clock, (lines) => this.#over || this.#listener.log(lines));
    return this.#log;
  }
}
