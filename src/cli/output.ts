import type { Writable } from 'node:stream';

/** A pipe without a reader, a terminal that was closed, a stream that has ended. */
const LEFT = new Set([
  'EPIPE',
  'EIO',
  'ECONNRESET',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_PREMATURE_CLOSE',
]);

/**
 * Where a command writes. A reader that goes away (`| head`, a pager that was quit) is no fault: writing ends, the
 * command is told by `closed`, and nothing is printed about it. `write` waits for the reader, so that a long answer
 * neither fills memory nor is cut by the exit.
 */
export interface Output {
  write(text: string): Promise<void>;
  line(text?: string): Promise<void>;
  /** Nobody reads any more. */
  readonly closed: boolean;
  /** Why it could not be written, where that is not a reader who left: a full disk. */
  readonly fault: Error | undefined;
  /** What is written is thrown away: `/dev/null`, or closed before the start. */
  readonly nowhere: boolean;
  /** Aborts when nobody reads any more. */
  readonly gone: AbortSignal;
  /** All that was written has been taken, or nobody takes it. */
  flush(): Promise<void>;
}

/** @param nowhere as in `Output`. */
export function outputTo(stream: Writable, nowhere = false): Output {
  const gone = new AbortController();
  let fault: Error | undefined;
  const failed = (error: NodeJS.ErrnoException) => {
    if (!LEFT.has(error.code ?? '')) fault ??= error;
    gone.abort();
  };
  stream.on('error', failed);
  stream.on('close', () => gone.abort());
  const write = (text: string) =>
    new Promise<void>((resolve) => {
      if (gone.signal.aborted) return resolve();
      const done = () => {
        gone.signal.removeEventListener('abort', done);
        resolve();
      };
      gone.signal.addEventListener('abort', done, { once: true });
      stream.write(text, (error) => {
        if (error) failed(error);
        done();
      });
    });
  return {
    write,
    line: (text = '') => write(`${text}\n`),
    get closed() {
      return gone.signal.aborted;
    },
    get fault() {
      return fault;
    },
    nowhere,
    gone: gone.signal,
    flush: () => write(''),
  };
}
