import { address } from '../address.ts';

/** Addresses of a task's pages. */
export const taskAddress = (id: string, part?: TaskPart) =>
  address(part === undefined ? '/tasks/{id}' : `/tasks/{id}/${part}`, { id });

export type TaskPart =
  | 'cancel'
  | 'retry'
  | 'resolve'
  | 'input.json'
  | 'result.json'
  | 'log.txt'
  | 'journal.json';

export const workerAddress = (workerId: string) => address('/workers/{id}', { id: workerId });
