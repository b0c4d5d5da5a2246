import { AsyncLocalStorage } from 'node:async_hooks';
import type { HandlerFunction } from '../handler/define.ts';

/**
 * Tells whether code runs inside a handler that has not ended: what it awaits there, the handler may wait for. Node's
 * async context carries it through every `await` and callback of the handler.
 */
export class Inside {
  readonly #calls = new AsyncLocalStorage<{ over: boolean }>();

  /** The same handler, seen by `now`. */
  seen<Input, Result>(run: HandlerFunction<Input, Result>): HandlerFunction<Input, Result> {
    // It is told elsewhere that this is no handler.
    if (typeof run !== 'function') return run;
    return async (input, ctx) => {
      const call = { over: false };
      try {
        return await this.#calls.run(call, async () => run(input, ctx));
      } finally {
        call.over = true;
      }
    };
  }

  get now(): boolean {
    return this.#calls.getStore()?.over === false;
  }
}
