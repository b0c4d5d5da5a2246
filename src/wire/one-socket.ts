import type { Duplex } from 'node:stream';
import { Agent } from './node-http.ts';

/** An HTTP agent for one connection, which tells when a call has given it back. */
export class OneSocket extends Agent {
  readonly #socket: Duplex;
  readonly #freed: () => void;

  constructor(socket: Duplex, freed: () => void) {
    super({ keepAlive: true, maxSockets: 1, maxFreeSockets: 1 });
    this.#socket = socket;
    this.#freed = freed;
  }

  override createConnection(): Duplex {
    return this.#socket;
  }

  override keepSocketAlive(): boolean {
    // When it lies with this agent's free ones.
    process.nextTick(this.#freed);
    return true;
  }
}
