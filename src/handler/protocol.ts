/**
 * What an agent and a handler host say to each other: frames of a 4-byte length and UTF-8 JSON, over two
 * pipes of their own (file descriptors 3 and 4 of the host). It is not Node's built-in channel: that one shows
 * itself to handlers as `process.send` and `process.on('message')`; this one they do not meet. Two pipes, so that
 * what a host said before its end can still be read when writing to it has failed.
 */
import type { TaskFailure } from '../contract/errors.ts';
import { hostDefaults } from '../core/defaults.ts';
import type { StopReason } from './errors.ts';

/** Where the host finds its channel: it reads from one and writes to the other. */
export const CHANNEL_FD = { fromAgent: 3, toAgent: 4 } as const;
/** Where a host of one job at a time finds its flight recorder (`recorder.ts`), if the agent could make one. */
export const RECORDER_FD = 5;
/** Tells a started process that it is a host, and which. The host removes it before it loads anything. */
export const ROLE_VARIABLE = 'INTERLOCK_HOST_ROLE';
export type HostRole = 'host' | 'shared' | 'probe';
/** Says whose host it is, so that a later session finds what an earlier one left behind. */
export const MARKER_VARIABLE = 'INTERLOCK_HOST_MARKER';
/** Says which host it is: what it starts inherits it, and is found by it wherever it has gone. */
export const ID_VARIABLE = 'INTERLOCK_HOST_ID';
/** Tells the host that the folder in Node's own variable beside it is the agent's choice and for it alone. */
export const CACHE_VARIABLE = 'INTERLOCK_HOST_CACHE';
export const NODE_CACHE_VARIABLE = 'NODE_COMPILE_CACHE';
/** In a standalone executable: makes a handler's own `fork()` run a script, not our program. */
export const RUN_AS_NODE_VARIABLE = 'INTERLOCK_RUN_AS_NODE';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface ProgressUpdate {
  readonly percent?: number;
  readonly message?: string;
  readonly checkpoint?: unknown;
}

/** One handler call (the carrier's job without the place of its code). */
export interface CallJob {
  readonly taskId: string;
  readonly attemptId: string;
  readonly attempt: number;
  readonly fence: number;
  readonly type: string;
  readonly schemaVersion: number;
  readonly effectKey: string;
  readonly effectGate: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly input: unknown;
  readonly checkpoint?: unknown;
  readonly traceparent?: string;
}

/** What the handler said itself. */
export type CallOutcome =
  | { readonly how: 'returned'; readonly result: unknown }
  | {
      readonly how: 'threw';
      readonly error: TaskFailure;
      /** The handler itself was never called, and never will be: its schema refused the input. */
      readonly begun?: false;
    }
  | { readonly how: 'unknown'; readonly error: TaskFailure }
  | { readonly how: 'stopped' };

/** Agent → host. `n` counts the calls of a host: what is late for an earlier one is dropped. */
export type ToHost =
  | {
      readonly t: 'load';
      readonly file: string;
      /** No other file is being loaded, so the process may end to say more about a failure. */
      readonly alone?: boolean;
      /** For a probe: the folder that what it has loaded is written to, for hosts. */
      readonly keepIn?: string;
      /** For a host: loads that instead of what lies on the disk by now. */
      readonly kept?: KeptCode;
    }
  | {
      readonly t: 'run';
      readonly n: number;
      readonly job: CallJob;
      /**
       * It may wait behind others of its kind. That it begins is written to the flight recorder and not told; absent: it is
       * told before the handler gets its input.
       */
      readonly short?: true;
    }
  /** What waits in the host and has not begun is to come back. */
  | { readonly t: 'recall' }
  | { readonly t: 'stop'; readonly n: number; readonly reason: StopReason }
  | { readonly t: 'gate'; readonly n: number; readonly refused?: string }
  /** The last progress was taken: another may be sent. */
  | { readonly t: 'more'; readonly n: number }
  /** For a shared host: answered as soon as its handlers let it, so that one that holds it up is found. */
  | { readonly t: 'ping' };

/** Host → agent. */
export type FromHost =
  | {
      readonly t: 'loaded';
      readonly file: string;
      readonly declaration: Declaration;
      /** From a probe that was told to keep code; absent where that cannot be told (Node before 22.15). */
      readonly code?: LoadedCode;
      /** From a probe: what the module says that is not heard. */
      readonly warnings?: readonly LoadProblem[];
    }
  | {
      readonly t: 'not-loaded';
      readonly file: string;
      readonly problem: LoadProblem;
      /** The place of a syntax error is known to the runtime only: it prints it when the process ends by it. */
      readonly unplaced?: boolean;
    }
  /** The call was taken; the handler gets its input right after this is out. */
  | { readonly t: 'begun'; readonly n: number }
  | { readonly t: 'progress'; readonly n: number; readonly update: ProgressUpdate }
  | { readonly t: 'log'; readonly n: number; readonly level: LogLevel; readonly text: string }
  | { readonly t: 'effect'; readonly n: number }
  | {
      readonly t: 'end';
      readonly n: number;
      readonly outcome: CallOutcome;
      readonly logBytesDropped: number;
      /** From its begin, microseconds. */
      readonly tookUs: number;
    }
  /** These have not begun and never will here: answers a `recall`, the `stop` of one that waits, or follows an end that was no plain one. */
  | { readonly t: 'back'; readonly ns: readonly number[] }
  /** Of a shared host: these calls were taken; their handlers get their inputs right after this is out. */
  | { readonly t: 'took'; readonly ns: readonly number[] }
  /** Of a shared host: it answers a `ping`. Of a probe: it has come up. */
  | { readonly t: 'pong' }
  /** Of a shared host: this call ends the process (`process.exit`). */
  | { readonly t: 'exits'; readonly n: number }
  /** Something broke outside of the call that it belongs to: take another host when this call is over. */
  | { readonly t: 'tainted'; readonly why: string };

/** The code of a handler as a probe has loaded it: its own file and every module of the user's that came with it. */
export interface LoadedCode {
  /** SHA-256, hex: of the modules' text and how they lie to each other. The same code in another folder has the same. */
  readonly hash: string;
  /**
   * SHA-256, hex: of all that a host would load, packages and places included. Where it is the same, a warm host of
   * before is as good as a new one.
   */
  readonly id: string;
  /** Why it was not written, as a sentence: then hosts load from the disk. */
  readonly notKept?: string;
}

/** Where the code of a handler is kept; a file whose SHA-256 is another is not taken. */
export interface KeptCode {
  readonly file: string;
  readonly id: string;
}

/** What a handler module says about itself. */
export interface Declaration {
  readonly effectSafety: 'pure' | 'idempotent' | 'non-idempotent';
  /** False where the module is silent, and `non-idempotent` is the careful default. */
  readonly safetyDeclared: boolean;
  readonly effectGate: 'start' | 'effect';
  /** Its calls may share a process with each other; absent: each has one of its own. */
  readonly host?: 'shared';
  readonly timeoutMs?: number;
  /** JSON Schema, where it can be told. */
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
}

/** Why a module cannot be served, and what to do. */
export interface LoadProblem {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** As they are at load: a handler may put others in their place. */
const { stringify: toText, parse: fromText } = JSON;

/** A frame as bytes. Throws a RangeError where it is too large. */
export function encodeFrame(frame: ToHost | FromHost): Buffer {
  const text = toText(frame);
  const bytes = Buffer.byteLength(text);
  if (bytes > hostDefaults.frameBytes) {
    throw new RangeError(
      `A message of ${bytes} bytes is too large: at most ${hostDefaults.frameBytes}.`,
    );
  }
  const buffer = Buffer.allocUnsafe(4 + bytes);
  buffer.writeUInt32BE(bytes, 0);
  buffer.write(text, 4);
  return buffer;
}

/** Puts chunks together to frames again. Keeps chunks as they come; a frame is copied once. */
export class FrameReader<Frame> {
  #chunks: Buffer[] = [];
  #held = 0;
  #wanted: number | undefined;
  #fault: Error | undefined;

  /** What came after the frames of the last chunk is none: the channel is lost. */
  get lost(): boolean {
    return this.#fault !== undefined;
  }

  /**
   * The frames that are complete with this chunk. Throws where it is no frame: then the channel is lost. Frames that came
   * whole before that are given first: then `lost` tells, and the next chunk throws.
   */
  push(chunk: Buffer): Frame[] {
    if (this.#fault !== undefined) throw this.#fault;
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    const frames: Frame[] = [];
    try {
      for (let frame = this.#next(); frame !== undefined; frame = this.#next()) frames.push(frame);
    } catch (error) {
      this.#fault = error as Error;
      this.#chunks = [];
      if (frames.length === 0) throw error;
    }
    return frames;
  }

  #next(): Frame | undefined {
    if (this.#wanted === undefined) {
      if (this.#held < 4) return undefined;
      this.#wanted = this.#take(4).readUInt32BE(0);
      if (this.#wanted > hostDefaults.frameBytes) throw new Error('The channel holds no frame.');
    }
    if (this.#held < this.#wanted) return undefined;
    const text = this.#take(this.#wanted).toString('utf8');
    this.#wanted = undefined;
    const frame = fromText(text) as Frame;
    if (typeof (frame as { t?: unknown } | null)?.t !== 'string') {
      throw new Error('The channel holds something else than frames.');
    }
    return frame;
  }

  #take(bytes: number): Buffer {
    const [first] = this.#chunks;
    this.#held -= bytes;
    if (first !== undefined && first.length >= bytes) {
      if (first.length === bytes) this.#chunks.shift();
      else this.#chunks[0] = first.subarray(bytes);
      return first.subarray(0, bytes);
    }
    const all = Buffer.concat(this.#chunks);
    this.#chunks = all.length === bytes ? [] : [all.subarray(bytes)];
    return all.subarray(0, bytes);
  }
}
