import { StringDecoder } from 'node:string_decoder';
import type { TaskFailure } from '../contract/errors.ts';
import { limits } from '../contract/limits.ts';
import { largeResult, unwritableResult } from '../contract/result-bound.ts';
import { hostDefaults } from '../core/defaults.ts';
import { type RunningCall, startCall } from './call.ts';
import type { ContextDoor } from './context.ts';
import type { Handler } from './declaration.ts';
import type { StopReason } from './errors.ts';
import { ProgressValve } from './progress-valve.ts';
import type { CallJob, CallOutcome, FromHost, LogLevel, ToHost } from './protocol.ts';

/** Where a call says something. */
export interface CallOut {
  /** @returns its bytes; one of more than `maxBytes` is not taken. Throws what JSON has against it. */
  add(frame: FromHost, maxBytes?: number): number;
  /** Out with it now: what follows may hold this thread, or end it. */
  flush(): void;
}

/**
 * One call in a host. Phases: taken → running → over. What it says is out at once, for it may hold the thread
 * right after it; when its end goes out is up to who started it.
 */
export class HostCall implements ContextDoor {
  readonly n: number;
  over = false;
  readonly #job: CallJob;
  readonly #out: CallOut;
  readonly #monotonicMs: () => number;
  #progress: ProgressValve | undefined;
  #running: RunningCall | undefined;
  #stopped: StopReason | undefined;
  #lines: Record<'stdout' | 'stderr', PrintedLines> | undefined;
  #logBytes = 0;
  #logBytesDropped = 0;
  #begunAt = 0;

  constructor(n: number, job: CallJob, out: CallOut, monotonicMs: () => number) {
    this.n = n;
    this.#job = job;
    this.#out = out;
    this.#monotonicMs = monotonicMs;
  }

  /** @param ended called once, when its end was said. */
  start(handler: Handler, ended: (call: HostCall, how: CallOutcome['how']) => void): void {
    const end = (outcome: CallOutcome) => {
      this.#progress?.flush();
      this.#lines?.stdout.end();
      this.#lines?.stderr.end();
      this.over = true;
      this.#end(outcome);
      ended(this, outcome.how);
    };
    this.#begunAt = this.#monotonicMs();
    // Told to stop before it was called: it never is.
    if (this.#stopped !== undefined) {
      end({ how: 'stopped' });
      return;
    }
    this.#running = startCall(handler, this.#job, this);
    void this.#running.outcome.then(end);
  }

  heard(frame: Exclude<ToHost, { t: 'load' | 'run' | 'recall' | 'ping' }>): void {
    if (frame.t === 'stop') {
      this.#stopped = frame.reason;
      this.#running?.abort(frame.reason);
    } else if (frame.t === 'more') this.#progress?.more();
    else if (frame.refused === undefined) this.#running?.openGate();
    else this.#running?.refuseGate(frame.refused);
  }

  /** It was told to stop. */
  get stopped(): boolean {
    return this.#stopped !== undefined;
  }

  crashed(thrown: unknown): void {
    this.#running?.crashed(thrown);
  }

  /** Written to a stream of the process by this call. @returns whether it could be taken. */
  printed(stream: 'stdout' | 'stderr', chunk: unknown, encoding: unknown): boolean {
    let bytes: string | Buffer;
    if (typeof chunk === 'string')
      bytes =
        typeof encoding === 'string' && !/^utf-?8$/i.test(encoding)
          ? Buffer.from(chunk, encoding as BufferEncoding)
          : chunk;
    else if (chunk instanceof Uint8Array) bytes = Buffer.from(chunk);
    else return false; // The stream has the words for it.
    this.#lines ??= {
      stdout: new PrintedLines((line) => this.log('info', line)),
      stderr: new PrintedLines((line) => this.log('warn', line)),
    };
    this.#lines[stream].push(bytes);
    return true;
  }

  progress(update: Parameters<ContextDoor['progress']>[0]): void {
    this.#progress ??= new ProgressValve(
      (update) => this.#say({ t: 'progress', n: this.n, update }),
      this.#monotonicMs,
    );
    this.#progress.put(update);
  }

  log(level: LogLevel, text: string): void {
    const bytes = Buffer.byteLength(text) + hostDefaults.logLineOverheadBytes;
    if (this.#logBytes + bytes > hostDefaults.logBytes) {
      this.#logBytesDropped += bytes;
      return;
    }
    this.#logBytes += bytes;
    this.#say({ t: 'log', n: this.n, level, text });
  }

  effectRequested(): void {
    this.#say({ t: 'effect', n: this.n });
  }

  #say(frame: FromHost): void {
    this.#out.add(frame);
    this.#out.flush();
  }

  #end(outcome: CallOutcome): void {
    let error: TaskFailure;
    try {
      const bytes = this.#out.add(this.#endFrame(outcome), hostDefaults.resultBytes);
      if (bytes <= hostDefaults.resultBytes) return;
      error = largeResult(bytes, hostDefaults.resultBytes);
    } catch (cause) {
      error = unwritableResult(cause);
    }
    this.#out.add(this.#endFrame({ how: 'threw', error }));
  }

  #endFrame(outcome: CallOutcome): FromHost {
    const tookUs = Math.max(0, Math.round((this.#monotonicMs() - this.#begunAt) * 1_000));
    return { t: 'end', n: this.n, outcome, logBytesDropped: this.#logBytesDropped, tookUs };
  }
}

/** Lines of what is printed in pieces. One without an end is cut at its bound. */
class PrintedLines {
  readonly #tell: (line: string) => void;
  #partial = '';
  #skipping = false;
  /** A character may come in two pieces. */
  readonly #decoder = new StringDecoder('utf8');

  constructor(tell: (line: string) => void) {
    this.#tell = tell;
  }

  push(chunk: string | Buffer): void {
    const text =
      typeof chunk === 'string' ? this.#decoder.end() + chunk : this.#decoder.write(chunk);
    const lines = text.split('\n');
    const last = lines.pop() ?? '';
    for (const line of lines) {
      if (!this.#skipping) this.#tell((this.#partial + line).replace(/\r$/, ''));
      this.#skipping = false;
      this.#partial = '';
    }
    if (this.#skipping) return;
    this.#partial += last;
    if (this.#partial.length <= limits.logLineBytes) return;
    // The agent cuts it to its bytes and says so.
    this.#tell(this.#partial.slice(0, limits.logLineBytes + 1));
    this.#partial = '';
    this.#skipping = true;
  }

  end(): void {
    this.#partial += this.#skipping ? '' : this.#decoder.end();
    if (this.#partial !== '') this.#tell(this.#partial);
    this.#partial = '';
  }
}
