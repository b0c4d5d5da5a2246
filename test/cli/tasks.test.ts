import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { serveControlPlane } from '../../src/control-plane/serve.ts';
import { RetryableError, TaskWorker, UnknownOutcomeError } from '../../src/index.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';
import { until } from '../e2e/processes.ts';
import { type Plane, silent, startPlane } from './plane.ts';
import { interlock } from './run.ts';
import { temporaryFolder } from './world.ts';

// Real processes on a machine that others keep busy.
vi.setConfig({ testTimeout: 60_000 });

/** What people do with tasks, over a real control plane and a worker in this process. */
async function world() {
  const plane = await startPlane();
  const env = plane.env('task-producer', 'task-operator', 'admin');
  const run = (...argv: string[]) => interlock(argv, { env });
  const submit = async (...argv: string[]) => {
    const { code, out, err } = await run('tasks', 'submit', ...argv, '--json');
    expect(code, err).toBe(0);
    return JSON.parse(out).id as string;
  };
  const status = async (id: string) =>
    JSON.parse((await run('tasks', 'show', id, '--json')).out).status as string;
  return { plane, run, submit, status };
}

async function worker(plane: Plane, build: (worker: TaskWorker) => void, maxConcurrent = 2) {
  const worker = new TaskWorker({
    serviceUrl: plane.url,
    key: plane.key('task-worker'),
    workerId: 'garage',
    maxConcurrent,
    spool: join(temporaryFolder(), 'spool'),
    stopGraceMs: 1_000,
    drainTimeoutMs: 2_000,
    log: silent,
  });
  build(worker);
  onTestFinished(async () => void (await worker.drain()));
  await worker.start();
}

/** A folder that a control plane has used. */
async function serveOnce(data: string): Promise<void> {
  const { stop } = await serveControlPlane({
    listen: '127.0.0.1:0',
    data,
    clock: systemClock(),
    random: systemRandom(),
    log: silent,
  });
  await stop();
}

const amount = { type: 'object', properties: { amount: { type: 'number' } } };

/** Runs until it is told to stop, and obeys. */
const hang = (_input: unknown, { signal }: { signal: AbortSignal }) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });

it('submits and waits, and the exit code tells how the task ended', async () => {
  const { plane, run } = await world();
  await worker(plane, (w) =>
    w
      .handle('good', 1, (input) => ({ got: input }), { effectSafety: 'pure' })
      .handle('bad', 1, () => {
        throw new Error('the printer is on fire');
      })
      .handle('unsure', 1, () => {
        throw new UnknownOutcomeError('the bank did not answer');
      })
      .handle('pay', 1, () => 'paid', { input: amount }),
  );
  const wait = (type: string, ...more: string[]) => run('tasks', 'submit', type, '--wait', ...more);
  const good = await wait('good', '--input', '{"n":1}');
  expect(good).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^succeeded tsk_[\s\S]+"n": 1/),
  });
  const bad = await wait('bad');
  expect(bad).toMatchObject({
    code: exitCodes['task-failed'].code,
    out: expect.stringMatching(
      /^failed [\s\S]+HANDLER_ERROR {2}the printer is on fire[\s\S]+past its gate[\s\S]+tasks retry tsk_\w+ --reason "…" --accept-repeated-effect/,
    ),
  });
  const refused = await wait('pay', '--input', '{"amount":"3"}');
  expect(refused).toMatchObject({
    code: exitCodes['task-failed'].code,
    out: expect.stringMatching(/INPUT_INVALID {2}.*amount[\s\S]+The handler was not called/),
  });
  expect(refused.out).not.toMatch(/past its gate|accept-repeated-effect/);
  const unsure = await wait('unsure');
  expect(unsure).toMatchObject({
    code: exitCodes['task-outcome-unknown'].code,
    out: expect.stringMatching(/outcome-unknown [\s\S]+tasks resolve/),
  });
  const expired = await wait('nobody', '--policy', 'queueTimeoutMs=1');
  expect(expired).toMatchObject({
    code: exitCodes['task-expired'].code,
    out: expect.stringContaining('QUEUE_TIMEOUT'),
  });
  const json = await wait('bad', '--json');
  expect(JSON.parse(json.out)).toMatchObject({
    status: 'failed',
    error: { code: 'HANDLER_ERROR' },
  });
});

it('follows a task: its journal, its progress, its log, its end', async () => {
  const { plane, run, submit } = await world();
  let finish: () => void = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  await worker(plane, (w) =>
    w.handle(
      'count',
      1,
      async (_input, ctx) => {
        ctx.log('one\u001b[2Jsheep');
        await ctx.progress(40, 'counting sheep');
        await finished;
        return 'asleep';
      },
      { effectSafety: 'pure' },
    ),
  );
  const id = await submit('count', '--label', 'farm=north');
  const watching = run('tasks', 'watch', id);
  const following = run('tasks', 'logs', id, '-f');
  await until(
    async () => /40 %, counting sheep, on garage/.test((await run('tasks', 'show', id)).out),
    'progress',
  );
  finish();
  const watched = await watching;
  expect(watched.code).toBe(0);
  expect(watched.out).toMatch(
    /1 {2}submitted[\s\S]+2 {2}leased[\s\S]+3 {2}started[\s\S]+4 {2}succeeded/,
  );
  expect(watched.out).toMatch(/\nsucceeded tsk_\w+ .+ after submit[\s\S]+"asleep"/);
  const { out: log } = await following;
  expect(log).toMatch(/#1 INFO {2}one�\[2Jsheep\n$/);
  const events = (await run('tasks', 'events', id, '--json')).out.trimEnd().split('\n');
  expect(events.map((line) => JSON.parse(line).seq)).toEqual([1, 2, 3, 4]);
  expect((await run('tasks', 'events', id, '--after', '3')).out).toMatch(/^\S+ +4 {2}succeeded/);
  expect((await run('tasks', 'show', id)).out).toMatch(/labels +farm=north/);
});

it('says in words what workers do: full, and with what', async () => {
  const { plane, run, submit, status } = await world();
  expect((await run('tasks', 'workers')).err).toContain('No worker has come here yet');
  await worker(plane, (w) => w.handle('hang', 1, hang, { effectSafety: 'pure' }));
  expect((await run('tasks', 'workers')).out).toMatch(
    /garage +ready: 0 of 2 slots are working +0\/2 +empty/,
  );
  const ids = [await submit('hang'), await submit('hang')];
  await until(
    async () => /full: all 2 slots are working/.test((await run('tasks', 'workers')).out),
    'full',
  );
  const { out } = await run('tasks', 'workers');
  for (const id of ids) expect(out).toContain(`garage works on ${id} (hang@1)`);
  expect((await run('tasks', 'types')).out).toMatch(/hang@1 +0 +2 +2 +pure +default +garage/);
  const third = await submit('hang');
  await until(
    async () =>
      /hang@1 +queued .*full/.test((await run('tasks', 'list', '--status', 'queued')).out),
    'reason of waiting',
  );
  for (const id of [third, ...ids]) expect((await run('tasks', 'cancel', id)).code).toBe(0);
  await until(async () => (await status(ids[0] ?? '')) === 'cancelled', 'cancelled');
});

it('cancels: a queued task at once, a running one when it obeys, an ended one never', async () => {
  const { plane, run, submit } = await world();
  const queued = await submit('hang');
  const at = await run('tasks', 'cancel', queued, '--reason', 'ordered twice');
  expect(at).toMatchObject({ code: 0, out: `cancelled ${queued} has ended\n` });
  await worker(plane, (w) => w.handle('hang', 1, hang, { effectSafety: 'pure' }));
  const running = await submit('hang');
  await until(async () => /running/.test((await run('tasks', 'show', running)).out), 'running');
  const asked = await run('tasks', 'cancel', running);
  expect(asked).toMatchObject({ code: 0, out: `running ${running} was asked to stop\n` });
  expect(await run('tasks', 'watch', running)).toMatchObject({
    code: exitCodes['task-cancelled'].code,
  });
  const late = await run('tasks', 'cancel', running);
  expect(late).toMatchObject({
    code: exitCodes.conflict.code,
    err: expect.stringContaining('TASK_TERMINAL'),
  });
  expect((await run('tasks', 'events', queued)).out).toContain('ordered twice');
});

it('retries what has failed, and asks before an effect may be repeated', async () => {
  const { plane, run, submit, status } = await world();
  let calls = 0;
  await worker(plane, (w) =>
    w.handle('flaky', 1, () => {
      if (calls++ === 0) throw new RetryableError('not now');
      return calls;
    }),
  );
  const id = await submit('flaky');
  expect((await run('tasks', 'watch', id)).code).toBe(exitCodes['task-failed'].code);
  const careless = await run('tasks', 'retry', id, '--reason', 'again');
  expect(careless.code).not.toBe(0);
  expect(careless.err).toMatch(/next .+tasks retry tsk_\w+ --reason "…" --accept-repeated-effect/);
  expect(careless.err).not.toContain('acceptRepeatedEffect');
  const careful = await run('tasks', 'retry', id, '--reason', 'again', '--accept-repeated-effect');
  expect(careful).toMatchObject({ code: 0, out: expect.stringContaining('will run again') });
  expect((await run('tasks', 'watch', id)).code).toBe(0);
  expect(await status(id)).toBe('succeeded');
});

it('resolves a task whose outcome is not known', async () => {
  const { plane, run, submit } = await world();
  await worker(plane, (w) =>
    w.handle('pay', 1, () => {
      throw new UnknownOutcomeError('the bank did not answer');
    }),
  );
  const id = await submit('pay');
  expect((await run('tasks', 'watch', id)).code).toBe(exitCodes['task-outcome-unknown'].code);
  expect((await run('tasks', 'list', '--needs-attention')).out).toContain(id);
  const doctor = await run('tasks', 'doctor');
  expect(doctor.out).toContain(`1 task needs a decision: ${id}`);
  expect(doctor.out).toMatch(
    new RegExp(`fix: Look .+ tasks resolve ${id} --as succeeded --reason "…"`),
  );
  expect(doctor.out).not.toContain('All is well');
  const wrong = await run(
    'tasks',
    'resolve',
    id,
    '--as',
    'failed',
    '--result',
    '1',
    '--reason',
    'x',
  );
  expect(wrong).toMatchObject({
    code: 64,
    err: expect.stringContaining('--result goes with --as succeeded'),
  });
  const silent = await run('tasks', 'resolve', id, '--as', 'succeeded');
  expect(silent).toMatchObject({
    code: 64,
    err: expect.stringMatching(
      new RegExp(`\nnext +Run \\S*interlock tasks resolve ${id} --as succeeded --reason "…"\n`),
    ),
  });
  const done = await run(
    'tasks',
    'resolve',
    id,
    '--as',
    'succeeded',
    '--result',
    '{"paid":true}',
    '--reason',
    'seen at the bank',
  );
  expect(done).toMatchObject({ code: 0, out: `succeeded ${id} is resolved as succeeded\n` });
  expect((await run('tasks', 'show', id)).out).toContain('"paid": true');
  const again = await run('tasks', 'resolve', id, '--as', 'failed', '--reason', 'changed my mind');
  expect(again.code).toBe(exitCodes.conflict.code);
});

it('lists by type, version, label, pool and time', async () => {
  const { run, submit } = await world();
  const a = await submit('a', '--label', 'customer=7');
  const b = await submit('a@2', '--pool', 'gpu');
  const ids = async (...argv: string[]) =>
    JSON.parse((await run('tasks', 'list', '--json', ...argv)).out).tasks.map(
      ({ id }: { id: string }) => id,
    );
  expect(await ids()).toEqual([b, a]);
  expect(await ids('--type', 'a')).toEqual([b, a]);
  expect(await ids('--type', 'a@2')).toEqual([b]);
  expect(await ids('--label', 'customer=7')).toEqual([a]);
  expect(await ids('--pool', 'gpu')).toEqual([b]);
  expect(await ids('--since', '1h')).toEqual([b, a]);
  expect(await ids('--until', '1h')).toEqual([]);
  expect(await ids('--limit', '1')).toEqual([b]);
  expect((await run('tasks', 'list', '--status', 'failed')).err).toBe('No task fits.\n');
  expect(JSON.parse((await run('tasks', 'list', '--json', '--values')).out).tasks[0].input).toEqual(
    {},
  );
});

it('makes keys of its own project, and says where those of another are made', async () => {
  const { plane, run } = await world();
  const { code, out } = await run(
    'keys',
    'new',
    'garage worker',
    '--kind',
    'task-worker',
    '--json',
  );
  expect(code).toBe(0);
  const made = JSON.parse(out);
  expect(made).toMatchObject({ name: 'garage worker', kind: 'task-worker', project: 'default' });
  const answer = await fetch(`${plane.url}/api/tasks/v1/doctor`, {
    headers: { authorization: `Bearer ${made.key}` },
  });
  expect(await answer.json()).toMatchObject({ keyKind: 'task-worker' });
  const other = await run('keys', 'new', 'x', '--kind', 'admin', '--project', 'shop');
  expect(other).toMatchObject({
    code: 64,
    err: expect.stringMatching(/project "default"[\s\S]+--data/),
  });
});

it('makes the first key of a project in the data folder, whoever runs there', async () => {
  const data = join(temporaryFolder(), 'data');
  await serveOnce(data);
  const argv = ['keys', 'new', 'shop', '--kind', 'admin', '--project', 'shop', '--data', data];
  const { code, out, err } = await interlock(argv);
  expect(code).toBe(0);
  expect(out).toMatch(
    /^key {6}il_\w{43}\nkind {5}admin\nname {5}shop\nproject {2}shop\nid {7}key_\w+\n$/,
  );
  expect(err).toContain('It is shown this once.');
});

it('makes no data folder for a key: one that no control plane has used is a slip', async () => {
  const data = join(temporaryFolder(), 'typo');
  const made = await interlock(['keys', 'new', 'x', '--kind', 'admin', '--data', data]);
  expect(made).toMatchObject({
    code: exitCodes['not-found'].code,
    out: '',
    err: expect.stringContaining(`No control plane has used the folder ${data}.`),
  });
  expect(existsSync(data)).toBe(false);
});

it('tells at once what it waits for, on stderr, and keeps stdout for the end', async () => {
  const { plane, run } = await world();
  const waiting = run('tasks', 'submit', 'later', '--wait');
  const { id } = await until(
    async () => JSON.parse((await run('tasks', 'list', '--json')).out).tasks[0],
    'task',
  );
  await worker(plane, (w) => w.handle('later', 1, () => 'done', { effectSafety: 'pure' }));
  const { code, out, err } = await waiting;
  expect(code).toBe(0);
  expect(err).toMatch(new RegExp(`^${id} {2}later@1 is queued: .*no worker`, 'i'));
  expect(out).toMatch(new RegExp(`^succeeded ${id} .+ after submit`));
  const json = await run('tasks', 'submit', 'later', '--wait', '--json');
  expect(json).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(json.out)).toMatchObject({ status: 'succeeded' });
});

it('shows a stack trace as the lines it has, and says where nothing was logged', async () => {
  const { plane, run, submit, status } = await world();
  await worker(plane, (w) =>
    w
      .handle('traced', 1, (_input, ctx) => ctx.log('Error: no\n    at x\r\n    at y\n'), {
        effectSafety: 'pure',
      })
      .handle('mute', 1, () => null, { effectSafety: 'pure' }),
  );
  const traced = await submit('traced');
  const { out } = await run('tasks', 'logs', traced, '-f');
  expect(out).toMatch(/^\S+ #1 INFO {2}Error: no\n {26}at x\n {26}at y\n$/);
  const mute = await submit('mute');
  await until(async () => (await status(mute)) === 'succeeded', 'end');
  expect(await run('tasks', 'logs', mute)).toMatchObject({
    code: 0,
    out: '',
    err: `There is no log line of ${mute}; it is succeeded.\n`,
  });
});

it('says with a failure that could be tried again how many attempts it had, and shows the next step', async () => {
  const { plane, run } = await world();
  await worker(plane, (w) =>
    w.handle(
      'busy',
      1,
      () => {
        throw new RetryableError('busy');
      },
      { effectSafety: 'pure' },
    ),
  );
  const { out } = await run(
    ...['tasks', 'submit', 'busy', '--wait', '--policy', 'maxAttempts=2'],
    ...['--policy', 'backoff.initialMs=1'],
  );
  const [, id = ''] = /^failed (\S+)/.exec(out) ?? [];
  const shown = await run('tasks', 'show', id);
  for (const text of [out, shown.out])
    expect(text).toMatch(
      /2 of 2 attempts were used[\s\S]+next {3}\S*interlock tasks logs .+retry .+--reason/,
    );
  expect(shown.out).toMatch(/failed: HANDLER_ERROR: busy \(2 of 2 attempts\)/);
});

it('asks a worker to drain', async () => {
  const { plane, run } = await world();
  expect(await run('tasks', 'drain', 'nobody')).toMatchObject({ code: 66 });
  await worker(plane, (w) => w.handle('x', 1, () => null));
  expect(await run('tasks', 'drain', 'garage')).toMatchObject({
    code: 0,
    out: 'garage was asked to drain\n',
  });
  await until(
    async () => /garage was asked to drain|offline/.test((await run('tasks', 'workers')).out),
    'drain',
  );
});
