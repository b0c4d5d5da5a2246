import { describe, expect, it } from 'vitest';
import { type OperationId, operations } from '../../src/contract/operations.ts';
import { keyKinds } from '../../src/contract/service.ts';

/** Who may call what (contract 9). */
const may: Record<OperationId, readonly string[] | 'open'> = {
  discover: 'open',
  openapi: 'open',
  submit: ['task-producer', 'admin'],
  submitBatch: ['task-producer', 'admin'],
  listTasks: ['task-producer', 'task-operator', 'admin'],
  getTask: ['task-producer', 'task-operator', 'admin'],
  taskEvents: ['task-producer', 'task-operator', 'admin'],
  taskLogs: ['task-producer', 'task-operator', 'admin'],
  cancelTask: ['task-producer', 'task-operator', 'admin'],
  taskHints: ['task-producer', 'task-operator', 'admin'],
  retryTask: ['task-operator', 'admin'],
  resolveTask: ['task-operator', 'admin'],
  drainWorker: ['task-operator', 'admin'],
  present: ['task-worker'],
  claim: ['task-worker'],
  reportBatch: ['task-worker'],
  report: ['task-worker'],
  workerHints: ['task-worker'],
  // Any kind, but one without Tasks authority.
  doctor: ['task-producer', 'task-worker', 'task-operator', 'metrics', 'admin', 'inference'],
  listWorkers: ['task-producer', 'task-operator', 'admin'],
  getWorker: ['task-producer', 'task-operator', 'admin'],
  listTypes: ['task-producer', 'task-operator', 'admin'],
  newKey: ['admin'],
  listKeys: ['admin'],
  revokeKey: ['admin'],
};

describe.each(operations.map((operation) => [operation.id, operation] as const))(
  '%s',
  (id, operation) => {
    it('is for the keys of the contract', () => {
      const { keys } = operation;
      expect(keys === 'open' ? keys : [...keys].sort()).toEqual(
        may[id] === 'open' ? 'open' : [...may[id]].sort(),
      );
    });
  },
);

it('gives a key without Tasks authority nothing, and admin all but the worker’s calls', () => {
  for (const { id, keys, tag } of operations) {
    if (keys === 'open') continue;
    expect(keys, id).not.toContain('sdk');
    expect((keys as readonly string[]).includes('admin'), id).toBe(tag !== 'worker');
    for (const kind of keys) expect(keyKinds).toContain(kind);
  }
});
