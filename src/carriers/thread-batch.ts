import type { MessagePort } from 'node:worker_threads';

/**
 * Messages to another thread: those of one turn of the event loop cross as one list, so that they are copied and the other
 * thread is woken once. (As JSON text they cost more: most are smaller than what parsing them takes.)
 */
export class ThreadBatch<Message> {
  readonly #port: MessagePort;
  readonly #instead: (message: Message, error: unknown) => Message | undefined;
  #messages: Message[] = [];
  readonly #flush = () => this.flush();

  /** @param instead what goes where one cannot be copied. */
  constructor(
    port: MessagePort,
    instead: (message: Message, error: unknown) => Message | undefined = () => undefined,
  ) {
    this.#port = port;
    this.#instead = instead;
  }

  /** Goes with what else is said in this turn. */
  add(message: Message): void {
    if (this.#messages.push(message) === 1) setImmediate(this.#flush);
  }

  /** Goes now, with what waits: this thread may be held right after it. */
  flush(): void {
    if (this.#messages.length === 0) return;
    const messages = this.#messages;
    this.#messages = [];
    try {
      this.#port.postMessage(messages);
    } catch {
      // Nothing of it has gone. What can be copied goes by itself.
      for (const message of messages) this.#alone(message);
    }
  }

  #alone(message: Message): void {
    try {
      this.#port.postMessage([message]);
    } catch (error) {
      const other = this.#instead(message, error);
      if (other !== undefined) this.#port.postMessage([other]);
    }
  }
}
