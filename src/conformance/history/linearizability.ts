import { Undone } from './undone.ts';

/**
 * Whether a history of concurrent calls is one that a sequential specification allows: there is an order of the calls, each
 * at an instant between its sending and its answer, in which every answer is right (Herlihy and Wing).
 *
 * Search after Wing and Gong, with Lowe's memory: a depth-first walk over "these calls are done, this is the state" that
 * visits each such pair once. The problem is NP-complete; with at most `c` calls at the same time and `s` states for a set of
 * done calls it takes O(n · 2^c · s) steps. A call without an answer stays open to the end and doubles the sets; those that
 * are alike (`alike`) only add to them. The walk gives up after `visits` pairs, or when it is told to, and then says so: an
 * undecided history is neither right nor wrong. It gives way to others now and then, and walks without recursion.
 *
 * The specification may allow several states after a call (an answer that never came, time that passed inside the peer):
 * all of them are walked.
 */
export interface Operation<Asked, Answer> {
  readonly asked: Asked;
  /** `undefined`: none came, so it happened at any instant after it was sent, or never. */
  readonly answer: Answer | undefined;
  /** On one clock: when it was sent, and when the answer was there (infinity where none came). */
  readonly callMs: number;
  readonly returnMs: number;
}

export interface Specification<State, Asked, Answer> {
  readonly initial: State;
  /** Every state that there may be after the call, done in this state and answered so. None: it cannot be next. */
  next(state: State, operation: Operation<Asked, Answer>): readonly State[];
  /** The same for two states if and only if nothing that comes can tell them apart. Asked for at every step. */
  key(state: State): string;
  /** The same for calls that do the same in every state, so that of those without an answer the first sent goes first. */
  alike?(operation: Operation<Asked, Answer>): string;
}

export type Judgement<Op> =
  | { readonly says: 'allowed'; readonly order: readonly Op[] }
  | {
      readonly says: 'impossible';
      /** The longest order that was found. */
      readonly order: readonly Op[];
      /** What could have been next by the clock, none of which fits. */
      readonly stuck: readonly Op[];
    }
  | { readonly says: 'undecided' };

/** What a search may take. */
export interface Search {
  /** Pairs of done calls and a state that are walked at most [50000]: some dozens of megabytes. */
  readonly visits?: number;
  /** Called now and then. `false`: give up. Rejects: so does the search. */
  giveWay?(): Promise<boolean>;
}

const VISITS = 50_000;
/** Some milliseconds of walking. */
const STEPS_BETWEEN = 1_000;

/** @param history in any order. */
export async function judge<State, Asked, Answer>(
  history: readonly Operation<Asked, Answer>[],
  specification: Specification<State, Asked, Answer>,
  { visits = VISITS, giveWay }: Search = {},
): Promise<Judgement<Operation<Asked, Answer>>> {
  const left = new Undone(history, specification);
  const seen = new Set<string>();
  const order: Operation<Asked, Answer>[] = [];
  let best: readonly Operation<Asked, Answer>[] = [];
  let stuck: readonly number[] = left.next();
  const frames: Frame<State>[] = [frame(specification.initial, stuck)];
  for (let steps = 1; ; steps++) {
    if (giveWay && steps % STEPS_BETWEEN === 0 && !(await giveWay())) return { says: 'undecided' };
    if (left.answered === 0) return { says: 'allowed', order };
    const top = frames.at(-1) as Frame<State>;
    const state = top.states[top.taken++];
    const place = top.next[top.at];
    if (state !== undefined && place !== undefined) {
      left.take(place);
      const pair = `${left.key()} ${specification.key(state)}`;
      if (seen.has(pair)) {
        left.back(place);
        continue;
      }
      if (seen.size >= visits) return { says: 'undecided' };
      seen.add(pair);
      order.push(left.ops[place] as Operation<Asked, Answer>);
      frames.push(frame(state, left.next()));
      continue;
    }
    const following = top.next[++top.at];
    if (following !== undefined) {
      const operation = left.ops[following] as Operation<Asked, Answer>;
      top.states = specification.next(top.state, operation);
      top.taken = 0;
      continue;
    }
    if (order.length >= best.length) {
      best = [...order];
      stuck = top.next;
    }
    frames.pop();
    const before = frames.at(-1);
    if (before === undefined) break;
    order.pop();
    left.back(before.next[before.at] as number);
  }
  const nexts = stuck.map((place) => left.ops[place] as Operation<Asked, Answer>);
  return { says: 'impossible', order: best, stuck: nexts };
}

/** What was reached, the calls that may come there, and which of them is being tried. */
interface Frame<State> {
  readonly state: State;
  readonly next: readonly number[];
  at: number;
  states: readonly State[];
  taken: number;
}

function frame<State>(state: State, next: readonly number[]): Frame<State> {
  return { state, next, at: -1, states: [], taken: 0 };
}

/** A history as it looked at an instant: what was sent later is not there, what was answered later has no answer yet. */
export function until<Asked, Answer>(
  history: readonly Operation<Asked, Answer>[],
  ms: number,
): Operation<Asked, Answer>[] {
  return history
    .filter(({ callMs }) => callMs <= ms)
    .map((op) =>
      op.returnMs <= ms ? op : { ...op, answer: undefined, returnMs: Number.POSITIVE_INFINITY },
    );
}

/**
 * The shortest beginning of an impossible history that is impossible itself: the answer that ends it is the first one that
 * fits nothing before it. Found by halving, since every beginning of an allowed history is allowed.
 */
export async function shortestImpossible<State, Asked, Answer>(
  history: readonly Operation<Asked, Answer>[],
  specification: Specification<State, Asked, Answer>,
  search: Search = {},
): Promise<Operation<Asked, Answer>[]> {
  const ends = [...new Set(history.map(({ returnMs }) => returnMs))]
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  let low = 0;
  let high = ends.length - 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const { says } = await judge(until(history, ends[middle] as number), specification, search);
    if (says === 'impossible') high = middle;
    else low = middle + 1;
  }
  return until(history, ends[high] ?? 0);
}
