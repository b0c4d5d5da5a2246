import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** A connection on which a request was sent and the answer begun, for somebody who begins with both. */
export class Continued extends Duplex {
  #socket: Socket | undefined;
  #ended = false;

  /** @param read what has come of the answer. */
  constructor(socket: Socket, read: readonly Uint8Array[]) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    for (const chunk of read) this.push(chunk);
    socket.on('data', this.#data).on('end', this.#end).on('error', this.#error);
    socket.on('close', this.#close);
  }

  /** The connection is somebody else's. */
  detach(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.off('data', this.#data).off('end', this.#end).off('error', this.#error);
    socket?.off('close', this.#close).resume();
  }

  override _read(): void {
    this.#socket?.resume();
  }

  /** It was sent before. */
  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket?.destroy();
    done(error);
  }

  /** Node's client, after an answer that ends its connection: the peer may wait for us to close it. */
  destroySoon(): void {
    this.destroy();
  }

  readonly #data = (chunk: Uint8Array): void => {
    if (!this.push(chunk)) this.#socket?.pause();
  };

  readonly #end = (): void => {
    this.#ended = true;
    this.push(null);
  };

  readonly #error = (error: Error): void => {
    this.destroy(error);
  };

  readonly #close = (): void => {
    // What has come is read first.
    if (!this.#ended) this.destroy();
  };
}
