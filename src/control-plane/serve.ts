import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TaskError } from '../contract/errors.ts';
import { limits } from '../contract/limits.ts';
import { controlPlaneDefaults, serverDefaults } from '../core/defaults.ts';
import type { PagesAccess } from '../pages/options.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import type { SocketOwners } from '../ports/socket-owners.ts';
import type { Store } from '../ports/store.ts';
import { isUsed } from '../stores/data-check.ts';
import { openDataFolder, upgradeWords } from '../stores/data-folder.ts';
import { openMemoryStore } from '../stores/memory.ts';
import type { StoreLoss } from '../stores/sqlite/kept-files.ts';
import { createApp } from './app.ts';
import { makeKey } from './keys.ts';
import type { Timing } from './services.ts';
import {
  type Address,
  isLoopback,
  listen,
  makeServer,
  type Opened,
  parseListen,
  refuseTaken,
  type SocketLimits,
  visibleHost,
} from './socket.ts';
import { CertificateLoop, readCertificate, type SecureServer, type TlsFiles } from './tls-files.ts';
import { Turns } from './turns.ts';

export interface ServeOptions {
  /** `127.0.0.1:7420`, `[::1]:0`, `:7420`; default `127.0.0.1:7420`, port 0: any free one. */
  readonly listen?: string;
  /** The data folder; needed for `sqlite`. */
  readonly data?: string | undefined;
  /** Default `sqlite`. `memory` forgets everything at its end. */
  readonly store?: 'sqlite' | 'memory';
  readonly leaseMinMs?: number | undefined;
  readonly leaseDefaultMs?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly version?: string;
  /** Shows the first admin key, before its hash is kept. Where it rejects, so does the start, and there is no key. */
  readonly showKey?: (adminKey: string, url: string) => Promise<void>;
  readonly timing?: Partial<Timing>;
  /** What a peer may take of it. Default: `serverDefaults`. */
  readonly socket?: Partial<SocketLimits>;
  /** Speaks TLS with this certificate, which is read again when it changes. Default: plain http. */
  readonly tls?: TlsFiles | undefined;
  /** Plain http beyond loopback: something in front speaks TLS, and only that reaches this port [false]. */
  readonly behindProxy?: boolean | undefined;
  /** Who may look at the pages. Default `open`: on loopback whoever is at this machine, else with a key. */
  readonly pages?: PagesAccess | undefined;
  /** Whose connections within this machine are: those of others have to sign in. Default: nobody asks. */
  readonly owners?: SocketOwners | undefined;
}

export interface ServedControlPlane {
  /** Where clients on this machine reach it, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Only at the first start on an empty folder: to be shown once, it is kept as a hash. */
  readonly adminKey?: string;
  /** The files of its store were taken away: everything is refused with 503, and it did not end in order. */
  readonly loss: StoreLoss | undefined;
  /** Ends streams, answers what is under way, closes the store; within 5 s. Twice is fine. */
  stop(): Promise<void>;
}

/**
 * The embedded control plane on a socket.
 *
 * @throws TaskError `ADDRESS_IN_USE`, `LISTEN_FAILED`, `LISTEN_INVALID`, `LISTEN_PLAIN` and `LISTEN_WITHOUT_KEYS` (beyond
 *   loopback, before anything is made), `TLS_…`, and those of the data folder.
 */
export async function serveControlPlane(options: ServeOptions): Promise<ServedControlPlane> {
  const address = parseListen(options.listen ?? '127.0.0.1:7420');
  const certificate = options.tls && readCertificate(options.tls, options.clock.wall());
  const beyond = !isLoopback(address.host);
  if (beyond) refuseOpen(address, options);
  if (makesData(options)) await refuseTaken(address);
  const base = openBase(options);
  if (beyond && (await countKeys(base)) === 0) {
    await base.close();
    throw withoutKeys(address, options);
  }
  const socket = { ...serverDefaults, ...options.socket };
  const turns = new Turns(socket);
  const app = createApp({
    ...options,
    pages: {
      access: options.pages ?? 'open',
      place: {
        loopback: !beyond,
        behindProxy: options.behindProxy === true,
        secure: certificate !== undefined || options.behindProxy === true,
      },
    },
    turns,
    store: base.store,
    secret: base.secret,
    limits: {
      leaseMs: {
        min: options.leaseMinMs ?? limits.leaseMs.min,
        default: options.leaseDefaultMs ?? limits.leaseMs.default,
        max: Math.max(limits.leaseMs.max, options.leaseDefaultMs ?? 0),
      },
    },
  });
  const { clock, log, owners } = options;
  const opened = makeServer({ ...app, limits: socket, clock, log, owners, certificate, turns });
  const { server } = opened;
  const renewing =
    options.tls && certificate && 'setSecureContext' in server
      ? new CertificateLoop({
          files: options.tls,
          current: certificate,
          server: server as Server & SecureServer,
          clock,
          log,
          everyMs: socket.certificateLookMs,
        })
      : undefined;
  const stopApp = async () => {
    await Promise.all([app.stop(), renewing?.stop()]);
  };
  try {
    await listen(server, address);
    await app.start();
    const { port } = server.address() as AddressInfo;
    const url = `${certificate ? 'https' : 'http'}://${visibleHost(address.host)}:${port}`;
    const adminKey = await firstKey(base.store, options, url);
    renewing?.start();
    if (beyond && !certificate)
      log.warn(
        'serve.behind-proxy',
        `Listening on ${address.host} without TLS, since a proxy is said to be in front: let only that reach this port. Keys and tasks travel readable between the two.`,
      );
    let stopping: Promise<void> | undefined;
    const stop = () => {
      stopping ??= stopAll(clock, opened, stopApp, base);
      return stopping;
    };
    return {
      url,
      port,
      ...(adminKey && { adminKey }),
      get loss() {
        return base.loss;
      },
      stop,
    };
  } catch (error) {
    await stopAll(clock, opened, stopApp, base);
    throw error;
  }
}

interface Base {
  readonly store: Store;
  readonly secret: Uint8Array;
  readonly loss?: StoreLoss | undefined;
  close(): Promise<void>;
}

function openBase(options: ServeOptions): Base {
  if (options.store === 'memory') {
    const store = openMemoryStore(options);
    return { store, secret: options.random.bytes(32), close: () => store.close() };
  }
  if (options.data === undefined) {
    throw new TaskError('USAGE', 'The control plane needs a folder for its data.', {
      hint: 'Name one with --data, or use --store memory to forget everything at the end.',
    });
  }
  const folder = options.data;
  return openDataFolder(folder, {
    ...options,
    as: 'owner',
    onUpgrade: ({ from, to }) =>
      options.log.info('store.upgraded', upgradeWords(folder, { from, to }), { from, to }),
    onLoss: ({ error, rescued }) =>
      options.log.error('store.lost', `${error.message} ${error.hint}`, { rescued }),
  });
}

/** A first start that could not listen would leave a folder of which nobody was told a key. */
function makesData({ store, data }: ServeOptions): boolean {
  return store !== 'memory' && data !== undefined && !isUsed(data);
}

/** What can be refused before anything is opened or made. */
function refuseOpen(address: Address, options: ServeOptions): void {
  if (options.tls === undefined && !options.behindProxy) {
    throw new TaskError(
      'LISTEN_PLAIN',
      `${address.host}:${address.port} can be reached from other machines, and without TLS keys and tasks would travel readable.`,
      {
        hint: 'Give --tls-cert and --tls-key. Or put a proxy that speaks TLS in front and say so with --behind-proxy; let only the proxy reach this port.',
      },
    );
  }
  const empty = options.store === 'memory' || options.data === undefined;
  if (empty || !isUsed(options.data)) throw withoutKeys(address, options);
}

/**
 * A first start prints an admin key. What is to be reached from elsewhere is most often started by a service, whose output
 * is a log that many read: there it has to be made by hand.
 */
function withoutKeys({ host, port }: Address, { data, store }: ServeOptions): TaskError {
  const kept = store !== 'memory' && data !== undefined;
  return new TaskError(
    'LISTEN_WITHOUT_KEYS',
    `${host}:${port} can be reached from other machines, and this control plane has no keys yet. Nothing was started or made.`,
    {
      hint: kept
        ? `Make the first key here, before: interlock keys new "admin" --kind admin --data ${data} --create-data. Or start once on loopback, which prints one: interlock control-plane --data ${data}.`
        : 'One that keeps nothing (--store memory) has none at any start: let it listen on loopback, or give it a folder with --data and make a key there first.',
    },
  );
}

async function countKeys(base: Base): Promise<number> {
  try {
    return await base.store.countKeys();
  } catch (error) {
    await base.close();
    throw error;
  }
}

async function firstKey(
  store: Store,
  { random, showKey }: Pick<ServeOptions, 'random' | 'showKey'>,
  url: string,
): Promise<string | undefined> {
  if ((await store.countKeys()) > 0) return undefined;
  const made = await makeKey(
    { store, random },
    { kind: 'admin', project: 'default', name: 'first admin key' },
    (key) => showKey?.(key, url),
  );
  return made.key;
}

/** Streams first, since a server waits for its connections; whoever is still there after a while is cut. */
async function stopAll(
  clock: Clock,
  { server, closeIdle, cut }: Opened,
  stopApp: () => Promise<void>,
  base: Base,
): Promise<void> {
  const over = new AbortController();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  void closed.then(() => over.abort());
  const cutAt = clock.now() + controlPlaneDefaults.shutdownMs * CUT_SHARE;
  await stopApp();
  // A connection becomes idle when its last answer has gone; Node then keeps it open.
  do {
    if (clock.now() < cutAt) closeIdle();
    else cut();
  } while (await clock.sleep(IDLE_LOOK_MS, over.signal));
  await closed;
  await base.close();
}

/** The rest of the time is for the store. */
const CUT_SHARE = 0.6;
const IDLE_LOOK_MS = 20;
