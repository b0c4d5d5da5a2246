import { expect, it } from 'vitest';
import { makeStyle } from '../../src/cli/style.ts';
import { tableLines } from '../../src/cli/table.ts';
import { typeColumns } from '../../src/cli/views/worker-view.ts';
import type { TypeList, WorkerView } from '../../src/contract/index.ts';

it('tells of which of the pools each worker of a type takes tasks, where they are not all of them', () => {
  const type: TypeList['types'][number] = {
    type: 'demo/a',
    schemaVersion: 1,
    pools: ['default', 'gpu'],
    queued: 0,
    running: 0,
    oldestQueuedMs: null,
    workers: ['attic', 'both'],
    slots: 2,
    effectSafety: ['pure'],
  };
  const workers = [
    { workerId: 'attic', pools: ['default'] },
    { workerId: 'both', pools: ['gpu', 'default'] },
  ] as unknown as WorkerView[];
  const style = makeStyle(false);
  const [, line] = tableLines([type], typeColumns(style, workers), style, undefined);
  expect(line).toMatch(/pure {4}default, gpu {2}attic \(default\), both$/);
});
