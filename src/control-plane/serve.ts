import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { TaskError } from '../contract/errors.ts';
import { CONTRACT_HEADER, CONTRACT_VERSION, limits } from '../contract/limits.ts';
import { makeProblem } from '../contract/problems.ts';
import { controlPlaneDefaults, serverDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import type { Store } from '../ports/store.ts';
import { openDataFolder } from '../stores/data-folder.ts';
import { openMemoryStore } from '../stores/memory.ts';
import { createApp } from './app.ts';
import { makeKey } from './keys.ts';
import type { Timing } from './services.ts';

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
}

export interface ServedControlPlane {
  /** Where clients on this machine reach it, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Only at the first start on an empty folder: to be shown once, it is kept as a hash. */
  readonly adminKey?: string;
  /** Ends streams, answers what is under way, closes the store; within 5 s. Twice is fine. */
  stop(): Promise<void>;
}

/**
 * The embedded control plane on a socket.
 *
 * @throws TaskError `ADDRESS_IN_USE`, `LISTEN_FAILED`, `LISTEN_INVALID`, and those of the data folder.
 */
export async function serveControlPlane(options: ServeOptions): Promise<ServedControlPlane> {
  const address = parseListen(options.listen ?? '127.0.0.1:7420');
  const base = openBase(options);
  const app = createApp({
    ...options,
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
  const server = makeServer(app.fetch);
  try {
    await listen(server, address);
    await app.start();
    const { port } = server.address() as AddressInfo;
    const url = `http://${visibleHost(address.host)}:${port}`;
    const adminKey = await firstKey(base.store, options, url);
    if (!isLoopback(address.host)) {
      options.log.warn(
        'serve.no-tls',
        `Listening on ${address.host} without TLS: our clients send keys over https only. Put a TLS proxy in front, and let only the proxy reach this port.`,
      );
    }
    let stopping: Promise<void> | undefined;
    const stop = () => {
      stopping ??= stopAll(options.clock, server, () => app.stop(), base);
      return stopping;
    };
    return {
      url,
      port,
      ...(adminKey && { adminKey }),
      stop,
    };
  } catch (error) {
    await stopAll(options.clock, server, () => app.stop(), base);
    throw error;
  }
}

interface Base {
  readonly store: Store;
  readonly secret: Uint8Array;
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
  return openDataFolder(options.data, { ...options, as: 'owner' });
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

function makeServer(fetch: (request: Request) => Promise<Response>): Server {
  const server = createServer(
    {
      headersTimeout: serverDefaults.headersMs,
      requestTimeout: serverDefaults.requestMs,
      connectionsCheckingInterval: serverDefaults.checkEveryMs,
      keepAliveTimeout: serverDefaults.keepAliveMs,
      maxHeaderSize: serverDefaults.headerBytes,
    },
    getRequestListener(fetch, {
      errorHandler: (error) => unreadable(error instanceof Error ? error.message : String(error)),
    }),
  );
  server.maxConnections = serverDefaults.connections;
  // A reader that takes nothing for so long is gone; pings keep the others.
  server.timeout = serverDefaults.silenceMs;
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else refuseRaw(socket as Socket, error);
  });
  return server;
}

function unreadable(why: string): Response {
  return new Response(
    JSON.stringify(makeProblem('INVALID_REQUEST', `The request cannot be read: ${why}.`)),
    {
      status: 400,
      headers: {
        'Content-Type': 'application/problem+json',
        [CONTRACT_HEADER]: String(CONTRACT_VERSION),
      },
    },
  );
}

/** What is no HTTP, too slow or too large in its head is told so before the connection ends. */
function refuseRaw(socket: Socket, error: NodeJS.ErrnoException): void {
  const [status, why] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [
          '431 Request Header Fields Too Large',
          `its head has more than ${serverDefaults.headerBytes} bytes`,
        ]
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'it came too slowly']
        : ['400 Bad Request', 'it is not HTTP'];
  const problem = {
    ...makeProblem('INVALID_REQUEST', `The request cannot be read: ${why}.`),
    status: Number.parseInt(status ?? '', 10),
  };
  const body = JSON.stringify(problem);
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\n${CONTRACT_HEADER}: ${CONTRACT_VERSION}\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

interface Address {
  readonly host: string;
  readonly port: number;
}

function parseListen(text: string): Address {
  const [, host, port] = /^(.*):(\d{1,5})$/.exec(text.trim()) ?? [];
  if (host === undefined || Number(port) > 65_535) {
    throw new TaskError('LISTEN_INVALID', `--listen ${text} is no address with a port.`, {
      hint: 'Write it as 127.0.0.1:7420 or [::1]:7420.',
    });
  }
  return { host: host.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1', port: Number(port) };
}

function listen(server: Server, { host, port }: Address): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const inUse = cause.code === 'EADDRINUSE';
      reject(
        new TaskError(
          inUse ? 'ADDRESS_IN_USE' : 'LISTEN_FAILED',
          inUse
            ? `Something already listens on ${host}:${port}.`
            : `The control plane cannot listen on ${host}:${port}: ${cause.message}.`,
          {
            hint: inUse
              ? 'Stop it, or use another port with --listen.'
              : 'Use an address of this machine and a port above 1023 with --listen.',
            cause,
            details: { systemCode: cause.code },
          },
        ),
      );
    });
    server.listen({ host, port }, () => resolve());
  });
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

function visibleHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** Streams first, since a server waits for its connections; whoever is still there after a while is cut. */
async function stopAll(
  clock: Clock,
  server: Server,
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
    if (clock.now() < cutAt) server.closeIdleConnections();
    else server.closeAllConnections();
  } while (await clock.sleep(IDLE_LOOK_MS, over.signal));
  await closed;
  await base.close();
}

/** The rest of the time is for the store. */
const CUT_SHARE = 0.6;
const IDLE_LOOK_MS = 20;
