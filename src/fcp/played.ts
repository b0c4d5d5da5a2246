/** What a script did with a request, in words for whoever wrote the worker; without keys and tokens. */
import type { Answer } from './answers.ts';

/** Differences that are told. */
const MOST_DIFFERENCES = 6;
/** Of a value, a body or a line of bytes. */
const SHOWN_CHARS = 160;
/** Fields of a problem that say nothing beside its `code`. */
const DECORATION = ['type', 'title', 'status', 'detail', 'requestId'];

/** `the answer was changed: body.fence 1 → 77`; nothing where both are the same. */
export function changedWords(honest: Answer, given: Answer): string | undefined {
  const found = [
    ...differences('status', honest.status, given.status),
    ...differences('headers', honest.headers ?? {}, given.headers ?? {}),
    ...differences('body', honest.body, given.body),
  ];
  if (found.length === 0) return undefined;
  const more = found.length - MOST_DIFFERENCES;
  const told = found.slice(0, MOST_DIFFERENCES).join(', ');
  return `the answer was changed: ${told}${more > 0 ? ` and ${more} more` : ''}`;
}

/** `429 {"code":"RATE_LIMITED"}, retry-after: 60`. */
export function answerWords({ status, headers = {}, body }: Answer): string {
  const told = Object.entries(headers)
    .filter(([name]) => name !== 'content-type' || typeof body === 'string')
    .map(([name, value]) => `, ${name}: ${value}`);
  return `${status} ${bodyWords(body)}${without(told.join(''))}`;
}

export function bytesWords(bytes: string | Uint8Array): string {
  return shown(typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('latin1'));
}

/** A text without what looks like a key. */
export function without(text: string): string {
  return text.replace(/il_[\w-]+/g, 'il_…');
}

function bodyWords(body: unknown): string {
  if (body === undefined || body === '') return 'without a body';
  if (!isObject(body) || typeof body.code !== 'string') return shown(body);
  const kept = Object.entries(body).filter(([name]) => !DECORATION.includes(name));
  return shown(Object.fromEntries(kept));
}

function differences(path: string, was: unknown, is: unknown): string[] {
  if (text(was) === text(is)) return [];
  const lists = Array.isArray(was) && Array.isArray(is) && was.length === is.length;
  if (lists || (isObject(was) && isObject(is))) {
    const [from, to] = [was, is] as [Record<string, unknown>, Record<string, unknown>];
    const names = new Set([...Object.keys(from), ...Object.keys(to)]);
    return [...names].flatMap((name) => differences(`${path}.${name}`, from[name], to[name]));
  }
  return [`${path} ${shown(was)} → ${shown(is)}`];
}

function shown(value: unknown): string {
  if (value === undefined) return 'absent';
  const whole = without(text(value));
  return whole.length > SHOWN_CHARS ? `${whole.slice(0, SHOWN_CHARS)}…` : whole;
}

function text(value: unknown): string {
  const all = value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value;
  return JSON.stringify(all, (name, one) => (name === 'leaseToken' ? '…' : one)) ?? 'absent';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
