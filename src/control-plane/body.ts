import { isAscii, isUtf8 } from 'node:buffer';
import { parseJson } from '../contract/json.ts';
import type { Clock } from '../ports/clock.ts';
import { isRefusal, type Refusal, refusal } from './answer.ts';
import type { CallRequest } from './call-request.ts';

/** A request's body, read within its bound and taken apart once. */
export interface Body {
  readonly text: string;
  /** UTF-8 bytes of `text`. */
  readonly bytes: number;
  readonly value: unknown;
}

/** Reads a JSON body. An absent one counts as `{}`, so that calls without fields need none. */
export function readJson(
  request: CallRequest,
  maxBytes: number,
  clock: Clock,
): Body | Refusal | Promise<Body | Refusal> {
  const encoding = request.header('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    return refusal(
      'UNSUPPORTED_MEDIA_TYPE',
      `The body is sent with Content-Encoding ${encoding}; it is taken uncompressed only.`,
    );
  }
  const here = request.here?.(maxBytes);
  if (here !== undefined) return isRefusal(here) ? here : bodyOf(request, here);
  return readLater(request, maxBytes, clock);
}

async function readLater(
  request: CallRequest,
  maxBytes: number,
  clock: Clock,
): Promise<Body | Refusal> {
  // A peer that breaks off hears no answer; it is no failure of ours.
  const bytes = await request
    .bytes(maxBytes, clock)
    .catch(() => invalid([{ path: '', message: 'broke off before its body was whole' }]));
  return isRefusal(bytes) ? bytes : bodyOf(request, bytes);
}

function bodyOf(request: CallRequest, bytes: Uint8Array): Body | Refusal {
  const type = request.header('content-type');
  if (bytes.byteLength === 0 && type === null) return { text: '', bytes: 0, value: {} };
  if (type === null || (type !== 'application/json' && !JSON_TYPES.test(type))) {
    return refusal(
      'UNSUPPORTED_MEDIA_TYPE',
      `The body is sent as ${type === null ? 'no type' : JSON.stringify(type.slice(0, 100))}; JSON is expected.`,
    );
  }
  const text = textOf(bytes);
  if (text === undefined) return invalid([{ path: '', message: 'is not valid UTF-8' }]);
  const parsed = parseJson(text);
  if (!parsed.ok) return invalid(parsed.issues);
  return { text, bytes: bytes.byteLength, value: parsed.value };
}

const JSON_TYPES = /^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** `undefined`: it is not UTF-8. A byte order mark is no part of the text. */
function textOf(bytes: Uint8Array): string | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // Most bodies are ASCII, which is looked at and copied much faster.
  if (isAscii(buffer)) return buffer.toString('latin1');
  if (!isUtf8(buffer)) return undefined;
  const text = buffer.toString('utf8');
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/** The contract's answer to a body that is not as it should be. */
export function invalid(issues: readonly { path: string; message: string }[]): Refusal {
  const [first] = issues;
  const where = first && (first.path === '' ? 'The request' : first.path);
  const others = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  return refusal('INVALID_REQUEST', `${where} ${first?.message}${others}.`, { issues });
}
