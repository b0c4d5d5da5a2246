/**
 * The real sockets: a node:http server on a port that the system chose, which can vanish in several ways and
 * come back on the same port.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** How a connection ends: politely (FIN) or not (RST). */
export type CutMode = 'fin' | 'rst';

export interface ListenerOptions {
  host: string;
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
  readonly #open = new Map<Socket, SeenSocket>();
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
    const { host } = this.#options;
    return `http://${host.includes(':') ? `[${host}]` : host}:${this.port}`;
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
    for (const socket of this.#open.keys()) endSocket(socket, mode);
    await closed;
  }

  /** The socket that a request came on. */
  socketOf({ socket }: IncomingMessage): { id: number; cut: (mode: CutMode) => void } {
    return { id: this.#open.get(socket)?.id ?? 0, cut: (mode) => endSocket(socket, mode) };
  }

  #listen(): Promise<Server> {
    const { host, keepAliveTimeoutMs } = this.#options;
    const server = createServer(this.#onRequest);
    server.keepAliveTimeout = keepAliveTimeoutMs;
    server.on('connection', (socket: Socket) => this.#connected(socket));
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
    this.#open.set(socket, seen);
    socket.on('error', () => {});
    socket.once('close', () => {
      seen.closedAt = performance.now();
      this.#open.delete(socket);
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
