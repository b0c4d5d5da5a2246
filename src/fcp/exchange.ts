/**
 * One request and what happens to it: the second argument of a request rule. Whatever is not told by the
 * method's name: `pass`, `later`, `drip`, `twice`, `cutAfter` and `cutMidway` apply the request to the control plane,
 * all others keep it away. At most one of them may be used; none at all is `pass`.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type Answer, encode, problem } from './answers.ts';
import type { Journal, LoggedRequest } from './journal.ts';
import type { CutMode } from './listener.ts';
import { answerWords, bytesWords, changedWords } from './played.ts';

export interface Wire {
  response: ServerResponse;
  cutSocket(mode: CutMode): void;
}

export interface DripOptions {
  /** Bytes per write [1]. */
  chunk?: number;
  /** Pause after each write [0: one turn of the event loop]. */
  everyMs?: number;
}

export class Exchange {
  readonly request: LoggedRequest;
  readonly #wire: Wire;
  readonly #journal: Journal;
  readonly #decide: () => Answer;
  #used = false;

  constructor(request: LoggedRequest, wire: Wire, journal: Journal, decide: () => Answer) {
    this.request = request;
    this.#wire = wire;
    this.#journal = journal;
    this.#decide = decide;
  }

  get used(): boolean {
    return this.#used;
  }

  /** The default; `alter` may change the answer (add fields, mangle it) after it was applied. */
  async pass(alter?: (answer: Answer) => Answer): Promise<void> {
    this.#use();
    const honest = this.#decide();
    const given = alter?.(honest) ?? honest;
    this.#tell(changedWords(honest, given));
    await this.#send(given);
  }

  /** Applied at once, answered after so many milliseconds, or when the promise resolves. */
  async later(when: number | Promise<unknown>): Promise<void> {
    this.#use(
      `carried out, but answered late${typeof when === 'number' ? `, after ${when} ms` : ''}`,
    );
    const answer = this.#decide();
    await this.wait(when);
    await this.#send(answer);
  }

  /** Any answer: an object is JSON, a text or bytes go as they are. */
  async answer(
    status: number,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<void> {
    this.#use(`not carried out, answered ${answerWords({ status, body, headers })}`);
    await this.#send({ status, body, headers });
  }

  /** problem+json of section 8. */
  async problem(status: number, code: string, extra: Record<string, unknown> = {}): Promise<void> {
    const { 'retry-after': retryAfter, ...fields } = extra;
    const made = problem(status, code, `the kit's control plane plays ${code}`, fields);
    const headers = {
      ...made.headers,
      ...(retryAfter ? { 'retry-after': String(retryAfter) } : {}),
    };
    await this.answer(status, made.body, headers);
  }

  /** For a single report or a whole request; for one report of a batch use `onReport`. */
  stale(extra: Record<string, unknown> = {}): Promise<void> {
    return this.problem(409, 'STALE_ATTEMPT', extra);
  }

  /** What a proxy says. */
  html(status = 502): Promise<void> {
    const page = `<html><body><h1>${status}</h1>nginx</body></html>`;
    return this.answer(status, page, { 'content-type': 'text/html' });
  }

  redirect(status: number, location: string): Promise<void> {
    return this.answer(status, undefined, { location });
  }

  /** A body of any length, written piece by piece: bombs, endless answers. Ends when the worker hangs up. */
  async stream(
    status: number,
    headers: Record<string, string>,
    pieces: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>,
  ): Promise<void> {
    this.#use(`not carried out, answered ${status} with a stream of bytes`);
    const { response } = this.#wire;
    response.writeHead(status, headers);
    for await (const piece of pieces) {
      if (this.#gone) break;
      await this.#write(piece);
    }
    await this.#end(status, '<stream>');
  }

  /** The default answer in tiny pieces. */
  async drip({ chunk = 1, everyMs = 0 }: DripOptions = {}): Promise<void> {
    this.#use(`the answer came in pieces of ${chunk} bytes, ${everyMs} ms apart`);
    const answer = this.#decide();
    const { bytes, headers } = encode(answer);
    this.#wire.response.writeHead(answer.status, headers);
    for (let from = 0; from < bytes.length && !this.#gone; from += chunk) {
      await this.#write(bytes.subarray(from, from + chunk));
      await this.wait(everyMs);
    }
    await this.#end(answer.status, answer.body);
  }

  /** The default answer, and the same bytes once more on the same connection, where no request waits for them. */
  async twice(): Promise<void> {
    this.#use('the answer was sent twice on its connection');
    const answer = this.#decide();
    const { bytes, headers } = encode(answer);
    const length = { 'content-length': `${bytes.length}` };
    const lines = Object.entries({ ...headers, ...length }).map((pair) => pair.join(': '));
    const head = [`HTTP/1.1 ${answer.status} Again`, ...lines, '', ''].join('\r\n');
    const { socket } = this.#wire.response;
    this.#wire.response.once('finish', () =>
      socket?.write(Buffer.concat([Buffer.from(head), bytes])),
    );
    await this.#send(answer);
  }

  /** No answer, and the connection stays open; with `applied` the request has had its effect. */
  async never({ applied = false }: { applied?: boolean } = {}): Promise<void> {
    this.#use(
      `${applied ? 'carried out' : 'not carried out'}, never answered, the connection stays open`,
    );
    if (applied) this.#decide();
  }

  /** The connection ends before anything was applied. */
  async cutBefore(mode: CutMode = 'fin'): Promise<void> {
    this.#use(`not carried out, the connection was ended ${HOW[mode]} without an answer`);
    this.#cut('before', mode);
  }

  /** Applied, but the connection ends without an answer. */
  async cutAfter(mode: CutMode = 'fin'): Promise<void> {
    this.#use(`carried out, but the connection was ended ${HOW[mode]} without an answer`);
    this.#decide();
    this.#cut('after', mode);
  }

  /** Applied; the answer's head with its length and half of its body go out, then the connection ends. */
  async cutMidway(mode: CutMode = 'fin'): Promise<void> {
    this.#use(`carried out, but the connection was ended ${HOW[mode]} in the middle of the answer`);
    const answer = this.#decide();
    const { bytes, headers } = encode(answer);
    this.#wire.response.writeHead(answer.status, {
      ...headers,
      'content-length': `${bytes.length}`,
    });
    await this.#write(bytes.subarray(0, Math.floor(bytes.length / 2)));
    this.#cut('midway', mode);
  }

  /** Bytes on the socket where an HTTP answer belongs, then the end of the connection. */
  async raw(bytes: string | Uint8Array): Promise<void> {
    this.#use(`not carried out, and these bytes instead of an answer: ${bytesWords(bytes)}`);
    const { socket } = this.#wire.response;
    if (socket) await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
    this.#cut('raw', 'fin');
  }

  /** Beside another method: ends the connection so long after the answer. */
  closeSoon(afterMs: number, mode: CutMode = 'fin'): void {
    this.#wire.response.once('finish', () => {
      const timer = setTimeout(() => this.#wire.cutSocket(mode), afterMs);
      this.#wire.response.socket?.once('close', () => clearTimeout(timer));
    });
  }

  /** Waits inside a rule; ends early when the worker has hung up or FCP stops. */
  async wait(when: number | Promise<unknown>): Promise<void> {
    if (this.#gone) return;
    let timer: NodeJS.Timeout | undefined;
    const time = (ms: number) =>
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, ms);
      });
    await this.#orClosed(typeof when === 'number' ? time(when) : when);
    clearTimeout(timer);
  }

  /** The socket's end comes before the response tells it: whoever writes on in between spins. */
  get #gone(): boolean {
    const { response } = this.#wire;
    return response.destroyed || response.socket?.destroyed !== false;
  }

  /** @param words what is done, where that is not the default. */
  #use(words?: string): void {
    if (this.#used) throw new Error(`Request #${this.request.n} was answered twice by its script`);
    this.#used = true;
    this.#tell(words);
  }

  #tell(words: string | undefined): void {
    if (words !== undefined) this.request.played = words;
  }

  async #send(answer: Answer): Promise<void> {
    const { response } = this.#wire;
    if (this.#gone) return;
    if (answer.take) {
      answer.take(response);
      this.#answered(answer.status, undefined);
      return;
    }
    const { bytes, headers } = encode(answer);
    const bodiless = answer.status === 304 || answer.status === 204;
    const length = { 'content-length': `${bytes.length}` };
    response.writeHead(answer.status, bodiless ? headers : { ...length, ...headers });
    await this.#end(answer.status, answer.body, bodiless ? undefined : bytes);
  }

  async #end(status: number, body: unknown, bytes: Uint8Array = new Uint8Array()): Promise<void> {
    const { response } = this.#wire;
    if (this.#gone) return;
    // Noted before the bytes can arrive: whoever sees the worker's reaction finds this done.
    this.#answered(status, body);
    await this.#orClosed(new Promise<void>((resolve) => response.end(bytes, () => resolve())));
  }

  #answered(status: number, body: unknown): void {
    this.request.answered = { t: performance.now(), status, body };
    this.#journal.changed();
  }

  #cut(how: 'before' | 'after' | 'midway' | 'raw', mode: CutMode): void {
    this.request.cut = how;
    this.#wire.cutSocket(mode);
    this.#journal.changed();
  }

  async #write(piece: string | Uint8Array): Promise<void> {
    const { response } = this.#wire;
    if (this.#gone) return;
    await this.#orClosed(new Promise<void>((resolve) => response.write(piece, () => resolve())));
  }

  /** Waits for the work or the end of the connection, whichever is first. */
  async #orClosed(work: Promise<unknown>): Promise<void> {
    const stop = new AbortController();
    const closed = once(this.#wire.response, 'close', { signal: stop.signal }).catch(() => {});
    await Promise.race([work, closed]).finally(() => stop.abort());
  }
}

const HOW: Record<CutMode, string> = { fin: 'in order (FIN)', rst: 'hard (RST)' };
