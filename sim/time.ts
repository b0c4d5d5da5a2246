/**
 * The time of a simulated world: a queue of what is due, in order. Between two events all promises that can
 * settle do so (`settle`), so any number of hops through `await` takes no simulated time. Several machines'
 * clocks can stand on one time.
 */
export class SimulatedTime {
  #nowMs = 0;
  #order = 0;
  #heap: Due[] = [];
  readonly #turns: number;

  /** @param turns of the event loop between events; more than one only for code that hops through it. */
  constructor(turns = 2) {
    this.#turns = turns;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** When the next event is due; `undefined` if nothing waits. */
  get nextMs(): number | undefined {
    this.#dropCancelled();
    return this.#heap[0]?.atMs;
  }

  /** Calls `fire` when the time has come; among equals in the order of these calls. */
  at(atMs: number, fire: () => void): { cancel(): void } {
    const due: Due = { atMs: Math.max(atMs, this.#nowMs), order: this.#order++, fire };
    push(this.#heap, due);
    return {
      cancel: () => {
        due.fire = undefined;
      },
    };
  }

  /** Moves on by `ms`, with everything that becomes due on the way. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await this.settle();
    while ((this.nextMs ?? Number.POSITIVE_INFINITY) <= endMs) await this.step();
    this.#nowMs = endMs;
    await this.settle();
  }

  /** One event. `false` if none waits. */
  async step(): Promise<boolean> {
    this.#dropCancelled();
    const due = pop(this.#heap);
    if (!due) return false;
    this.#nowMs = due.atMs;
    const { fire } = due;
    due.fire = undefined;
    fire?.();
    await this.settle();
    return true;
  }

  /** Moves on until the promise has settled, at most `limitMs`; then it rejects. */
  async until<T>(promise: Promise<T>, limitMs = 3_600_000): Promise<T> {
    let settled = false;
    const mark = () => {
      settled = true;
    };
    promise.then(mark, mark);
    const endMs = this.#nowMs + limitMs;
    await this.settle();
    while (!settled) {
      const next = this.nextMs;
      if (next === undefined) throw new Error('Nothing is due any more, and it has not settled');
      if (next > endMs) throw new Error(`It has not settled within ${limitMs} simulated ms`);
      await this.step();
    }
    return promise;
  }

  /** Lets every promise that can settle do so. Takes no simulated time. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < this.#turns; turn++) {
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  #dropCancelled(): void {
    while (this.#heap[0] && !this.#heap[0].fire) pop(this.#heap);
  }
}

interface Due {
  readonly atMs: number;
  readonly order: number;
  /** Absent once fired or cancelled. */
  fire: (() => void) | undefined;
}

function before(a: Due, b: Due): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

function push(heap: Due[], due: Due): void {
  let at = heap.push(due) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!before(due, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = due;
}

function pop(heap: Due[]): Due | undefined {
  const top = heap[0];
  const last = heap.pop();
  if (!top || !last || top === last) return top;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
    if (!before(heap[child]!, last)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
  return top;
}
