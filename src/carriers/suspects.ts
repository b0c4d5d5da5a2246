import { hostDefaults } from '../core/defaults.ts';

/**
 * Tasks that were in a shared host when it ended, of which each may have been the one that ended it: their next
 * attempts run in a host of their own, until one of them ends without it. So a task that ends its host each time takes
 * others with it once, and no other loses more than one attempt by it here. Bounded: the oldest are forgotten.
 */
export class Suspects {
  readonly #tasks = new Set<string>();

  add(taskId: string): void {
    this.#tasks.delete(taskId);
    this.#tasks.add(taskId);
    if (this.#tasks.size <= hostDefaults.suspectsMax) return;
    const [oldest] = this.#tasks;
    this.#tasks.delete(oldest as string);
  }

  has(taskId: string): boolean {
    return this.#tasks.size > 0 && this.#tasks.has(taskId);
  }

  clear(taskId: string): void {
    this.#tasks.delete(taskId);
  }
}
