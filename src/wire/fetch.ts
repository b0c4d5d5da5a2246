/**
 * The one function through which this code talks to a control plane. The real one is `openFetch`; a test or
 * the simulator gives its own, for instance `(url, init) => app.fetch(new Request(url, init))`.
 */
export type WireFetch = (url: string, init: WireInit) => Promise<WireResponse>;

export interface WireInit {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly headers: Record<string, string>;
  /** JSON text: the same text can be sent again. Bytes are the kit's, which has to send what is no text. */
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** Aborts the call and the reading of its body. */
  readonly signal: AbortSignal;
  readonly redirect: 'manual';
  /** Connections are not shared between lanes, so a stuck call of one never holds up another. */
  readonly lane?: Lane;
  /** The call must not be sent a second time when its connection proves dead. */
  readonly once?: boolean;
}

/** `renew`: lease renewals, which wait for nothing. `stream`: event streams, one connection each. */
export type Lane = 'calls' | 'renew' | 'stream';

/** What is needed of a fetch `Response`. */
export interface WireResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: ReadableStream<Uint8Array> | null;
  /**
   * Reads the body whole, at most `maxBytes` of it; as `body` would be read, and instead of it. Absent: nothing is quicker
   * than `body`. Rejects when it ends early.
   */
  readonly collect?: ((maxBytes: number) => Promise<Collected>) | undefined;
}

/** `bytes`: what was read, also where it was not kept. */
export interface Collected {
  readonly chunks: readonly Uint8Array[];
  readonly bytes: number;
}
