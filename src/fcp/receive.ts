/** Reads a request off its socket whole and finds out which call of the contract it is. */
import type { IncomingMessage } from 'node:http';
import { BASE_PATH } from './base-path.ts';
import type { Body, LoggedRequest, Report, Route } from './journal.ts';

interface Place {
  route: Route;
  op?: string;
  attemptId?: string;
  workerId?: string;
}

/** The request, logged but not answered; `whole` is false if the worker hung up before its end. */
export async function receive(
  message: IncomingMessage,
  socketId: number,
): Promise<{ request: LoggedRequest; whole: boolean }> {
  const t = performance.now();
  const { bytes, whole } = await read(message);
  const bodyText = bytes.toString();
  const body = parsed(bodyText);
  const method = message.method ?? '';
  const path = message.url ?? '';
  const mark = path.indexOf('?');
  const query = new URLSearchParams(mark < 0 ? '' : path.slice(mark));
  const pathname = mark < 0 ? path : path.slice(0, mark);
  const { route, op, attemptId, workerId } = placeOf(method, pathname);
  const from = route === 'hints' ? query.get('workerId') : body?.workerId;
  const request: LoggedRequest = {
    n: 0,
    t,
    method,
    path,
    query,
    route,
    op,
    attemptId,
    workerId: workerId ?? from ?? undefined,
    headers: message.headers,
    bodyText,
    body,
    reports: [],
    socketId,
  };
  if (whole) request.reports = reportsIn(request);
  return { request, whole };
}

async function read(message: IncomingMessage): Promise<{ bytes: Buffer; whole: boolean }> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of message) chunks.push(chunk);
    return { bytes: Buffer.concat(chunks), whole: true };
  } catch {
    return { bytes: Buffer.concat(chunks), whole: false };
  }
}

/** Below whatever prefix the service lives under. */
function placeOf(method: string, pathname: string): Place {
  const at = pathname.indexOf(BASE_PATH);
  // A doubled slash comes of gluing addresses; it is no call of the contract.
  if (at < 0 || pathname.includes('//')) return { route: 'other' };
  const parts = pathname
    .slice(at + BASE_PATH.length)
    .split('/')
    .slice(1);
  const [first = '', second, third] = parts;
  const call = `${method} ${first}`;
  if (parts.length <= 1) {
    if (call === 'GET ') return { route: 'discovery' };
    if (call === 'GET openapi.json') return { route: 'openapi' };
    if (call === 'POST claims') return { route: 'claim' };
    if (call === 'GET hints') return { route: 'hints' };
    if (call === 'GET doctor') return { route: 'doctor' };
  }
  if (call === 'PUT workers' && parts.length === 2)
    return { route: 'present', workerId: decoded(second) };
  if (call === 'POST attempts' && parts.length === 2 && second === 'batch')
    return { route: 'batch' };
  if (call === 'POST attempts' && parts.length === 3) {
    return { route: 'report', attemptId: decoded(second), op: decoded(third) };
  }
  return { route: 'other' };
}

function decoded(part = ''): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function reportsIn(request: LoggedRequest): Report[] {
  const { body, t } = request;
  if (request.route === 'report' && body) return [seen(request, body, 'single', 0, t)];
  if (request.route !== 'batch' || !Array.isArray(body?.reports)) return [];
  return body.reports.map((item, index) => seen(request, item ?? {}, 'batch', index, t));
}

function seen(
  request: LoggedRequest,
  body: Body,
  via: 'single' | 'batch',
  index: number,
  t: number,
): Report {
  const op = String(request.op ?? body.op);
  const attemptId = String(request.attemptId ?? body.attemptId);
  const { taskId, fence } = body;
  return { n: 0, t, op, attemptId, taskId, fence, body, via, request, index };
}

function parsed(text: string): Body | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Body)
      : undefined;
  } catch {
    return undefined;
  }
}
