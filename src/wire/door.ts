/**
 * The door to one control plane: a call goes in, an `Answer` comes out, whatever the world does. Worker and
 * clients share it, so that both read the world the same way.
 */
import { CONTRACT_HEADER, CONTRACT_VERSION, type Problem } from '../contract/index.ts';
import { wireDefaults, workerDefaults } from '../core/defaults.ts';
import type { Clock, Patience } from '../ports/clock.ts';
import type { NoAnswerCause } from '../ports/transport.ts';
import { dropBody, readBody } from './body.ts';
import { explain, WireFault } from './fault.ts';
import type { Lane, WireFetch, WireInit, WireResponse } from './fetch.ts';
import { type Expected, type HttpAnswer, judge, judgeStrange } from './judge.ts';
import { type KeySource, withoutKeys } from './key.ts';
import { Limit } from './limit.ts';
import { type ServiceAddress, serviceAddress } from './service-url.ts';

export interface DoorOptions {
  readonly serviceUrl: string;
  /** Missing: only open calls can succeed. */
  readonly key?: KeySource | undefined;
  readonly clock: Clock;
  readonly fetch: WireFetch;
  /** Send keys over http beyond loopback [false]. */
  readonly insecureHttp?: boolean | undefined;
}

export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

interface Request {
  /** Below the base path, parameters encoded: `/tasks`. */
  readonly path: string;
  readonly query?: Query | undefined;
  readonly lane?: Lane | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Call<T> extends Request, Expected<T> {
  readonly method: WireInit['method'];
  /** Sent as JSON. */
  readonly body?: unknown;
  /** The body as JSON text, in place of `body`. */
  readonly text?: string | undefined;
  /** Of the call as a whole [10 s]. */
  readonly timeoutMs?: number | undefined;
  /** Of that limit, after a sleep of the machine: for calls that an idle worker makes. */
  readonly patience?: Patience | undefined;
  /** Of the answer's body, after decompression [8 MiB]. */
  readonly maxBytes?: number | undefined;
  /** No key is sent. */
  readonly open?: boolean;
  /** Must not be repeated on a connection that proved dead. */
  readonly once?: boolean;
}

export type StreamAnswer =
  | {
      readonly kind: 'stream';
      readonly body: ReadableStream<Uint8Array>;
      /** Aborts with the caller's, and by `close`. */
      readonly signal: AbortSignal;
      /** Lets go of it. Twice is fine. */
      close(): void;
    }
  | {
      readonly kind: 'none';
      readonly why: string;
      /** There was an answer, but it is no stream. */
      readonly status?: number;
      readonly problem?: Problem;
      readonly cause?: NoAnswerCause;
      readonly retryAfterMs?: number;
    };

const EVENTS = 'text/event-stream';
const DRAINED = wireDefaults.drainBytes;

export class Door {
  readonly address: ServiceAddress;
  readonly #options: DoorOptions;

  /** Throws `INVALID_ADDRESS` or `INSECURE_HTTP`. */
  constructor(options: DoorOptions) {
    this.#options = options;
    this.address = serviceAddress(options.serviceUrl, options.insecureHttp);
  }

  async call<T>(call: Call<T>): Promise<HttpAnswer<T>> {
    const { clock } = this.#options;
    const sentAt = clock.now();
    // What JSON cannot hold is a bug of the caller and no matter of the wire: it throws.
    const text = call.text ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
    const timeoutMs = call.timeoutMs ?? workerDefaults.requestTimeoutMs;
    const limit = this.#limit(timeoutMs, call.signal, call.patience);
    try {
      const sent = this.#send({ ...call, text }, call.method, limit.signal);
      const response = await limit.bounded(sent, dropBody);
      const { status, headers } = response;
      const success = call.statuses.includes(status);
      const maxBytes = success
        ? (call.maxBytes ?? wireDefaults.answerBytes)
        : wireDefaults.problemBytes;
      const body = await limit.bounded(readBody(response, maxBytes, success ? 0 : DRAINED));
      const arrived = { status, headers, body, maxBytes };
      return judge(arrived, call, this.address.shown, sentAt, clock.wall());
    } catch (error) {
      const { cause, why } = explain(error, this.address.shown);
      return { kind: 'no-answer', cause, why: withoutKeys(why), sentAt };
    } finally {
      limit.end();
    }
  }

  /** Opens an event stream: resolves when its headers came, or with why there is none. */
  async stream(request: Request & { readonly signal: AbortSignal }): Promise<StreamAnswer> {
    const { clock } = this.#options;
    const limit = this.#limit(workerDefaults.requestTimeoutMs, request.signal);
    let open = false;
    try {
      const call = { ...request, lane: 'stream' as const, accept: EVENTS };
      const response = await limit.bounded(this.#send(call, 'GET', limit.signal), dropBody);
      const { status, headers, body } = response;
      if (status === 200 && body && headers.get('content-type')?.startsWith(EVENTS)) {
        limit.stopTimer();
        open = true;
        return { kind: 'stream', body, signal: limit.signal, close: () => limit.abandon() };
      }
      const maxBytes = wireDefaults.problemBytes;
      const text = await limit.bounded(readBody(response, maxBytes, DRAINED));
      const arrived = { status, headers, body: text, maxBytes };
      const answer = judgeStrange(arrived, this.address.shown, 0, clock.wall());
      const { retryAfterMs } = answer;
      const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
      if (answer.kind === 'no-answer') return { kind: 'none', status, why: answer.why, ...wait };
      const { problem } = answer;
      const why = `${this.address.shown} answered ${status}: ${problem.detail ?? problem.code}`;
      return { kind: 'none', status, problem, why, ...wait };
    } catch (error) {
      const { cause, why } = explain(error, this.address.shown);
      return { kind: 'none', cause, why: withoutKeys(why) };
    } finally {
      if (!open) limit.end();
    }
  }

  #limit(timeoutMs: number, signal: AbortSignal | undefined, patience?: Patience): Limit {
    return new Limit(this.#options.clock, timeoutMs, this.address.shown, signal, patience);
  }

  /** Sends it and follows redirects as far as the contract allows. */
  async #send(
    request: Request & {
      text?: string | undefined;
      open?: boolean;
      once?: boolean;
      accept?: string;
    },
    method: WireInit['method'],
    signal: AbortSignal,
  ): Promise<WireResponse> {
    const headers: Record<string, string> = {
      accept: request.accept ?? 'application/json',
      'user-agent': 'interlock-node-sdk',
      [CONTRACT_HEADER]: String(CONTRACT_VERSION),
    };
    const key = request.open ? '' : this.#options.key?.current();
    if (key) headers.authorization = `Bearer ${key}`;
    if (request.text !== undefined) headers['content-type'] = 'application/json';
    const init: WireInit = {
      method,
      headers,
      ...(request.text === undefined ? {} : { body: request.text }),
      signal,
      redirect: 'manual',
      lane: request.lane ?? 'calls',
      ...(request.once ? { once: true } : {}),
    };
    let url = this.address.base + request.path + queryText(request.query);
    for (let followed = 0; ; followed++) {
      const response = await this.#options.fetch(url, init);
      const location = response.headers.get('location');
      if (!REDIRECTS.has(response.status) || location === null) return response;
      dropBody(response);
      url = this.#follow(response.status, location, url, followed);
    }
  }

  #follow(status: number, location: string, from: string, followed: number): string {
    const refuse = (why: string): never => {
      throw new WireFault(
        'redirect',
        `${this.address.shown} answered with a redirect (${status}) ${why}.`,
      );
    };
    const target = parsed(location, from);
    if (!target) return refuse('to something that is no address');
    const shown = withoutKeys(target.origin + target.pathname);
    if (target.origin !== this.address.origin)
      return refuse(
        `to ${shown}, another origin, where keys are not sent: if that is right, give that address`,
      );
    if (status !== 307 && status !== 308)
      return refuse(
        `to ${shown}, which would change the method of the call; only 307 and 308 are followed`,
      );
    if (followed >= wireDefaults.redirectsMax) return refuse(`to ${shown}, one too many`);
    return target.href;
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

function parsed(location: string, from: string): URL | undefined {
  try {
    return new URL(location, from);
  } catch {
    return undefined;
  }
}

function queryText(query: Query | undefined): string {
  if (query === undefined) return '';
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== undefined) params.append(name, String(one));
  }
  const text = params.toString();
  return text === '' ? '' : `?${text}`;
}
