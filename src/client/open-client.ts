import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import { Door } from '../wire/door.ts';
import type { WireFetch } from '../wire/fetch.ts';
import { constantKey, type KeySource } from '../wire/key.ts';
import { openFetch } from '../wire/open-fetch.ts';
import type { ProxySettings } from '../wire/proxy.ts';
import { ServiceClient } from './service-client.ts';

/** How to reach a control plane, and as whom. */
export interface ClientOptions {
  /** `https://tasks.example.com` or `http://127.0.0.1:7420`, with or without a slash at the end. */
  readonly serviceUrl: string;
  /** `il_…`, or where it comes from. */
  readonly key: string | KeySource;
  /** If given, the first call checks that the key belongs to it. */
  readonly project?: string | undefined;
  /** How long a call goes on asking while nobody answers, in milliseconds [60000]. */
  readonly timeoutMs?: number | undefined;
  /** Send the key over http beyond this machine [false]. */
  readonly insecureHttp?: boolean | undefined;
  /** PEM file with further authorities. */
  readonly caFile?: string | undefined;
  readonly proxy?: ProxySettings | undefined;
  /** Instead of connections of our own; `caFile` and `proxy` then mean nothing. */
  readonly fetch?: WireFetch | undefined;
}

/** … and how submissions are sent. */
export interface ProducerClientOptions extends ClientOptions {
  /**
   * Submissions that come while others are under way gather for at most 10 ms and go together, as one batch call of up to 100
   * tasks and 1 MiB (the control plane's `limits`); a lone one goes at once [true]. `false`: each is a call of its own.
   */
  readonly batch?: boolean | undefined;
}

/** Time and chance, given by whoever puts the program together. */
export interface Outside {
  readonly clock: Clock;
  readonly random: Random;
}

export interface OpenClient {
  readonly client: ServiceClient;
  /** Another one for the same control plane, over the same connections. @param onAnswer see `ServiceClient`. */
  again(onAnswer?: () => void): ServiceClient;
  /**
   * Ends its connections, and the calls of all its clients: what is asked from now on, and what waits or is under way on
   * these connections, ends with `CLIENT_CLOSED`. Twice is fine; idle connections do not keep a process alive.
   */
  close(): Promise<void>;
}

/** Throws a `TaskError` where the options cannot be used (`INVALID_ADDRESS`, `INSECURE_HTTP`, `KEY_MALFORMED` …). */
export function openClient(options: ProducerClientOptions, { clock, random }: Outside): OpenClient {
  const { serviceUrl, insecureHttp, project, timeoutMs, batch, caFile, proxy } = options;
  const key = typeof options.key === 'string' ? constantKey(options.key) : options.key;
  const own = options.fetch ? undefined : openFetch({ clock, caFile, proxy });
  const fetch = options.fetch ?? (own as NonNullable<typeof own>).fetch;
  const door = new Door({ serviceUrl, key, clock, fetch, insecureHttp });
  const closing = new AbortController();
  const common = { door, clock, random, key, project, timeoutMs, batch, closed: closing.signal };
  const make = (onAnswer?: () => void) => new ServiceClient({ ...common, onAnswer });
  return {
    client: make(),
    again: make,
    close: () => {
      closing.abort();
      return own?.close() ?? Promise.resolve();
    },
  };
}
