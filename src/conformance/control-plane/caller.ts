import { BASE_PATH, CONTRACT_HEADER, CONTRACT_VERSION } from '../../contract/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import { explain } from '../../wire/fault.ts';
import type { WireFetch } from '../../wire/fetch.ts';
import { withoutKeys } from '../../wire/key.ts';
import { Broken } from '../case.ts';
import { shown } from '../check.ts';

/** One call of a case: whatever it wants to send, right or wrong. */
export interface Sent {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the base path, with its query: `/tasks?limit=2`. */
  readonly path: string;
  /** What `path` is below [`base`]: the contract's base path, or the address of the service. */
  readonly below?: 'base' | 'service';
  /** The bearer key; `undefined`: no Authorization header. */
  readonly key?: string | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly text?: string | Uint8Array<ArrayBuffer>;
  /** Beyond those of the contract, or instead of one of them; `''` leaves it out. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Breaks the call off. */
  readonly signal?: AbortSignal | undefined;
}

/** What came back, read as JSON where it is that. */
export class Seen {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly text: string;
  /** `undefined` where the body is no JSON. */
  readonly json: Record<string, unknown> | undefined;
  /** `POST /tasks` */
  readonly what: string;
  /** On the kit's clock, milliseconds. */
  readonly sentAtMs: number;
  readonly receivedAtMs: number;

  constructor(
    what: string,
    response: { status: number; headers: Seen['headers'] },
    text: string,
    times: { sentAtMs: number; receivedAtMs: number },
  ) {
    this.what = what;
    this.status = response.status;
    this.headers = response.headers;
    this.text = text;
    this.json = jsonOf(text);
    this.sentAtMs = times.sentAtMs;
    this.receivedAtMs = times.receivedAtMs;
  }

  /** The body, as short as it can be told. */
  get words(): string {
    return shown(this.json ?? (pageOf(this.text) || this.text.slice(0, 200)));
  }

  get code(): unknown {
    return this.json?.code;
  }

  /** @throws Broken where the status is none of these. */
  is(...statuses: number[]): this {
    if (statuses.includes(this.status)) return this;
    throw new Broken(
      `${this.what} was answered ${this.status} ${this.words}; expected is ${statuses.join(' or ')}.`,
    );
  }

  /** The answer refuses with this status and code, in the problem shape (section 8). */
  refuses(status: number, code: string): this {
    this.is(status);
    const type = this.headers.get('content-type') ?? 'none';
    if (!/^application\/problem\+json\s*(;|$)/i.test(type))
      throw new Broken(
        `${this.what} was refused with Content-Type ${type}; expected is application/problem+json.`,
      );
    if (this.code !== code)
      throw new Broken(
        `${this.what} was refused with code ${shown(this.code)}; expected is ${code}.`,
      );
    return this;
  }

  /** @throws Broken where the body is no JSON object or array. */
  body<T = Record<string, unknown>>(): T {
    if (this.json === undefined)
      throw new Broken(
        `${this.what} was answered ${this.status} with a body that is no JSON: ${this.words}.`,
      );
    return this.json as T;
  }
}

/** Every exchange of a case, for whoever has to find out why it failed. Bounded. */
export class Transcript {
  readonly #lines: string[] = [];
  #dropped = 0;

  add(line: string): void {
    this.#lines.push(withoutSecrets(line));
    if (this.#lines.length <= LINES) return;
    this.#lines.shift();
    this.#dropped += 1;
  }

  get lines(): readonly string[] {
    return this.#dropped === 0 ? this.#lines : [`… ${this.#dropped} before`, ...this.#lines];
  }
}

/** Nobody answered, or not to the end. `cause` tells why, as a sentence. */
export class NoAnswer extends Broken {}

export interface CallerOptions {
  readonly serviceUrl: string;
  readonly fetch: WireFetch;
  readonly clock: Clock;
  readonly transcript: Transcript;
  /** Aborts with the case. */
  readonly signal: AbortSignal;
}

export class Caller {
  readonly #options: CallerOptions;

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  /** @throws Broken where no whole answer came within 40 s (longer than any long poll). */
  async call(sent: Sent): Promise<Seen> {
    const { clock, transcript } = this.#options;
    const what = `${sent.method} ${sent.path}`;
    const sentAtMs = clock.now();
    const over = new AbortController();
    const timer = clock.timer(ANSWER_MS, () => over.abort());
    const signal = AbortSignal.any([
      over.signal,
      this.#options.signal,
      ...(sent.signal ? [sent.signal] : []),
    ]);
    const body = sent.text ?? (sent.body === undefined ? '' : JSON.stringify(sent.body));
    const asked = typeof body === 'string' ? body : `${body.byteLength} bytes`;
    try {
      const response = await this.#send(sent, signal, body);
      const text = await bodyText(response.body);
      const seen = new Seen(what, response, text, { sentAtMs, receivedAtMs: clock.now() });
      const told = pageOf(text) || text.slice(0, SHOWN);
      transcript.add(`${what} ${asked.slice(0, SHOWN)} → ${seen.status} ${told}`);
      return seen;
    } catch (error) {
      if (error instanceof Broken) throw error;
      const why = over.signal.aborted
        ? `${this.#options.serviceUrl} took longer than ${ANSWER_MS / 1_000} s.`
        : explain(error, this.#options.serviceUrl).why;
      transcript.add(`${what} ${asked.slice(0, SHOWN)} → no answer: ${why}`);
      if (sent.signal?.aborted) throw error;
      throw new NoAnswer(`${what} got no whole answer: ${why}`, { cause: why });
    } finally {
      timer.cancel();
    }
  }

  /** The answer while it comes, for event streams. The caller reads or cancels its body. */
  async open(sent: Sent): Promise<{
    readonly status: number;
    readonly headers: Seen['headers'];
    readonly body: ReadableStream<Uint8Array> | null;
  }> {
    const { transcript, signal } = this.#options;
    const both = AbortSignal.any([signal, ...(sent.signal ? [sent.signal] : [])]);
    const response = await this.#send(sent, both, '', 'stream');
    transcript.add(`${sent.method} ${sent.path} → ${response.status}, a stream`);
    return response;
  }

  #send(
    sent: Sent,
    signal: AbortSignal,
    text: string | Uint8Array<ArrayBuffer>,
    lane: 'calls' | 'stream' = 'calls',
  ) {
    const hasBody = sent.text !== undefined || sent.body !== undefined;
    const headers: Record<string, string> = {
      accept: lane === 'stream' ? 'text/event-stream' : 'application/json',
      'user-agent': 'interlock-conformance',
      [CONTRACT_HEADER.toLowerCase()]: String(CONTRACT_VERSION),
      ...(sent.key === undefined ? {} : { authorization: `Bearer ${sent.key}` }),
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
    };
    for (const [name, value] of Object.entries(sent.headers ?? {})) {
      if (value === '') delete headers[name.toLowerCase()];
      else headers[name.toLowerCase()] = value;
    }
    const { serviceUrl } = this.#options;
    const base = sent.below === 'service' ? serviceUrl : serviceUrl + BASE_PATH;
    return this.#options.fetch(base + sent.path, {
      method: sent.method,
      headers,
      ...(hasBody ? { body: text } : {}),
      signal,
      redirect: 'manual',
      lane,
      once: true,
    });
  }
}

/** Longer than the longest long poll. */
const ANSWER_MS = 40_000;
/** Of one exchange in a transcript. */
const SHOWN = 600;
const LINES = 60;
const BODY_BYTES = 16_777_216;

/** What a report may show of what went over the wire: no keys, no tokens. */
export function withoutSecrets(text: string): string {
  return withoutKeys(text.replace(/("leaseToken":")[^"]*/g, '$1…'));
}

async function bodyText(body: ReadableStream<Uint8Array> | null): Promise<string> {
  if (body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > BODY_BYTES) throw new Broken(`An answer has more than ${BODY_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A page for people, by its title: what it holds helps nobody here. `''` for anything else. */
function pageOf(text: string): string {
  if (!/^\s*<(!doctype html|html|head|body)\b/i.test(text)) return '';
  const title = /<title[^>]*>([^<]{0,100})/i.exec(text)?.[1]?.trim() ?? '';
  return `a page of HTML${title && `, “${title}”`}`;
}

function jsonOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object'
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
