/**
 * Reads an event stream (SSE) with a bound on what may be unfinished. Line ends are made one before the
 * parser sees them: it would hold back an event whose last line ends in CR until the next byte comes.
 */
import { createParser } from 'eventsource-parser';
import { wireDefaults } from '../core/defaults.ts';

export interface StreamListener {
  /** An event with data; `message` where the stream names none. */
  event(name: string, data: string): void;
  /** Bytes came, whatever they mean: comments and half lines too. */
  bytes(): void;
}

/** `oversize`: an event or line grew beyond the bound, and the rest was not read. */
export type StreamEnd =
  | { readonly kind: 'ended' | 'oversize' }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Resolves when the stream is over, or `signal` aborts; the body is then let go. Never rejects. */
export async function readEventStream(
  body: ReadableStream<Uint8Array>,
  listener: StreamListener,
  signal: AbortSignal,
): Promise<StreamEnd> {
  let oversize = false;
  const parser = createParser({
    maxBufferSize: wireDefaults.streamFrameChars,
    onEvent: ({ event, data }) => listener.event(event ?? 'message', data),
    onError: ({ type }) => {
      // Unknown fields and bad `retry` values are no errors to us.
      if (type === 'max-buffer-size-exceeded') oversize = true;
    },
  });
  const lines = oneLineEnd();
  // A byte order mark at the beginning is dropped; characters may be split between chunks.
  const decoder = new TextDecoder();
  const reader = body.getReader();
  // A body that does not heed the signal of its request must not hold us either.
  const leave = () => void reader.cancel().catch(() => {});
  signal.addEventListener('abort', leave);
  if (signal.aborted) leave();
  let over = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        over = true;
        return { kind: 'ended' };
      }
      listener.bytes();
      const text = lines(decoder.decode(value, { stream: true }));
      if (text !== '') parser.feed(text);
      if (oversize) return { kind: 'oversize' };
    }
  } catch (error) {
    over = true;
    return { kind: 'failed', error };
  } finally {
    signal.removeEventListener('abort', leave);
    if (!over) leave();
  }
}

/** CR LF, CR and LF become LF, at once, also where CR and LF come in two pieces. */
function oneLineEnd(): (text: string) => string {
  let afterCr = false;
  return (text) => {
    if (text === '') return '';
    const rest = afterCr && text.startsWith('\n') ? text.slice(1) : text;
    afterCr = text.endsWith('\r');
    return rest.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest;
  };
}
