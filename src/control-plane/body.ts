import { parseJson } from '../contract/json.ts';
import { serverDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';
import { isRefusal, type Refusal, refusal } from './answer.ts';

/** A request's body, read within its bound and taken apart once. */
export interface Body {
  readonly text: string;
  /** UTF-8 bytes of `text`. */
  readonly bytes: number;
  readonly value: unknown;
}

/** Reads a JSON body. An absent one counts as `{}`, so that calls without fields need none. */
export async function readJson(
  request: Request,
  maxBytes: number,
  clock: Clock,
): Promise<Body | Refusal> {
  const encoding = request.headers.get('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    return refusal(
      'UNSUPPORTED_MEDIA_TYPE',
      `The body is sent with Content-Encoding ${encoding}; it is taken uncompressed only.`,
    );
  }
  // A peer that breaks off hears no answer; it is no failure of ours.
  const bytes = await readBytes(request, maxBytes, clock).catch(() =>
    invalid([{ path: '', message: 'broke off before its body was whole' }]),
  );
  if (isRefusal(bytes)) return bytes;
  const type = request.headers.get('content-type');
  if (bytes.byteLength === 0 && type === null) return { text: '', bytes: 0, value: {} };
  if (type === null || !/^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) {
    return refusal(
      'UNSUPPORTED_MEDIA_TYPE',
      `The body is sent as ${type === null ? 'no type' : JSON.stringify(type.slice(0, 100))}; JSON is expected.`,
    );
  }
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return invalid([{ path: '', message: 'is not valid UTF-8' }]);
  }
  const parsed = parseJson(text);
  if (!parsed.ok) return invalid(parsed.issues);
  return { text, bytes: bytes.byteLength, value: parsed.value };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The contract's answer to a body that is not as it should be. */
export function invalid(issues: readonly { path: string; message: string }[]): Refusal {
  const [first] = issues;
  const where = first && (first.path === '' ? 'The request' : first.path);
  const others = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  return refusal('INVALID_REQUEST', `${where} ${first?.message}${others}.`, { issues });
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
function tooLarge(maxBytes: number): Refusal {
  return refusal(
    'PAYLOAD_TOO_LARGE',
    `The body has more than ${maxBytes} bytes, the limit of this call.`,
    { limitBytes: maxBytes },
    { Connection: 'close' },
  );
}
