import { type CallRequest, tooLarge } from './call-request.ts';
import { HOST } from './direct.ts';
import { type Found, findCall } from './find-call.ts';
import { type PlainHead, readHead } from './plain-head.ts';

/** A plain call, as far as its head tells. */
export interface PlainRead {
  readonly found: Found;
  readonly head: PlainHead;
  readonly headBytes: number;
  readonly wholeBytes: number;
}

/** Reads the heads of one connection: programs send the same again and again, but for lengths. */
export class PlainHeads {
  readonly #maxChars: number;
  #lastText = '';
  #lastHead: PlainHead | undefined;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  /** `undefined`: the piece does not begin with the whole head of a plain call. */
  read(piece: Buffer): PlainRead | undefined {
    const text = piece.toString('latin1', 0, Math.min(piece.length, this.#maxChars));
    const end = this.#headEnd(text);
    const head = end < 4 ? undefined : this.#headOf(piece, text, end);
    const found = head && findCall(head.method, head.url);
    const plain =
      head !== undefined &&
      found !== undefined &&
      (head.bodyBytes === 0 || found.operation.body !== undefined) &&
      HOST.test(head.header('host') ?? '');
    return plain ? { found, head, headBytes: end, wholeBytes: end + head.bodyBytes } : undefined;
  }

  /** Below 4: there is none. */
  #headEnd(text: string): number {
    const { length } = this.#lastText;
    if (length > 0 && text.startsWith(this.#lastText)) return length;
    return text.indexOf('\r\n\r\n') + 4;
  }

  #headOf(piece: Buffer, text: string, end: number): PlainHead | undefined {
    if (end > REMEMBERED_CHARS) return readHead(text.slice(0, end));
    if (end !== this.#lastText.length || !text.startsWith(this.#lastText)) {
      // Read anew: a slice would hold on to all of the text.
      this.#lastText = piece.toString('latin1', 0, end);
      this.#lastHead = readHead(this.#lastText);
    }
    return this.#lastHead;
  }
}

/** Of a head that is kept for the next request of its connection, which may be there for hours: programs' own are shorter. */
const REMEMBERED_CHARS = 1_024;

/** A plain call that is here as a whole. */
export class PlainRequest implements CallRequest {
  readonly #connection: { readonly signal: AbortSignal };
  readonly #head: PlainHead;
  readonly #body: Buffer;

  constructor(connection: { readonly signal: AbortSignal }, head: PlainHead, body: Buffer) {
    this.#connection = connection;
    this.#head = head;
    this.#body = body;
  }

  get url(): string {
    return this.#head.url;
  }

  get signal(): AbortSignal {
    return this.#connection.signal;
  }

  header(name: string): string | null {
    return this.#head.header(name);
  }

  here(maxBytes: number) {
    return this.#body.length > maxBytes ? tooLarge(maxBytes) : this.#body;
  }

  async bytes(maxBytes: number) {
    return this.here(maxBytes);
  }
}
