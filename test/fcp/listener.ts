/**
 * The real sockets: a node:http (or node:https) server on a port of its own choice that can vanish in several
 * ways and come back on the same port.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

/** How a connection ends: politely (FIN) or not (RST). */
export type CutMode = 'fin' | 'rst';

export interface ListenerOptions {
  host: string;
  tls?: { key: string; cert: string };
  keepAliveTimeoutMs: number;
}

export interface SeenSocket {
  id: number;
  openedAt: number;
  closedAt?: number;
}

/** Time that a socket gets to flush what was written before a FIN; afterwards it is destroyed. */
const FLUSH_MS = 250;
/** Another process may hold the port while it is ours again; we ask this often. */
const LISTEN_TRIES = 100;

export class Listener {
  port = 0;
  /** All connections ever made. */
  readonly sockets: SeenSocket[] = [];
  readonly #options: ListenerOptions;
  readonly #onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  readonly #changed: (note?: string) => void;
  readonly #open = new Map<number, { socket: Socket; seen: SeenSocket; remotePort: number }>();
  #server: Server | undefined;

  constructor(
    options: ListenerOptions,
    onRequest: (request: IncomingMessage, response: ServerResponse) => void,
    changed: (note?: string) => void,
  ) {
    this.#options = options;
    this.#onRequest = onRequest;
    this.#changed = changed;
  }

  get url(): string {
    const { host, tls } = this.#options;
    return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${this.port}`;
  }

  /** Connections that are open now. */
  get openSockets(): number {
    return this.#open.size;
  }

  async start(): Promise<void> {
    for (let tries = 1; this.#server === undefined; tries++) {
      try {
        this.#server = await this.#listen();
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || tries >= LISTEN_TRIES)
          throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    this.port = (this.#server.address() as AddressInfo).port;
  }

  /** Closes the port, then every connection. May be called twice. */
  async stop(mode: CutMode): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const { socket } of this.#open.values()) endSocket(socket, mode);
    await closed;
  }

  /** The socket of a request, below TLS, so that it can be reset. */
  socketOf(request: IncomingMessage): { id: number; cut: (mode: CutMode) => void } {
    const { remotePort } = request.socket;
    const found = [...this.#open.values()].reverse().find((open) => open.remotePort === remotePort);
    return {
      id: found?.seen.id ?? 0,
      cut: (mode) => endSocket(found?.socket ?? request.socket, mode),
    };
  }

  #listen(): Promise<Server> {
    const { host, tls, keepAliveTimeoutMs } = this.#options;
    const server = tls
      ? createTlsServer(tls, this.#onRequest)
      : createServer({ noDelay: true }, this.#onRequest);
    server.keepAliveTimeout = keepAliveTimeoutMs;
    server.on('connection', (socket: Socket) => this.#connected(socket));
    server.on('tlsClientError', (error) => this.#changed(`TLS failed: ${error.message}`));
    server.on('clientError', (error, socket) => {
      this.#changed(`bad request on a socket: ${error.message}`);
      socket.destroy();
    });
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port, host, () => {
        server.off('error', reject);
        resolve(server);
      });
    });
  }

  #connected(socket: Socket): void {
    const seen: SeenSocket = { id: this.sockets.length + 1, openedAt: performance.now() };
    this.sockets.push(seen);
    this.#open.set(seen.id, { socket, seen, remotePort: socket.remotePort ?? 0 });
    socket.on('error', () => {});
    socket.once('close', () => {
      seen.closedAt = performance.now();
      this.#open.delete(seen.id);
      this.#changed();
    });
    this.#changed();
  }
}

function endSocket(socket: Socket, mode: CutMode): void {
  if (socket.destroyed) return;
  if (mode === 'rst') {
    socket.resetAndDestroy();
    return;
  }
  const destroy = () => socket.destroy();
  const timer = setTimeout(destroy, FLUSH_MS);
  socket.once('close', () => clearTimeout(timer));
  socket.end(destroy);
}
