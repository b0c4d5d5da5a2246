import { Door } from '../wire/door.ts';
import type { KeySource } from '../wire/key.ts';
import { openFetch } from '../wire/open-fetch.ts';
import { type ProxySettings, proxyFromEnvironment } from '../wire/proxy.ts';
import type { Io } from './command.ts';

/** Doors to one control plane, with one key each or none, over the same connections. */
export interface Doors extends AsyncDisposable {
  readonly proxy: ProxySettings;
  /** Throws `INVALID_ADDRESS` or `INSECURE_HTTP`. */
  open(key?: KeySource): Door;
}

/** Throws `INVALID_PROXY` or `CA_FILE_UNREADABLE`. */
export function openDoors(from: {
  readonly io: Io;
  readonly settings: {
    readonly url: string;
    readonly caFile: string | undefined;
    readonly insecureHttp: boolean;
  };
}): Doors {
  const { io, settings } = from;
  const { clock } = io;
  const proxy = proxyFromEnvironment(io.env);
  const wire = openFetch({ clock, caFile: settings.caFile, proxy });
  return {
    proxy,
    open: (key) =>
      new Door({
        serviceUrl: settings.url,
        key,
        clock,
        fetch: wire.fetch,
        insecureHttp: settings.insecureHttp,
      }),
    [Symbol.asyncDispose]: () => wire.close(),
  };
}
