import { beforeEach, describe, expect, it } from 'vitest';
import { type KeyKind, type OperationId, operations } from '../../src/contract/index.ts';
import { sha256 } from '../../src/control-plane/lease-token.ts';
import { type Reply, World } from './world.ts';

/** What is of another project is answered as what never was: nobody learns which ids there are. */

interface Ids {
  readonly task: string;
  readonly attempt: string;
  readonly worker: string;
  readonly key: string;
}

const action = { actionId: 'a', ifSeq: 2, reason: 'x' };
/** Every operation: how it takes ids, or why it takes none of others. */
const TABLE: Readonly<
  Record<OperationId, string | { readonly id: keyof Ids; readonly body?: (id: Ids) => unknown }>
> = {
  discover: 'takes no id',
  openapi: 'takes no id',
  submit: 'takes no id: keys of idempotency are the project’s own',
  submitBatch: 'takes no id',
  listTasks: 'takes no id but a cursor, which is a place in its own list',
  getTask: { id: 'task' },
  taskEvents: { id: 'task' },
  taskLogs: { id: 'task' },
  cancelTask: { id: 'task', body: () => ({}) },
  taskHints: 'takes no id',
  retryTask: { id: 'task', body: () => action },
  resolveTask: { id: 'task', body: () => ({ ...action, resolution: 'failed' }) },
  drainWorker: { id: 'worker', body: () => ({}) },
  present: 'names a worker of its own project, which need not be there',
  claim: 'names a worker of its own project, which need not be there',
  reportBatch: { id: 'attempt', body: (ids) => ({ reports: [{ op: 'renew', ...holder(ids) }] }) },
  report: { id: 'attempt', body: holder },
  workerHints: 'names a worker of its own project, which need not be there',
  doctor: 'takes no id',
  listWorkers: 'takes no id',
  getWorker: { id: 'worker' },
  listTypes: 'takes no id',
  newKey: 'takes no id',
  listKeys: 'takes no id but a cursor, which is a place in its own list',
  revokeKey: { id: 'key' },
};

function holder({ task, attempt }: Ids): Record<string, unknown> {
  return { taskId: task, attemptId: attempt, fence: 1, leaseToken: 'x'.repeat(43) };
}

const UNKNOWN: Ids = {
  task: 'tsk_00000000000000000000000000',
  attempt: 'att_00000000000000000000000000',
  worker: 'nobody',
  key: 'key_00000000000000000000000000',
};

let world: World;
let theirs: Ids;
beforeEach(async () => {
  world = await World.start();
  const { task, attempt } = await world.running();
  const key = await world.store.keyByHash(sha256(await world.key('task-worker')));
  theirs = { task: task.id, attempt: attempt.attemptId, worker: 'w1', key: key?.id ?? '' };
});

/** The body without what names the id or the request. */
function shape(reply: Reply, ids: Ids): unknown {
  let text = reply.text;
  for (const id of Object.values(ids)) text = text.replaceAll(id, '…');
  return JSON.parse(text.replace(/req_\w+/g, '…'));
}

describe.each(
  operations.flatMap((operation) => {
    const row = TABLE[operation.id];
    return typeof row === 'string' ? [] : [[operation.id, operation, row] as const];
  }),
)('%s', (_, { method, path, keys }, { id, body }) => {
  it('answers an id of another project as one that never was', async () => {
    const [kind] = keys as readonly KeyKind[];
    const key = await world.key(kind as KeyKind, 'other');
    const ask = (ids: Ids) =>
      world.call(method, path.replace(/\{(?!op)\w+\}/, ids[id]).replace('{op}', 'renew'), {
        key,
        ...(body && { body: body(ids) }),
      });
    const foreign = await ask(theirs);
    const unknown = await ask(UNKNOWN);
    const problem = foreign.body.results?.[0] ?? foreign;
    expect(problem, foreign.text).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND', kind: id, project: 'other' },
    });
    expect(foreign.status).toBe(unknown.status);
    expect(shape(foreign, theirs)).toEqual(shape(unknown, UNKNOWN));
    expect([...foreign.headers.keys()]).toEqual([...unknown.headers.keys()]);
    // Nothing of it has changed.
    expect(await world.kinds(theirs.task)).toEqual(['submitted', 'leased']);
    expect((await world.store.keyById(theirs.key))?.revokedAtMs).toBeUndefined();
  });
});

it('looks at every id that stands in an address', () => {
  for (const { id, path } of operations)
    if (typeof TABLE[id] === 'string' && id !== 'present') expect(path, id).not.toContain('{');
});

it('shows nothing of others where it lists, whatever the cursor is', async () => {
  const admin = await world.key('admin', 'other');
  expect((await world.call('GET', `/tasks?cursor=${theirs.task}z`, { key: admin })).body).toEqual({
    tasks: [],
  });
  const { keys } = (await world.call('GET', `/keys?cursor=${theirs.key}z`, { key: admin })).body;
  for (const { project } of keys) expect(project).toBe('other');
});
