import type { Operation, Specification } from './linearizability.ts';

/** The calls that are not done yet: two chains, by answer and by sending. What is taken is put back in the reverse order. */
export class Undone<State, Asked, Answer> {
  /** Those that were answered first are tried first: mostly that is the order. */
  readonly ops: readonly Operation<Asked, Answer>[];
  /** Not done yet, of those with an answer. */
  answered: number;
  readonly #withAnswer: number;
  readonly #byAnswer: Chain;
  readonly #bySending: Chain;
  readonly #kinds: readonly number[];
  readonly #done: Uint8Array;

  constructor(
    history: readonly Operation<Asked, Answer>[],
    specification: Specification<State, Asked, Answer>,
  ) {
    this.ops = [...history].sort((a, b) => byTime(a.returnMs, b.returnMs) || a.callMs - b.callMs);
    this.#withAnswer = this.ops.filter(({ returnMs }) => Number.isFinite(returnMs)).length;
    this.answered = this.#withAnswer;
    const places = this.ops.map((_, place) => place);
    this.#byAnswer = new Chain(places);
    const sentMs = (place: number) => (this.ops[place] as Operation<Asked, Answer>).callMs;
    this.#bySending = new Chain([...places].sort((a, b) => sentMs(a) - sentMs(b) || a - b));
    const names = new Map<string, number>();
    this.#kinds = this.ops.map((op, place) => {
      const name = specification.alike?.(op) ?? `${place}`;
      const kind = names.get(name) ?? place;
      names.set(name, kind);
      return kind;
    });
    this.#done = new Uint8Array(this.ops.length);
  }

  /** Those that no undone one was answered before; of those alike without an answer only the first sent. */
  next(): number[] {
    const firstMs = this.ops[this.#byAnswer.first]?.returnMs ?? Number.POSITIVE_INFINITY;
    const found: number[] = [];
    const kinds = new Set<number>();
    for (let at = this.#bySending.first; at < this.ops.length; at = this.#bySending.after(at)) {
      const op = this.ops[at] as Operation<Asked, Answer>;
      if (op.callMs > firstMs) break;
      if (at >= this.#withAnswer) {
        const kind = this.#kinds[at] as number;
        if (kinds.has(kind)) continue;
        kinds.add(kind);
      }
      found.push(at);
    }
    return found.sort((a, b) => a - b);
  }

  take(place: number): void {
    this.#done[place] = 1;
    this.#byAnswer.take(place);
    this.#bySending.take(place);
    if (place < this.#withAnswer) this.answered--;
  }

  back(place: number): void {
    this.#done[place] = 0;
    this.#byAnswer.back(place);
    this.#bySending.back(place);
    if (place < this.#withAnswer) this.answered++;
  }

  /** Tells apart what is done: the first that is not, and those after it that are. */
  key(): string {
    const first = this.#byAnswer.first;
    let key = `${first}`;
    for (let at = this.#done.indexOf(1, first); at >= 0; at = this.#done.indexOf(1, at + 1))
      key += `,${at}`;
    return key;
  }
}

/** A list of places that takes one out, and puts it back, in one step. */
class Chain {
  readonly #after: Int32Array;
  readonly #before: Int32Array;
  /** Stands before the first and after the last. */
  readonly #end: number;

  constructor(places: readonly number[]) {
    this.#end = places.length;
    this.#after = new Int32Array(this.#end + 1);
    this.#before = new Int32Array(this.#end + 1);
    let last = this.#end;
    for (const place of places) {
      this.#after[last] = place;
      this.#before[place] = last;
      last = place;
    }
    this.#after[last] = this.#end;
    this.#before[this.#end] = last;
  }

  /** The number of places where there is none. */
  get first(): number {
    return this.after(this.#end);
  }

  after(place: number): number {
    return this.#after[place] as number;
  }

  take(place: number): void {
    this.#after[this.#before[place] as number] = this.#after[place] as number;
    this.#before[this.#after[place] as number] = this.#before[place] as number;
  }

  back(place: number): void {
    this.#after[this.#before[place] as number] = place;
    this.#before[this.#after[place] as number] = place;
  }
}

/** Two that were never answered come at the same time. */
const byTime = (a: number, b: number) => (a === b ? 0 : a - b);
