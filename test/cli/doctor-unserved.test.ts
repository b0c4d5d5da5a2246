import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkNotLoaded, checkUnserved, type Served } from '../../src/cli/doctor/unserved.ts';
import { typeList, workerList } from '../../src/contract/index.ts';
import { startPlane } from './plane.ts';
import { interlock } from './run.ts';
import { temporaryFolder } from './world.ts';

const hello = { effectSafety: 'pure', effectGate: 'start', type: 'demo/hello', schemaVersion: 1 };
const garage = {
  workerId: 'garage',
  state: 'ready',
  words: '',
  slots: { max: 1, busy: 0 },
  pools: ['default'],
  handlers: [hello],
  versions: {},
  spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
  lastSeenAt: '2026-01-01T00:00:00Z',
};
const waiting = (type: string, more = {}) => ({
  type,
  schemaVersion: 1,
  pools: ['default'],
  queued: 1,
  running: 0,
  oldestQueuedMs: 5,
  workers: [],
  slots: 0,
  effectSafety: [],
  ...more,
});
const seen = (types: object[], state = 'ready'): Served => ({
  types: typeList.parse({ types }).types,
  workers: workerList.parse({ workers: [{ ...garage, state }] }).workers,
});
const says = (served: Served) => checkUnserved(served).map(({ says }) => says);

it('what nobody serves is a warning with how much waits and the name that was meant', () => {
  const types = [
    waiting('demo/helo'),
    waiting('Demo/Hello', { queued: 3 }),
    waiting('demo/hello', { schemaVersion: 7 }),
    waiting('demo/hello', { workers: ['garage'], pools: ['default', 'gpu'] }),
    waiting('idle/type', { queued: 0 }),
  ];
  expect(says(seen(types))).toEqual([
    '1 task waits for what nobody serves: no worker for demo/helo@1 in pool default; served there under a name like it: demo/hello@1',
    '3 tasks wait for what nobody serves: no worker for Demo/Hello@1 in pool default; served there under another case: demo/hello@1',
    '1 task waits for what nobody serves: no worker for demo/hello@7 in pool default; served there: demo/hello@1',
    'Tasks wait for what nobody serves: no worker for demo/hello@1 in pool gpu; garage serves it in pool default',
  ]);
  const many = Array.from({ length: 12 }, (_, at) => waiting(`none/t${at}`));
  expect(says(seen(many))).toHaveLength(11);
  expect(says(seen(many)).at(-1)).toBe('2 more places like that');
});

it('where no worker is online at all, that one line says it', () => {
  const none = seen([waiting('demo/helo')], 'offline');
  expect([...checkUnserved(none), ...checkNotLoaded(['my/new@1'], none)]).toEqual([]);
});

it('what waits for a file that its worker cannot serve is told with that file', () => {
  const unservedHandlers = [
    {
      ...{ file: 'demo/bad@1.mjs', type: 'demo/bad', schemaVersion: 1 },
      ...{ why: 'demo/bad@1.mjs: it does not load.', since: garage.lastSeenAt },
    },
  ];
  const { workers } = workerList.parse({ workers: [{ ...garage, unservedHandlers }] });
  const { types } = typeList.parse({ types: [waiting('demo/bad')] });
  expect(checkUnserved({ types, workers })).toMatchObject([
    {
      says: '1 task waits for what nobody serves: no worker for demo/bad@1 in pool default: garage does not serve it: demo/bad@1.mjs: it does not load.',
      fix: expect.stringContaining('mend it, or wait where it still loads'),
    },
  ]);
});

it('doctor tells what nobody serves, and a handler that no worker has loaded', async () => {
  const plane = await startPlane();
  const presence = {
    sessionId: 'ses_doctor_unserved_0001',
    state: 'ready',
    slots: garage.slots,
    pools: garage.pools,
    handlersHash: 'a',
    handlers: [hello],
    versions: {},
    spool: garage.spool,
  };
  const put = await fetch(`${plane.url}/api/tasks/v1/workers/garage`, {
    method: 'PUT',
    headers: {
      Authorization: `Bearer ${plane.key('task-worker')}`,
      'Content-Type': 'application/json',
    },
    body: JSON.stringify(presence),
  });
  expect(put.status, await put.text()).toBe(200);
  const cwd = temporaryFolder();
  for (const name of ['hello', 'new']) {
    mkdirSync(join(cwd, 'handlers/demo'), { recursive: true });
    const text = "export const effectSafety = 'pure';\nexport default async () => null;\n";
    writeFileSync(join(cwd, `handlers/demo/${name}@1.mjs`), text);
  }
  // A worker's own key may not look: the other one is used for that.
  const env = plane.env('task-worker', 'task-producer');
  await interlock(['tasks', 'submit', 'demo/helo', '--input', '{}'], { env });
  const { code, out } = await interlock(['tasks', 'doctor'], { env, cwd });
  expect(out).toMatch(/^warn {2}queue .*demo\/helo@1 .*like it: demo\/hello@1\n +fix: Start a/m);
  expect(out).toMatch(/^warn {2}handlers .*demo\/new@1: in the folder.*serves it\n.*SIGHUP/m);
  expect(out).not.toContain('demo/hello@1: in the folder');
  expect(code).toBe(0);
});
