/** Planted into what views, lists and answers tell: instants, numbers, names. */
const view = 'src/control-plane/task-view.ts';
const calls = 'src/control-plane/routes/operations.ts';
const producer = 'src/control-plane/routes/producer.ts';
const claim = 'src/control-plane/claim.ts';

export const faults = [
  {
    name: 'a-task-was-started-in-1970',
    file: view,
    find: "textMember('startedAt', instantText(task.startedAtMs))",
    replace: "textMember('startedAt', instantText(task.startedAtMs && 0))",
    cases: ['reading/instants'],
  },
  {
    name: 'a-task-ended-in-1970',
    file: view,
    find: "textMember('finishedAt', instantText(task.finishedAtMs))",
    replace: "textMember('finishedAt', instantText(task.finishedAtMs && 0))",
    cases: ['reading/instants'],
  },
  {
    name: 'nobody-runs-a-task',
    file: view,
    find: "textMember('worker', task.workerId)",
    replace: "textMember('worker', task.workerId && 'nobody')",
    cases: ['reading/instants'],
  },
  {
    name: 'entries-of-1970',
    file: producer,
    find: 'at: instantText(atMs) })),',
    replace: "at: instantText(event.kind === 'leased' ? 0 : atMs) })),",
    cases: ['reading/instants'],
  },
  {
    name: 'waits-for-x',
    file: view,
    find: "textMember('waitingFor', facts && waiting(nowMs, task, attempt, facts))",
    replace: "textMember('waitingFor', facts && waiting(nowMs, task, attempt, facts) && 'x')",
    cases: ['reading/waiting-for'],
  },
  {
    name: 'lists-the-oldest-first',
    file: producer,
    find: '"tasks":[${views.join',
    replace: '"tasks":[${views.reverse().join',
    cases: ['reading/newest-first'],
  },
  {
    name: 'says-every-line-in-1970',
    file: producer,
    find: 'lines: lines.map(({ n: number, ...line }) => ({ ...line,',
    replace:
      "lines: lines.map(({ n: number, ...line }) => ({ ...line, at: '1970-01-01T00:00:00.000Z',",
    cases: ['reading/logs'],
  },
  {
    name: 'a-queue-of-less-than-nothing',
    file: calls,
    find: 'queueDepth: groups.reduce((sum, { queued }) => sum + queued, 0),',
    replace: 'queueDepth: -7 + 0 * groups.length,',
    cases: ['reading/doctor'],
  },
  {
    name: 'the-oldest-waits-for-some-time',
    file: calls,
    find: '      oldestQueuedMs: waited(nowMs, oldest(groups)),\n      workers,',
    replace: "      oldestQueuedMs: 'soon',\n      workers,",
    cases: ['reading/doctor'],
  },
  {
    name: 'a-doctor-who-counts-nobody',
    file: calls,
    find: '.state]++;',
    replace: '.state] += 0;',
    cases: ['reading/doctor'],
  },
  {
    name: 'lists-no-workers',
    file: calls,
    find: 'workers: await Promise.all(views) }',
    replace: 'workers: (await Promise.all(views)).slice(0, 0) }',
    cases: ['reading/workers-and-types'],
  },
  {
    name: 'lists-no-types',
    file: calls,
    find: 'types: typeViews(nowMs, groups, online) }',
    replace: 'types: typeViews(nowMs, groups, online).slice(0, 0) }',
    cases: ['reading/workers-and-types'],
  },
  {
    name: 'claims-say-to-ask-again-before-now',
    file: 'src/control-plane/routes/worker.ts',
    find: 'pollAfterMs: services.timing.pollAfterMs,',
    replace: 'pollAfterMs: -5,',
    cases: ['claims/answer'],
  },
  {
    name: 'claims-are-answered-in-1970',
    file: 'src/control-plane/routes/worker.ts',
    find: 'serverTime: instantText(granted.nowMs),',
    replace: 'serverTime: instantText(granted.nowMs && 0),',
    cases: ['claims/answer'],
  },
  {
    name: 'attempts-without-a-policy',
    file: claim,
    find: 'policyText(task.policy)',
    replace: "'{}'",
    cases: ['claims/answer'],
  },
  {
    name: 'attempts-of-another-trace',
    file: claim,
    find: "textMember('traceparent', task.traceparent)",
    replace: "textMember('traceparent', task.traceparent && 'junk')",
    cases: ['claims/answer'],
  },
  {
    name: 'a-succeeded-task-without-its-result',
    file: view,
    find: "parts.result && task.status === 'succeeded'",
    replace: "parts.result && task.status === 'failed'",
    cases: ['history/linearizable'],
  },
  {
    name: 'a-view-that-is-ahead-of-its-journal',
    file: view,
    find: 'task.seq}',
    replace: "task.status === 'queued' ? 999 : task.seq}",
    cases: ['history/linearizable'],
  },
  {
    name: 'no-retry-is-ever-right',
    file: 'src/control-plane/act.ts',
    find: 'const change = named(decide(',
    replace:
      "if (kind === 'retry') return refusal('CONFLICT', 'The task has changed.', { seq: row.task.seq });\n    const change = named(decide(",
    cases: ['history/linearizable'],
  },
  {
    name: 'gives-no-task-a-second-attempt',
    file: claim,
    find: 'if (betterElsewhere(tx.nowMs, task, workerId) && services',
    replace: 'if (task.fence > 0 || betterElsewhere(tx.nowMs, task, workerId) && services',
    cases: ['history/linearizable'],
  },
];
