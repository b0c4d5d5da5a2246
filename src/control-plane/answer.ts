import { CONTRACT_HEADER, CONTRACT_VERSION } from '../contract/limits.ts';
import { makeProblem, type ProblemCode } from '../contract/problems.ts';

/** What a route gives back. Texts are finished JSON: large values are never parsed to be sent. */
export interface Answer {
  readonly status: number;
  /** Bytes are for what stays the same: all readers are sent from the same ones. */
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  readonly type: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The head of an answer, whichever door it leaves by. */
export function headersOf(from: Answer, requestId: string): Record<string, string> {
  const headers: Record<string, string> = {
    'Content-Type': from.type,
    'Cache-Control': 'no-store',
    [CONTRACT_HEADER]: VERSION,
    'Interlock-Request-Id': requestId,
  };
  return from.headers === undefined ? headers : Object.assign(headers, from.headers);
}

/** The same, as HTTP writes it. */
export function headText(from: Answer, requestId: string): string {
  let text = `Content-Type: ${from.type}${FIXED_HEAD}${requestId}\r\n`;
  for (const name in from.headers) text += `${name}: ${from.headers[name]}\r\n`;
  return text;
}

const VERSION = String(CONTRACT_VERSION);
const FIXED_HEAD = `\r\nCache-Control: no-store\r\n${CONTRACT_HEADER}: ${VERSION}\r\nInterlock-Request-Id: `;

export const JSON_TYPE = 'application/json';
export const PROBLEM_TYPE = 'application/problem+json';

export function answer(
  value: unknown,
  status = 200,
  headers?: Readonly<Record<string, string>>,
): Answer {
  return answerText(JSON.stringify(value), status, headers);
}

/** @param text JSON. */
export function answerText(
  text: string,
  status = 200,
  headers?: Readonly<Record<string, string>>,
): Answer {
  return { status, body: text, type: JSON_TYPE, headers };
}

/** A refusal as a value; the request id is put in where it leaves. */
export interface Refusal {
  readonly refused: true;
  readonly code: ProblemCode;
  readonly detail: string;
  readonly more?: Readonly<Record<string, unknown>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Where it is not the one of the code (405). */
  readonly status?: number | undefined;
}

export function refusal(
  code: ProblemCode,
  detail: string,
  more?: Readonly<Record<string, unknown>>,
  headers?: Readonly<Record<string, string>>,
): Refusal {
  return { refused: true, code, detail, more, headers };
}

export function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null && 'refused' in value;
}

export function problemAnswer(from: Refusal, requestId: string): Answer {
  const problem = makeProblem(from.code, from.detail, { ...from.more, requestId });
  const status = from.status ?? problem.status;
  return {
    status,
    body: JSON.stringify({ ...problem, status }),
    type: PROBLEM_TYPE,
    headers: from.headers,
  };
}
