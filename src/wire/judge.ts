/** What an HTTP answer counts as: ok, refused, or no answer. Pure. */
import type { z } from 'zod';
import {
  CONTRACT_HEADER,
  CONTRACT_VERSION,
  makeProblem,
  type Problem,
  type ProblemCode,
  pathText,
  problem,
} from '../contract/index.ts';
import { sentence } from '../contract/sentence.ts';
import { wireDefaults } from '../core/defaults.ts';
import type { Answer } from '../ports/transport.ts';
import type { BodyRead } from './body.ts';
import { withoutKeys } from './key.ts';
import { boundedWait, retryAfterMs } from './retry-after.ts';

/** An answer as it came off the wire. */
export interface Arrived {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: BodyRead;
  readonly maxBytes: number;
}

/** What a call takes for a success. */
export interface Expected<T> {
  /** Statuses of a success; the body of each fits `schema`. */
  readonly statuses: readonly number[];
  readonly schema: z.ZodType<T>;
  /** Takes what the schema takes without asking it; `undefined`: ask it. */
  readonly plain?: ((value: unknown) => T | undefined) | undefined;
  /** Reads the text of a success [`JSON.parse`]; throws where it is no JSON. */
  readonly parse?: ((text: string) => unknown) | undefined;
  /** The answer is read whatever version of the contract it says [false]: that by which versions are told. */
  readonly anyContract?: boolean;
}

/** An `Answer` that also tells its status where it is ok: 201 and 200 differ for a submit. */
export type HttpAnswer<T> =
  | (Extract<Answer<T>, { kind: 'ok' }> & { readonly status: number })
  | Exclude<Answer<T>, { kind: 'ok' }>;

export function judge<T>(
  arrived: Arrived,
  expected: Expected<T>,
  at: string,
  sentAt: number,
  wallMs: number,
): HttpAnswer<T> {
  const { status, headers, body } = arrived;
  const no = (cause: 'not-the-contract' | 'too-large', why: string): HttpAnswer<T> => ({
    kind: 'no-answer',
    cause,
    why: withoutKeys(sentence(`${at} ${why}`)),
    sentAt,
  });
  const strange = !expected.anyContract && otherContract(headers) !== undefined;
  if (!expected.statuses.includes(status) || strange)
    return judgeStrange(arrived, at, sentAt, wallMs);
  if (body.kind === 'too-large') {
    const limit = `the limit of ${arrived.maxBytes} bytes (after decompression)`;
    return no('too-large', `answered ${status} with a body beyond ${limit}, which was not read`);
  }
  if (body.kind === 'not-utf8')
    return no('not-the-contract', `answered ${status} with a body that is no UTF-8`);
  let value: unknown;
  try {
    value = (expected.parse ?? JSON.parse)(body.text);
  } catch {
    return no('not-the-contract', strangeWords(status, body, headers));
  }
  const plain = expected.plain?.(value);
  if (plain !== undefined) return { kind: 'ok', status, value: plain, sentAt };
  const read = expected.schema.safeParse(value);
  if (read.success) return { kind: 'ok', status, value: read.data, sentAt };
  const [first] = read.error.issues;
  const where = first && first.path.length > 0 ? `"${pathText(first.path)}": ` : '';
  const why = `answered ${status} with JSON that is not in the contract (${where}${first?.message})`;
  return no('not-the-contract', `${why}: is it an Interlock control plane?`);
}

/** What an answer counts as that is no success: refused or no answer. */
export function judgeStrange(
  arrived: Arrived,
  at: string,
  sentAt: number,
  wallMs: number,
): Exclude<HttpAnswer<never>, { kind: 'ok' }> {
  const { status, headers, body } = arrived;
  const asked = retryAfterMs(headers.get('retry-after'), headers.get('date'), wallMs);
  const other = otherContract(headers);
  const refused = other && status !== 426 ? undefined : asProblem(status, body);
  if (refused) {
    const problem = withPathTooMuch(refused.problem, at);
    return { kind: 'refused', status, problem, sentAt, ...wait(asked ?? refused.retryAfterMs) };
  }
  const why = other ?? strangeWords(status, body, headers);
  const words = withoutKeys(sentence(`${at} ${why}`));
  const cause = 'not-the-contract';
  return { kind: 'no-answer', cause, status, why: words, sentAt, ...wait(asked) };
}

/** A control plane that has not even the path of a call: most often the address goes on where it should have ended. */
function withPathTooMuch(problem: Problem, at: string): Problem {
  if (problem.code !== 'NOT_FOUND' || problem.kind !== 'route') return problem;
  const { origin, pathname } = new URL(at);
  if (pathname === '/') return problem;
  const more = pathname.slice(0, wireDefaults.quotedChars);
  return {
    ...problem,
    detail: `There is no control plane below ${more} at ${origin}: is "${more}" in the address too much?`,
    hint: `Give the address without it: ${origin}.`,
  };
}

function otherContract(headers: Arrived['headers']): string | undefined {
  const said = headers.get(CONTRACT_HEADER);
  if (said === null || said.trim() === String(CONTRACT_VERSION)) return undefined;
  return `speaks version ${quoted(said)} of the contract, this program speaks ${CONTRACT_VERSION}`;
}

/** The problem in a body, if there is one; 413 and 426 refuse in any shape (contract 5). */
function asProblem(status: number, body: BodyRead) {
  const read = problem.safeParse(jsonOf(body));
  // A problem that a gateway wrapped into another status is the gateway's word, not the control plane's.
  if (read.success && read.data.status === status && status >= 400) {
    return { problem: read.data, retryAfterMs: boundedWait(read.data.retryAfterMs) };
  }
  const code = ANY_SHAPE[status];
  if (code === undefined) return undefined;
  const detail = `answered with status ${status} by something that says no more (a proxy, perhaps).`;
  return { problem: makeProblem(code, `The call was ${detail}`), retryAfterMs: undefined };
}

const ANY_SHAPE: Record<number, ProblemCode> = {
  413: 'PAYLOAD_TOO_LARGE',
  426: 'CONTRACT_UNSUPPORTED',
};

/** One item of a batch's answer, `{status, body}`, judged as the single call's answer would be. */
export function judgeItem<T>(
  item: { readonly status: number; readonly body: unknown } | undefined,
  expected: Pick<Expected<T>, 'statuses' | 'schema' | 'plain'>,
  at: string,
  sentAt: number,
): HttpAnswer<T> {
  const no = (why: string): HttpAnswer<T> => ({
    kind: 'no-answer',
    cause: 'not-the-contract',
    why: sentence(`${at} ${why}`),
    sentAt,
  });
  if (item === undefined) return no('left this item of a batch without an answer');
  if (expected.statuses.includes(item.status)) {
    const plain = expected.plain?.(item.body);
    if (plain !== undefined) return { kind: 'ok', status: item.status, value: plain, sentAt };
    const read = expected.schema.safeParse(item.body);
    if (read.success) return { kind: 'ok', status: item.status, value: read.data, sentAt };
  } else {
    const text = JSON.stringify(item.body) ?? '';
    const refused = asProblem(item.status, { kind: 'text', text, bytes: text.length });
    if (refused)
      return {
        kind: 'refused',
        status: item.status,
        problem: refused.problem,
        sentAt,
        ...wait(refused.retryAfterMs),
      };
  }
  return no(
    `answered one item of a batch with ${item.status} and a body that is not in the contract`,
  );
}

function jsonOf(body: BodyRead): unknown {
  if (body.kind !== 'text') return undefined;
  try {
    return JSON.parse(body.text);
  } catch {
    return undefined;
  }
}

/** What a foreign answer looks like, for the person who has to find out whose it is. */
function strangeWords(
  status: number,
  body: BodyRead,
  headers: { get(name: string): string | null },
): string {
  const type = headers.get('content-type') ?? '';
  const text = body.text.trimStart();
  if (/html/i.test(type) || /^<(!doctype|html)/i.test(text)) {
    const title = /<title[^>]*>([^<]*)|<h1[^>]*>([^<]*)/i.exec(text);
    const said = quoted(title?.[1] ?? title?.[2] ?? '');
    const named = said === '""' ? 'an HTML page' : `the HTML page ${said}`;
    return `answered ${status} with ${named}: a proxy or another program answers there, not a control plane`;
  }
  if (body.bytes === 0) return `answered ${status} with an empty body`;
  const large = body.kind === 'too-large' ? ` of more than ${wireDefaults.problemBytes} bytes` : '';
  const shape = jsonOf(body) === undefined ? 'no JSON' : 'JSON that is not in the contract';
  return `answered ${status} with a body${large} that is ${shape} (${quoted(text)}): is the address right?`;
}

function quoted(text: string): string {
  const flat = text.replace(/\s+/g, ' ').replace(/\p{C}/gu, '').trim();
  const cut =
    flat.length > wireDefaults.quotedChars ? `${flat.slice(0, wireDefaults.quotedChars)}…` : flat;
  return `"${cut.toWellFormed()}"`;
}

function wait(ms: number | undefined): { retryAfterMs?: number } {
  return ms === undefined ? {} : { retryAfterMs: ms };
}
