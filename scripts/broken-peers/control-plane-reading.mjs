/** Faults in what is read and who may: lists, journals, views, keys and their kinds, projects, refusals, streams. */
const producer = 'src/control-plane/routes/producer.ts';
const operations = 'src/contract/operations.ts';
const calls = 'src/control-plane/routes/operations.ts';
const auth = 'src/control-plane/auth.ts';
const mount = 'src/control-plane/mount.ts';
const hub = 'src/control-plane/hub.ts';
const view = 'src/control-plane/task-view.ts';
const report = 'src/control-plane/report.ts';
const found = 'src/stores/sqlite/task-reads.ts';
const written = 'src/stores/sqlite/task-writes.ts';
const page = 'src/stores/sqlite/task-page.ts';

export const faults = [
  {
    name: 'ignores-the-pool-of-a-list',
    file: producer,
    find: '    pool: asked.pool,\n',
    replace: '',
    cases: ['reading/filters'],
  },
  {
    name: 'ignores-since',
    file: producer,
    find: 'aboveId: since,',
    replace: 'aboveId: undefined,',
    cases: ['reading/since-and-until'],
  },
  {
    name: 'needs-no-attention',
    file: producer,
    find: "attention: asked.needs === 'attention',",
    replace: 'attention: false,',
    cases: ['reading/needs-attention'],
  },
  {
    name: 'a-page-loses-its-last-task',
    file: producer,
    find: '"tasks":[${views.join',
    replace: '"tasks":[${views.slice(0, Math.max(1, views.length - 1)).join',
    cases: ['reading/pages'],
  },
  {
    name: 'a-page-has-the-last-task-of-the-one-before',
    file: page,
    find: 'AND id < ? AND id > ?',
    replace: 'AND id <= ? AND id > ?',
    cases: ['reading/pages'],
  },
  {
    name: 'lists-inputs-and-results',
    file: producer,
    find: "input: include.includes('input'), result: include.includes('result')",
    replace: 'input: true, result: true',
    cases: ['reading/include'],
  },
  {
    name: 'tells-the-entry-that-it-comes-after',
    file: producer,
    find: 'store.events(row.ref, after, limit)',
    replace: 'store.events(row.ref, after - 1, limit)',
    cases: ['reading/journal', 'reading/wait-in-vain'],
  },
  {
    name: 'a-journal-with-gaps',
    file: 'src/control-plane/change.ts',
    find: 'seq: before.seq + change.events.length }',
    replace: 'seq: before.seq + change.events.length + 1 }',
    cases: ['reading/journal'],
  },
  {
    name: 'forgets-which-code-ran',
    file: 'src/core/task-report-alive.ts',
    find: 'codeHash === undefined ? {} : { codeHash }',
    replace: '{}',
    cases: ['reading/code-hash'],
  },
  {
    name: 'an-entry-for-each-progress',
    file: 'src/core/task-report-alive.ts',
    find: 'progressN: report.n }, first.events);',
    replace:
      "progressN: report.n }, [...first.events, { kind: 'started', by: 'worker', attemptId: attempt.id, fence: attempt.fence, data: {} }]);",
    cases: ['reading/no-entries'],
  },
  {
    name: 'wakes-no-reader',
    file: hub,
    find: 'for (const wake of this.#waiters.get(note.taskId) ?? []) wake();',
    replace: '',
    cases: ['reading/wait-for-an-entry'],
  },
  {
    name: 'never-waits',
    file: producer,
    find: 'const waits = left > 0 && row.task.seq <= after;',
    replace: 'const waits = false as boolean;',
    cases: ['reading/wait-in-vain', 'reading/wait-for-an-entry'],
  },
  {
    name: 'doubles-log-lines',
    file: report,
    find: "if (said.op === 'log' && !replayed) {",
    replace: "if (said.op === 'log') {",
    cases: ['reading/logs'],
  },
  {
    name: 'says-nothing-of-what-waits',
    file: view,
    find: "textMember('waitingFor', facts && waiting(nowMs, task, attempt, facts))",
    replace: "''",
    cases: ['reading/waiting-for'],
  },
  {
    name: 'shows-the-session-of-a-task',
    file: view,
    find: "textMember('worker', task.workerId)",
    replace: "textMember('worker', task.workerId) + textMember('session', attempt?.sessionId)",
    cases: ['reading/no-sessions-and-tokens'],
  },
  {
    name: 'knows-no-offline',
    file: 'src/control-plane/worker-facts.ts',
    find: "return worker.present?.state === 'offline' ||",
    replace: 'return',
    cases: ['reading/worker'],
  },
  {
    name: 'a-doctor-without-troubles',
    file: calls,
    find: '.slice(0, controlPlaneDefaults.troublesTold)',
    replace: '.slice(0, 0)',
    cases: ['reading/doctor'],
  },

  {
    name: 'forbids-where-nobody-is-known',
    file: auth,
    find: "return refusal('UNAUTHENTICATED', detail,",
    replace: "return refusal('SCOPE_DENIED', detail,",
    cases: ['scopes/no-key', 'scopes/unknown-key', 'scopes/malformed-key'],
  },
  {
    name: 'takes-a-key-without-a-scheme',
    file: auth,
    find: '/^Bearer +(\\S{1,512})$/i',
    replace: '/^(?:Bearer +)?(\\S{1,512})$/i',
    cases: ['scopes/malformed-key'],
  },
  {
    name: 'takes-a-key-from-the-address',
    file: auth,
    find: "const header = request.header('authorization');",
    replace:
      "const inAddress = new URL(request.url, 'http://cp').searchParams.get('access_token');\n  const header = inAddress ? 'Bearer ' + inAddress : request.header('authorization');",
    cases: ['scopes/key-in-the-address'],
  },
  {
    name: 'producers-are-operators',
    file: operations,
    find: "const operators = ['task-operator', 'admin'] as const;",
    replace: "const operators = ['task-producer', 'task-operator', 'admin'] as const;",
    cases: ['scopes/producer'],
  },
  {
    name: 'workers-read-all',
    file: operations,
    find: "const readers = ['task-producer', 'task-operator', 'admin'] as const;",
    replace: "const readers = ['task-producer', 'task-operator', 'admin', 'task-worker'] as const;",
    cases: ['scopes/worker'],
  },
  {
    name: 'operators-submit',
    file: operations,
    find: "const producers = ['task-producer', 'admin'] as const;",
    replace: "const producers = ['task-producer', 'task-operator', 'admin'] as const;",
    cases: ['scopes/operator'],
  },
  {
    name: 'admins-work',
    file: operations,
    find: "const workers = ['task-worker'] as const;",
    replace: "const workers = ['task-worker', 'admin'] as const;",
    cases: ['scopes/admin'],
  },
  {
    name: 'an-sdk-key-has-authority',
    file: operations,
    find: "service.keyKinds.filter((kind) => kind !== 'sdk');",
    replace: 'service.keyKinds.filter((kind) => kind.length > 0);',
    cases: ['scopes/no-authority'],
  },
  {
    name: 'binds-an-attempt-to-its-key',
    file: report,
    find: '    const { attempt } = under;\n',
    replace: `    const { attempt } = under;
    if ((await tx.worker(project, attempt.workerId))?.keyId !== key.id) {
      answers.push(refusal('SCOPE_DENIED', 'Another key claimed it.'));
      continue;
    }
`,
    cases: ['scopes/any-worker-key', 'keys/revoke-does-not-drain'],
  },

  {
    name: 'finds-tasks-of-every-project',
    file: found,
    find: 'SELECT * FROM tasks WHERE id = ? AND project = ?',
    replace: 'SELECT * FROM tasks WHERE id = ? AND (project = ? OR 1)',
    cases: ['isolation/tasks', 'isolation/admin'],
  },
  {
    name: 'another-refusal-for-a-foreign-task',
    file: 'src/control-plane/task-of.ts',
    find: 'return (await services.store.task(key.project, id)) ?? noTask(id, key.project);',
    replace:
      "const task = await services.store.task(key.project, id);\n  if (!task && (await services.store.task('default', id)))\n    return refusal('NOT_FOUND', 'It is of another project.', { kind: 'task', project: key.project });\n  return task ?? noTask(id, key.project);",
    cases: ['isolation/tasks'],
  },
  {
    name: 'finds-attempts-of-every-project',
    file: found,
    find: 'SELECT * FROM attempts WHERE id = ? AND project = ?',
    replace: 'SELECT * FROM attempts WHERE id = ? AND (project = ? OR 1)',
    cases: ['isolation/attempts'],
  },
  {
    name: 'shows-workers-of-every-project',
    file: 'src/stores/sqlite/workers.ts',
    find: 'FROM workers AS w WHERE project = ?',
    replace: 'FROM workers AS w WHERE (project = ? OR 1)',
    cases: ['isolation/workers'],
  },
  {
    name: 'lists-tasks-of-every-project',
    file: page,
    find: 'const where = `project = ? AND status',
    replace: 'const where = `(project = ? OR 1) AND status',
    cases: ['isolation/lists'],
  },
  {
    name: 'gives-tasks-of-every-project',
    file: written,
    find: 'WHERE project = ? AND pool = ? AND type = ?',
    replace: 'WHERE (project = ? OR 1) AND pool = ? AND type = ?',
    cases: ['isolation/claims'],
  },
  {
    name: 'gives-every-version-of-a-type',
    file: written,
    find: 'AND schema_version = ? AND',
    replace: 'AND (schema_version = ? OR 1) AND',
    cases: ['isolation/pools-types-versions'],
  },
  {
    name: 'one-space-of-idempotency-keys',
    file: found,
    find: 'WHERE project = ? AND idempotency_key = ?',
    replace: 'WHERE (project = ? OR 1) AND idempotency_key = ?',
    and: [
      {
        file: 'src/stores/sqlite/task-writes.ts',
        find: '      const { changes, ref } = c.run(\n        INSERT_TASK,',
        replace:
          "      if (c.values('SELECT 1 FROM tasks WHERE idempotency_key = ?', task.idempotencyKey ?? null)) return undefined;\n      const { changes, ref } = c.run(\n        INSERT_TASK,",
      },
    ],
    cases: ['isolation/idempotency-keys'],
  },
  {
    name: 'tells-every-project-of-a-task',
    file: hub,
    find: 'if (listener.project === project) listener.stream.push(bytes);',
    replace: 'listener.stream.push(bytes);',
    cases: ['isolation/streams'],
  },

  {
    name: 'refuses-without-a-request-id',
    file: 'src/control-plane/answer.ts',
    find: '{ ...from.more, requestId }',
    replace: '{ ...from.more }',
    cases: ['errors/shape', 'errors/request-ids'],
  },
  {
    name: 'one-request-id-for-all',
    file: mount,
    find: '(++count)',
    replace: '(count)',
    cases: ['errors/request-ids'],
  },
  {
    name: 'refuses-as-plain-json',
    file: 'src/control-plane/answer.ts',
    find: "PROBLEM_TYPE = 'application/problem+json'",
    replace: "PROBLEM_TYPE = 'application/json'",
    cases: ['errors/shape', 'errors/not-found', 'errors/method', 'service/unserved-call'],
  },
  {
    name: 'points-to-no-page',
    file: 'src/contract/problems.ts',
    find: 'type: `/failures#',
    replace: 'type: `/no-such-page#',
    cases: ['errors/catalogue'],
  },
  {
    name: 'does-not-say-what-was-not-found',
    file: 'src/control-plane/task-of.ts',
    find: "    kind: 'task',\n",
    replace: '',
    cases: ['errors/not-found'],
  },
  {
    name: 'tells-where-a-path-begins',
    file: 'src/control-plane/validate.ts',
    find: 'into.push({ path: pathText(path), message: sentence(issue.message) });',
    replace: 'into.push({ path: String(path[0]), message: sentence(issue.message) });',
    cases: ['errors/paths', 'submission/missing-fields'],
  },
  {
    name: 'shows-the-key-that-it-does-not-know',
    file: auth,
    find: 'return ended ?? unauthenticated(UNKNOWN);',
    replace: 'return unauthenticated(key);',
    cases: ['errors/no-secrets'],
  },
  {
    name: 'takes-compressed-bodies-for-plain-ones',
    file: 'src/control-plane/body.ts',
    find: "if (encoding !== null && encoding.toLowerCase() !== 'identity') {",
    replace: "if (encoding === 'none') {",
    cases: ['errors/media-type'],
  },
  {
    name: 'does-not-tell-the-methods',
    file: mount,
    find: '{ Allow: allowed },',
    replace: '{},',
    cases: ['errors/method'],
  },

  {
    name: 'begins-with-nothing',
    file: 'src/control-plane/streams.ts',
    find: "stream.send('ping', {});",
    replace: '',
    cases: ['events-stream/begins-with-ping'],
  },
  {
    name: 'pings-once',
    file: 'src/control-plane/ping-loop.ts',
    find: 'listener.stream.push(PING);',
    replace: '',
    cases: ['events-stream/pings'],
  },
  {
    name: 'tells-before-it-is-kept',
    file: hub,
    find: "eventText('task', { taskId, seq, status })",
    replace: "eventText('task', { taskId, seq: seq + 1, status })",
    cases: ['events-stream/tells-changes'],
  },
  {
    name: 'tells-one-reader',
    file: hub,
    find: 'for (const listener of this.#producers)\n',
    replace: 'for (const listener of [...this.#producers].slice(0, 1))\n',
    cases: ['events-stream/every-reader'],
  },
  {
    name: 'hears-a-reader-once',
    file: hub,
    find: '    this.#producers.add(listener);\n',
    replace:
      '    const seen = (this.heard ??= new Set());\n    if (seen.has(listener.keyId)) return;\n    seen.add(listener.keyId);\n    this.#producers.add(listener);\n',
    cases: ['events-stream/comes-back', 'events-stream/every-reader'],
  },
];
