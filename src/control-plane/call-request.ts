import { serverDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';
import { type Refusal, refusal } from './answer.ts';

/** A request as the calls see it, whichever door it came through (`fetch`, or the socket's own: `direct.ts`). */
export interface CallRequest {
  /** As it was asked for, with its query. */
  readonly url: string;
  /** Aborted when the peer has gone. */
  readonly signal: AbortSignal;
  /** @param name in lower case. @returns all values of that name, joined by `, `; `null`: there is none. */
  header(name: string): string | null;
  /** The body as it came, or why it is not taken. Asked for once. Rejects where the peer breaks off. */
  bytes(maxBytes: number, clock: Clock): Promise<Uint8Array | Refusal>;
  /** The same where all of it is here already, and nobody has to wait for it. */
  here?(maxBytes: number): Uint8Array | Refusal;
}

export function ofFetch(request: Request): CallRequest {
  return {
    url: request.url,
    get signal() {
      return request.signal;
    },
    header: (name) => request.headers.get(name),
    bytes: (maxBytes, clock) => readBytes(request, maxBytes, clock),
  };
}

async function readBytes(
  request: Request,
  maxBytes: number,
  clock: Clock,
): Promise<Uint8Array | Refusal> {
  const announced = Number(request.headers.get('content-length') ?? Number.NaN);
  if (announced > maxBytes) {
    if (announced <= serverDefaults.discardBytes) await discard(request.body?.getReader(), clock);
    return tooLarge(maxBytes);
  }
  // HTTP keeps a peer to the length it announced; without one the body is counted while it comes.
  if (Number.isInteger(announced)) return new Uint8Array(await request.arrayBuffer());
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > maxBytes) {
      chunks.length = 0;
      await discard(reader, clock);
      return tooLarge(maxBytes);
    }
    chunks.push(value);
  }
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks);
}

/** Many clients send their whole body before they look for an answer: a connection that is cut meanwhile has none. */
async function discard(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  clock: Clock,
): Promise<void> {
  if (!reader) return;
  const end = () => void reader.cancel().catch(() => {});
  const timer = clock.timer(serverDefaults.discardMs, end);
  try {
    for (let bytes = 0; bytes < serverDefaults.discardBytes; ) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.byteLength;
    }
    end();
  } catch {
    // Whoever breaks off wants no answer.
  } finally {
    timer.cancel();
  }
}

/** What is left of the body is not read: the connection cannot be used again. */
export function tooLarge(maxBytes: number): Refusal {
  return refusal(
    'PAYLOAD_TOO_LARGE',
    `The body has more than ${maxBytes} bytes, the limit of this call.`,
    { limitBytes: maxBytes },
    { Connection: 'close' },
  );
}
