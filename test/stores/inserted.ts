import type { TaskRow, Transaction } from '../../src/ports/store.ts';

/** Puts a task in; throws where there is one with its idempotency key. */
export async function inserted(
  tx: Transaction,
  ...given: Parameters<Transaction['insertTask']>
): Promise<TaskRow> {
  const row = await tx.insertTask(...given);
  if (row === undefined) throw new Error('there is one with its idempotency key');
  return row;
}
