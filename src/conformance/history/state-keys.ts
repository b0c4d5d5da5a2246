import type { TaskNow } from './task-state.ts';

/** Short words for states of a task, the same for the same one: a search asks for them at every step and keeps them. */
export class StateKeys {
  readonly #numbers = new Map<string, number>();
  /** What does not change from state to state stays the same object. */
  readonly #known = new WeakMap<object, number>();

  of(task: TaskNow): string {
    return `${task.nowMs} ${task.current?.leaseEndMs} ${this.#timeless(task)}`;
  }

  /** `after` forbids whatever `before` forbids: the same task, only later, or with a lease that ends later. */
  isSameButLater(before: TaskNow, after: TaskNow): boolean {
    const lease = (task: TaskNow) => task.current?.leaseEndMs ?? 0;
    return lease(after) >= lease(before) && this.#timeless(after) === this.#timeless(before);
  }

  /** All but the two instants. */
  #timeless(task: TaskNow): number {
    const { current: now } = task;
    const attempt = now
      ? `${now.id} ${now.worker} ${now.request} ${now.safety} ${now.gate} ${now.leaseMs} ${+now.counted}${+now.startAccepted}${+now.effectAccepted}`
      : '';
    const { taskId, status, fence, attempts, undelivered, permitted, cancel } = task;
    const { operatorFence, result, seq, ended, actions, claims, journal } = task;
    const lists = [ended, actions, claims, journal].map((list) => this.#ofList(list));
    const counts = [fence, attempts, undelivered, permitted, +cancel, operatorFence, seq, ...lists];
    return this.#number([taskId, status, attempt, result, ...counts].join('|'));
  }

  #ofList(list: readonly unknown[]): number {
    const known = this.#known.get(list);
    if (known !== undefined) return known;
    const number = this.#number(JSON.stringify(list));
    this.#known.set(list, number);
    return number;
  }

  #number(text: string): number {
    const number = this.#numbers.get(text) ?? this.#numbers.size;
    this.#numbers.set(text, number);
    return number;
  }
}
