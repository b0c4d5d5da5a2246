/**
 * Connections to peers, kept between calls, a few to each at the same time. What waits is served in its order, by the first
 * connection that becomes free or is opened.
 */
import type { Socket } from 'node:net';
import { wireDefaults } from '../core/defaults.ts';
import type { OneSocket } from './one-socket.ts';
import type { PlainLine } from './plain-line.ts';

export interface Connection {
  readonly socket: Socket;
  /** Whoever took it gives it back, once its answer was read. */
  readonly free: () => void;
  /** Reads and writes plain calls, until there is an agent. */
  line: PlainLine | undefined;
  /** Runs all calls from the first one that was not plain. */
  agent: OneSocket | undefined;
  /** How many calls were given to it. */
  calls: number;
  /** How long the peer keeps it, as its last answer said. */
  keptMs: number | undefined;
  /** How much had come when the last call gave it back. */
  readBytes: number;
}

/** Opens a connection for `origin`, TLS included. */
export type Opener = (target: URL) => Promise<Socket>;

export class Connections {
  readonly #open: Opener;
  readonly #max: number;
  readonly #peers = new Map<string, Peer>();
  #closed = false;

  /** @param max to one origin at the same time */
  constructor(open: Opener, max: number) {
    this.#open = open;
    this.#max = max;
  }

  /**
   * A connection for one call, which gives itself back when its answer was read. Rejects with what kept it from being
   * opened, or with the signal's reason. @param fresh none that idles: one of them has just proved dead.
   */
  take(target: URL, signal: AbortSignal, fresh: boolean): Promise<Connection> {
    const ready = this.#closed || fresh || signal.aborted ? undefined : this.#ready(target);
    return ready ? Promise.resolve(ready) : this.#wait(target, signal, fresh);
  }

  /** One that idles, where nobody waits before us. */
  #ready(target: URL): Connection | undefined {
    const peer = this.#peers.get(target.origin);
    return peer && peer.waiting.length === 0 ? this.#idle(peer) : undefined;
  }

  #wait(target: URL, signal: AbortSignal, fresh: boolean): Promise<Connection> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw closedError();
      signal.throwIfAborted();
      const peer = this.#peer(target);
      if (fresh) for (const { socket } of peer.idle.splice(0)) socket.destroy();
      const leave = () => {
        peer.waiting.splice(peer.waiting.indexOf(one), 1);
        this.#forget(peer);
        reject(signal.reason);
      };
      const served = () => signal.removeEventListener('abort', leave);
      const one: Waiting = {
        take: (connection) => {
          served();
          resolve(connection);
        },
        fail: (error) => {
          served();
          reject(error);
        },
      };
      signal.addEventListener('abort', leave);
      peer.waiting.push(one);
      this.#serve(peer);
    });
  }

  /** Ends all, also busy ones. Twice is fine. */
  close(): void {
    this.#closed = true;
    for (const peer of this.#peers.values()) {
      for (const { fail } of peer.waiting.splice(0)) fail(closedError());
      for (const socket of peer.sockets) socket.destroy();
    }
  }

  #peer(target: URL): Peer {
    const known = this.#peers.get(target.origin);
    if (known) return known;
    const peer: Peer = { target, sockets: new Set(), idle: [], waiting: [], opening: 0 };
    this.#peers.set(target.origin, peer);
    return peer;
  }

  #idle(peer: Peer): Connection | undefined {
    for (;;) {
      // The one that was used last: the others may end in peace.
      const connection = peer.idle.pop();
      if (!connection) return undefined;
      const { socket } = connection;
      if (socket.destroyed) continue;
      // Nobody had asked for that: it must not become the answer to this call.
      if (socket.bytesRead !== connection.readBytes || socket.readableLength > 0) {
        socket.destroy();
        continue;
      }
      socket.setTimeout(0);
      socket.ref();
      return connection;
    }
  }

  #serve(peer: Peer): void {
    while (peer.waiting.length > 0) {
      const connection = this.#idle(peer);
      if (!connection) break;
      peer.waiting.shift()?.take(connection);
    }
    while (peer.opening < peer.waiting.length && peer.opening + peer.sockets.size < this.#max) {
      peer.opening++;
      this.#open(peer.target).then(
        (socket) => this.#opened(peer, socket),
        (error) => {
          peer.opening--;
          peer.waiting.shift()?.fail(error);
          this.#serve(peer);
          this.#forget(peer);
        },
      );
    }
  }

  #opened(peer: Peer, socket: Socket): void {
    peer.opening--;
    if (this.#closed) {
      socket.destroy();
      return;
    }
    const connection: Connection = {
      socket,
      free: () => this.#free(peer, connection),
      line: undefined,
      agent: undefined,
      calls: 0,
      keptMs: undefined,
      readBytes: 0,
    };
    peer.sockets.add(socket);
    // Stays for the life of the socket, also of one with TLS: between two owners an error must not end the process.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      peer.sockets.delete(socket);
      peer.idle = peer.idle.filter((one) => one !== connection);
      this.#serve(peer);
      this.#forget(peer);
    });
    socket.on('timeout', () => {
      if (peer.idle.includes(connection)) socket.destroy();
    });
    this.#free(peer, connection);
  }

  #free(peer: Peer, connection: Connection): void {
    const { socket, keptMs = wireDefaults.idleConnectionMs + MARGIN_MS } = connection;
    if (socket.destroyed) return;
    const idleMs = Math.min(keptMs - MARGIN_MS, wireDefaults.idleConnectionMaxMs);
    if (idleMs <= 0) {
      socket.destroy();
      return;
    }
    // It alone is no reason to stay alive.
    socket.unref();
    socket.setTimeout(idleMs);
    connection.readBytes = socket.bytesRead;
    peer.idle.push(connection);
    this.#serve(peer);
  }

  /** A peer that nobody talks to. */
  #forget({ target, sockets, waiting, opening }: Peer): void {
    if (sockets.size + waiting.length + opening === 0) this.#peers.delete(target.origin);
  }
}

interface Peer {
  readonly target: URL;
  /** All that are open, busy or idle. */
  readonly sockets: Set<Socket>;
  idle: Connection[];
  readonly waiting: Waiting[];
  opening: number;
}

interface Waiting {
  take(connection: Connection): void;
  fail(error: unknown): void;
}

function closedError(): Error {
  return Object.assign(new Error('The connections were closed here.'), { code: 'ERR_CLOSED' });
}

/** A peer closes by its own clock: a connection is not used in the last moments that it had promised. */
const MARGIN_MS = 2_000;
