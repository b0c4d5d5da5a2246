import { TaskError } from '../contract/errors.ts';
import type { Transaction } from '../ports/store.ts';
import { type Answer, isRefusal, problemAnswer, type Refusal } from './answer.ts';
import type { KeyedCall } from './call.ts';
import { failure } from './failure.ts';

/** What needs no look into the store, for each item by itself: whatever one is, the others are not touched by it. */
export function prepareEach<Item, Prepared extends object>(
  call: KeyedCall,
  items: readonly Item[],
  prepare: (item: Item, index: number) => Prepared | Refusal,
): (Prepared | Refusal)[] {
  return items.map((item, index) => {
    try {
      return prepare(item, index);
    } catch (error) {
      return itemFailure(call, error);
    }
  });
}

/**
 * Carries out the items of a batch in one command of the store, one after the other. Each is answered for itself: what is
 * refused has changed nothing, so it takes nothing with it. An item that throws would undo them all; then each has a
 * command of its own, in which it fails alone.
 *
 * @param items those that were refused before are left alone. @param work does them all, in their order; it may be run again.
 * @param made makes of each that is done what is told of it, beside the disk (see `Store.write`).
 * @returns in the order of `items`. Never rejects.
 */
export async function carryOut<Item extends object, Done extends object, Made extends object>(
  call: KeyedCall,
  items: readonly (Item | Refusal)[],
  work: (
    tx: Transaction,
    items: readonly (Item | Refusal)[],
  ) => Promise<readonly (Done | Refusal)[]>,
  made: (done: Done) => Made,
): Promise<readonly (Made | Refusal)[]> {
  const { store } = call.services;
  if (items.every(isRefusal)) return items;
  const madeOf = (all: readonly (Done | Refusal)[]) =>
    prepareEach(call, all, (one) => (isRefusal(one) ? one : made(one)));
  try {
    return await store.write((tx) => work(tx, items), items.length, madeOf);
  } catch (error) {
    if (error instanceof TaskError && error.code === 'UNAVAILABLE') {
      const refused = itemFailure(call, error);
      return items.map((item) => (isRefusal(item) ? item : refused));
    }
  }
  return Promise.all(
    items.map(async (item) => {
      if (isRefusal(item)) return item;
      try {
        const [done] = await store.write((tx) => work(tx, [item]), 1, madeOf);
        return done as Made | Refusal;
      } catch (error) {
        return itemFailure(call, error);
      }
    }),
  );
}

export function itemFailure(
  { services, requestId, operation }: KeyedCall,
  error: unknown,
): Refusal {
  return failure(services, requestId, `An item of ${operation.method} ${operation.path}`, error);
}

/** `[{status, body}, …]`, as batch calls answer. */
export function itemsText(done: readonly (Answer | Refusal)[], requestId: string): string {
  let text = '[';
  for (const one of done) {
    const { status, body } = isRefusal(one) ? problemAnswer(one, requestId) : one;
    text += `${text.length === 1 ? '' : ','}{"status":${status},"body":${body as string}}`;
  }
  return `${text}]`;
}
