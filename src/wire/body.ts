import type { Collected, WireResponse } from './fetch.ts';

/** What a body turned out to be. `bytes` is what was read. */
export type BodyRead =
  | { readonly kind: 'text'; readonly text: string; readonly bytes: number }
  | { readonly kind: 'not-utf8'; readonly text: string; readonly bytes: number }
  | { readonly kind: 'too-large'; readonly text: string; readonly bytes: number };

/**
 * Reads a whole body as UTF-8, at most `maxBytes` of it, counted after decompression: what comes beyond is
 * never held. Up to `drainBytes` it is read away, so that the connection can be used again; then the rest
 * is cancelled. Rejects when the body ends early.
 */
export async function readBody(
  response: WireResponse,
  maxBytes: number,
  drainBytes = 0,
): Promise<BodyRead> {
  // A large refusal is read away in steps: all at once its chunks would lie about until a collection of garbage.
  const { chunks, bytes } =
    response.collect && drainBytes === 0
      ? await response.collect(maxBytes)
      : await collected(response.body, maxBytes, drainBytes);
  const [only] = chunks;
  const all = only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks);
  if (bytes > maxBytes) return { kind: 'too-large', text: looseText(all), bytes };
  try {
    return { kind: 'text', text: strict.decode(all), bytes };
  } catch {
    return { kind: 'not-utf8', text: looseText(all), bytes };
  }
}

async function collected(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  drainBytes: number,
): Promise<Collected> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  if (!body) return { chunks, bytes };
  const reader = body.getReader();
  let whole = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        whole = true;
        break;
      }
      bytes += value.byteLength;
      if (bytes <= maxBytes) chunks.push(value);
      else if (bytes > drainBytes) break;
    }
  } finally {
    // Not awaited: a peer that goes on sending must not hold us.
    if (!whole) reader.cancel().catch(() => {});
  }
  return { chunks, bytes };
}

/** Lets go of a body that nobody wants, so that its socket and memory are free again. */
export function dropBody(response: WireResponse): void {
  response.body?.cancel().catch(() => {});
}

function looseText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** Whole texts only: nothing is kept between two. */
const strict = new TextDecoder('utf-8', { fatal: true });
