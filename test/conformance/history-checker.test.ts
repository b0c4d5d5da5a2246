import { describe, expect, it } from 'vitest';
import {
  judge,
  type Operation,
  type Specification,
  shortestImpossible,
  until,
} from '../../src/conformance/history/linearizability.ts';

type Asked = { readonly what: 'put' | 'get'; readonly value?: number };
type Op = Operation<Asked, { readonly value?: number }>;

/** One value; `put` replaces it. */
const register: Specification<number, Asked, { readonly value?: number }> = {
  initial: 0,
  next: (now, { asked, answer }) =>
    asked.what === 'put'
      ? [asked.value as number]
      : answer === undefined || answer.value === now
        ? [now]
        : [],
  key: String,
};

/** `put` adds at the end, `get` takes the first away and answers without a value where there is none. */
const queue: Specification<readonly number[], Asked, { readonly value?: number }> = {
  initial: [],
  next: (now, { asked, answer }) =>
    asked.what === 'put'
      ? [[...now, asked.value as number]]
      : answer === undefined || answer.value === now[0]
        ? [now.slice(1)]
        : [],
  key: JSON.stringify,
};

const put = (value: number, callMs: number, returnMs = callMs + 1): Op => ({
  asked: { what: 'put', value },
  answer: Number.isFinite(returnMs) ? {} : undefined,
  callMs,
  returnMs,
});
const get = (value: number | undefined, callMs: number, returnMs = callMs + 1): Op => ({
  asked: { what: 'get' },
  answer: Number.isFinite(returnMs) ? { ...(value !== undefined && { value }) } : undefined,
  callMs,
  returnMs,
});
const never = Number.POSITIVE_INFINITY;

describe('the judge of histories', () => {
  it.each([
    ['nothing', []],
    ['one after the other', [put(1, 0), get(1, 2), put(2, 4), get(2, 6)]],
    ['a read in the middle of a write sees either', [put(1, 0, 10), get(0, 1), get(1, 5)]],
    [
      'two writes at once, seen in either order',
      [put(1, 0, 9), put(2, 0, 9), get(2, 10), get(2, 12)],
    ],
    ['a write without an answer that happened', [put(1, 0, never), get(0, 2), get(1, 4)]],
    ['a write without an answer that never happened', [put(1, 0, never), get(0, 2), get(0, 4)]],
    ['an answer at the instant of the next call', [put(1, 0, 5), get(0, 5, 6)]],
  ])('allows of a register: %s', async (_, history) => {
    expect((await judge(history, register)).says).toBe('allowed');
  });

  it.each([
    ['a read of what was overwritten', [put(1, 0), put(2, 2), get(1, 4)]],
    ['a read of what nobody wrote', [put(1, 0, never), get(7, 2)]],
    [
      'two readers that see two writes in two orders',
      [put(1, 0, 20), put(2, 0, 20), get(1, 1), get(2, 3), get(1, 5)],
    ],
    ['a write without an answer that is undone', [put(1, 0, never), get(1, 2), get(0, 4)]],
  ])('does not allow of a register: %s', async (_, history) => {
    expect((await judge(history, register)).says).toBe('impossible');
  });

  it.each([
    ['first in, first out', 'allowed', [put(1, 0), put(2, 2), get(1, 4), get(2, 6)]],
    ['both at once', 'allowed', [put(1, 0, 9), put(2, 0, 9), get(2, 10), get(1, 12)]],
    ['empty before the first', 'allowed', [get(undefined, 0, 4), put(1, 1), get(1, 6)]],
    ['last in, first out', 'impossible', [put(1, 0), put(2, 2), get(2, 4), get(1, 6)]],
    ['the same twice', 'impossible', [put(1, 0), get(1, 2), get(1, 4)]],
    ['empty though it is not', 'impossible', [put(1, 0), get(undefined, 2)]],
    ['taken before it was there', 'impossible', [get(1, 0), put(1, 2)]],
  ])('judges of a queue: %s', async (_, says, history) => {
    expect((await judge(history, queue)).says).toBe(says);
  });

  it('tells the order that it found, and what could not come next', async () => {
    const history = [put(1, 0), get(1, 2), get(0, 4), put(3, 3, 9)];
    expect(await judge(history.slice(0, 2), register)).toEqual({
      says: 'allowed',
      order: history.slice(0, 2),
    });
    const said = await judge(history, register);
    expect(said).toMatchObject({ says: 'impossible', stuck: expect.arrayContaining([history[2]]) });
  });

  it('gives up at its bound and says so', async () => {
    const many = Array.from({ length: 16 }, (_, i) => put(i, 0, 10));
    const history = [...many, get(99, 20)];
    expect((await judge(history, register, { visits: 1_000 })).says).toBe('undecided');
  });

  it('lets others have their turn, and gives up or fails as they say', async () => {
    const many = Array.from({ length: 16 }, (_, i) => put(i, 0, 10));
    const history = [...many, get(99, 20)];
    let turns = 0;
    const giveWay = async () => ++turns < 3;
    expect((await judge(history, register, { giveWay })).says).toBe('undecided');
    expect(turns).toBe(3);
    const over = judge(history, register, { giveWay: () => Promise.reject(new Error('over')) });
    await expect(over).rejects.toThrow('over');
  });

  it('walks ten thousand calls one after the other', async () => {
    const calls = Array.from({ length: 10_000 }, (_, i) => (i % 2 ? get(i - 1, i) : put(i, i, i)));
    expect((await judge(calls, register)).says).toBe('allowed');
  });

  it('takes those that are alike and unanswered in the order of their sending', async () => {
    const alike = { ...register, alike: ({ asked }: Op) => JSON.stringify(asked) };
    const open = Array.from({ length: 40 }, (_, i) => put(i % 2, i, never));
    const seen = [get(1, 50), get(0, 52), get(1, 54)];
    expect((await judge([...open, ...seen], alike)).says).toBe('allowed');
    expect((await judge([...open, ...seen, get(7, 56)], alike)).says).toBe('impossible');
  });

  it('finds the shortest beginning that is impossible', async () => {
    const later = Array.from({ length: 20 }, (_, i) => put(i, 20 + i));
    const history = [put(1, 0), put(2, 2), put(5, 3, 50), get(1, 4), ...later];
    const shortest = await shortestImpossible(history, register);
    expect(shortest).toEqual(until(history, 5));
    expect(shortest.length).toBe(4);
    expect((await judge(until(history, 4), register)).says).toBe('allowed');
  });
});

describe('the judge of histories, against one that tries every order', () => {
  it.each([
    ['register', register],
    ['queue', queue],
  ] as const)('agrees on 400 random histories of a %s', async (_, specification) => {
    const spec = specification as Specification<unknown, Asked, { readonly value?: number }>;
    const says = { allowed: 0, impossible: 0 };
    for (let seed = 1; seed <= 400; seed++) {
      const history = randomHistory(chance(seed));
      const expected = bruteForce(history, spec) ? 'allowed' : 'impossible';
      expect({ seed, says: (await judge(history, spec)).says }).toEqual({ seed, says: expected });
      says[expected]++;
    }
    // Else it would have been shown of one kind only.
    expect(Math.min(says.allowed, says.impossible)).toBeGreaterThan(40);
  });
});

/** Every order of every choice of the unanswered, judged by the definition. */
function bruteForce<State>(
  history: readonly Op[],
  spec: Specification<State, Asked, { readonly value?: number }>,
): boolean {
  const walk = (order: readonly Op[], left: readonly Op[]): boolean => {
    if (left.every(({ returnMs }) => returnMs === never) && fits(order, spec)) return true;
    return left.some((op) =>
      walk(
        [...order, op],
        left.filter((other) => other !== op),
      ),
    );
  };
  return walk([], history);
}

function fits<State>(
  order: readonly Op[],
  spec: Specification<State, Asked, { readonly value?: number }>,
): boolean {
  for (const [i, op] of order.entries())
    for (const earlier of order.slice(0, i)) if (op.returnMs < earlier.callMs) return false;
  let states: readonly State[] = [spec.initial];
  for (const op of order) states = states.flatMap((state) => spec.next(state, op));
  return states.length > 0;
}

function randomHistory(random: () => number): Op[] {
  const below = (n: number) => Math.floor(random() * n);
  return Array.from({ length: 2 + below(5) }, () => {
    const callMs = below(12);
    const returnMs = random() < 0.15 ? never : callMs + 1 + below(6);
    if (random() < 0.5) return put(below(3), callMs, returnMs);
    return get(random() < 0.2 ? undefined : below(3), callMs, returnMs);
  });
}

/** Mulberry32: the same numbers for the same seed. */
function chance(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
