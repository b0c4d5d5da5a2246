import type { News } from '../../../src/cli/top/view.ts';
import { type TaskView, taskView } from '../../../src/contract/index.ts';
import { completePolicy } from '../../../src/contract/policy.ts';

/** Tasks as a control plane tells them. */

let made = 0;

export function aTask(more: Partial<TaskView> = {}): TaskView {
  const id = `tsk_${String(++made).padStart(6, '0')}`;
  return taskView.parse({
    id,
    type: 'demo/hello',
    schemaVersion: 1,
    status: 'queued',
    pool: 'default',
    priority: 0,
    labels: {},
    effectKey: id,
    policy: completePolicy(),
    attempts: 0,
    undelivered: 0,
    seq: 1,
    createdAt: '2026-01-01T00:00:00.000Z',
    ...more,
  });
}

export function someNews(more: Partial<News> = {}): News {
  return {
    attention: [],
    running: [],
    queued: [],
    failed: [],
    newest: [],
    doctor: {
      serverTime: '2026-01-01T00:00:00.000Z',
      project: 'default',
      keyKind: 'task-operator',
      queueDepth: 2,
      oldestQueuedMs: 65_000,
      workers: { ready: 1, full: 0, draining: 0, offline: 2 },
      outboxDebt: 0,
      troubles: [],
    },
    ...more,
  };
}
