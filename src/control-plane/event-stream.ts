/** One stream of server-sent events to one reader. A reader that takes nothing is cut at a bound. */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly #onEnd: () => void;

  /** @param onEnd called once, whoever ends it. */
  constructor(bufferBytes: number, onEnd: () => void) {
    this.#onEnd = onEnd;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => this.#ended(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: bufferBytes }),
    );
  }

  get open(): boolean {
    return this.#controller !== undefined;
  }

  /** Sends an event; `false` where the stream is no more. */
  send(event: string, data: unknown): boolean {
    return this.push(eventBytes(event, data));
  }

  /** The same of events that are written already: what many readers get is written once. */
  push(bytes: Uint8Array): boolean {
    const controller = this.#controller;
    if (controller === undefined) return false;
    if ((controller.desiredSize ?? 0) <= 0) {
      // The reader is too slow: it gets what is waiting and the end, comes back and reads the truth again. One
      // that takes not even that is cut off by the socket's own limit on silence.
      this.close();
      return false;
    }
    controller.enqueue(bytes);
    return true;
  }

  /** Twice is fine. */
  close(): void {
    const controller = this.#controller;
    if (controller === undefined) return;
    this.#ended();
    controller.close();
  }

  #ended(): void {
    if (this.#controller === undefined) return;
    this.#controller = undefined;
    this.#onEnd();
  }
}

/** As it goes over the wire. Readers may share the bytes: nobody changes them. */
function eventBytes(event: string, data: unknown): Uint8Array {
  return encoder.encode(eventText(event, data));
}

export function eventText(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

const encoder = new TextEncoder();

export const PING = eventBytes('ping', {});
