/** The shapes of FCP's answers. */
import type { ServerResponse } from 'node:http';

/** Any JSON body, with the names that tests look at. */
export interface AnswerBody {
  accepted?: boolean;
  replayed?: boolean;
  recorded?: boolean;
  cancelRequested?: boolean;
  leaseMs?: number;
  code?: string;
  results?: { status: number; body: AnswerBody }[];
  attempts?: unknown[];
  [key: string]: unknown;
}

export interface Answer {
  status: number;
  /** JSON, a text or bytes as they are, or nothing. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Takes the response over instead (event streams). */
  take?: (response: ServerResponse) => void;
}

/** An answer that is always JSON. */
export interface JsonAnswer extends Answer {
  body: AnswerBody;
}

export function ok(body: AnswerBody, status = 200): JsonAnswer {
  return { status, body };
}

let problems = 0;

/** `application/problem+json` as section 8 of the contract has it. */
export function problem(
  status: number,
  code: string,
  detail: string,
  extra: Record<string, unknown> = {},
): JsonAnswer {
  const title = code.charAt(0) + code.slice(1).toLowerCase().replaceAll('_', ' ');
  const type = `https://interlock.invalid/failures#${code}`;
  const requestId = `prb_fcp${++problems}`;
  return {
    status,
    headers: { 'content-type': 'application/problem+json' },
    body: { type, title, status, code, detail, requestId, ...extra },
  };
}

export interface Issue {
  path: string;
  message: string;
}

export function invalid(issues: Issue[]): JsonAnswer {
  const detail = issues.map((issue) => `${issue.path} ${issue.message}`.trim()).join('; ');
  return problem(400, 'INVALID_REQUEST', detail, { issues });
}

/** Bytes and headers of an answer on the wire. */
export function encode(answer: Answer): { bytes: Buffer; headers: Record<string, string> } {
  const { body } = answer;
  const plain = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
  const bytes = plain ? Buffer.from(body ?? '') : Buffer.from(JSON.stringify(body));
  const type: Record<string, string> = plain ? {} : { 'content-type': 'application/json' };
  return { bytes, headers: { 'interlock-contract': '1', ...type, ...answer.headers } };
}
