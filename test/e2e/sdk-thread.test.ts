/** Programs with a `TaskWorker` whose handlers hold their thread, as processes; the control plane is in this one. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it, vi } from 'vitest';
import { CollectingLog } from '../../sim/log.ts';
import { type ServedControlPlane, serveControlPlane } from '../../src/control-plane/serve.ts';
import { startFcp } from '../../src/fcp/fcp.ts';
import { type TaskEvent, TaskOperator, TaskProducer } from '../../src/index.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';
import { Processes, ROOT, until } from './processes.ts';
import { carries, startProxy } from './proxy.ts';

vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 });

/** A third of it is far above what a busy machine takes to let a thread run. */
const LEASE_MS = 2_000;
const TWO_LEASES_MS = 2 * LEASE_MS;
const policy = { leaseMs: LEASE_MS, backoff: { initialMs: 1, maxMs: 10 } };

class Field implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'interlock-sdk-thread-'));
  readonly processes = new Processes(this.folder);
  #plane!: ServedControlPlane;
  #workerKey!: string;
  operator!: TaskOperator;
  producer!: TaskProducer;

  static async open(): Promise<Field> {
    const field = new Field();
    field.#plane = await serveControlPlane({
      listen: '127.0.0.1:0',
      data: join(field.folder, 'data'),
      leaseMinMs: 1_000,
      clock: systemClock(),
      random: systemRandom(),
      log: new CollectingLog(),
    });
    const serviceUrl = field.url;
    field.operator = new TaskOperator({ serviceUrl, key: field.#plane.adminKey as string });
    field.#workerKey = (await field.operator.newKey('worker', 'task-worker')).key;
    const { key } = await field.operator.newKey('producer', 'task-producer');
    field.producer = new TaskProducer({ serviceUrl, key });
    return field;
  }

  get url(): string {
    return this.#plane.url;
  }

  /** Starts the program; resolves when its worker has started. */
  async program({ url = this.url, env = {}, flags = [] as string[] } = {}) {
    const file = join(ROOT, 'test/e2e/programs/sdk-worker.mjs');
    const proc = this.processes.start(process.execPath, [...flags, file], {
      env: {
        SDK: pathToFileURL(join(ROOT, 'dist/sdk.js')).href,
        URL: url,
        KEY: this.#workerKey,
        FOLDER: this.folder,
        ...env,
      },
    });
    await proc.says(/"said":"started"/);
    return proc;
  }

  begun(): string[] {
    try {
      return readFileSync(join(this.folder, 'begun'), 'utf8').split('\n').slice(0, -1);
    } catch {
      return [];
    }
  }

  reports(): string[] {
    return readdirSync(join(this.folder, 'spool/reports')).filter((name) =>
      name.endsWith('.jsonl'),
    );
  }

  async kinds(taskId: string): Promise<string[]> {
    const kinds: string[] = [];
    for await (const { kind } of this.producer.events(taskId)) kinds.push(kind);
    return kinds;
  }

  async event(taskId: string, kind: string): Promise<TaskEvent> {
    for await (const event of this.producer.events(taskId)) if (event.kind === kind) return event;
    throw new Error(`no ${kind} in the journal of ${taskId}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.processes.end();
    await this.producer.close();
    await this.operator.close();
    await this.#plane.stop();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

it('runs a handler that spins for four leases once, and its lease is kept', async () => {
  await using field = await Field.open();
  await field.program();
  const submit = (ms: number, busy: boolean) =>
    field.producer.submit('test/hold', 1, { ms, busy }, { policy });
  const task = await submit(4 * LEASE_MS, true);
  // Claimed as well, and not begun before the first gives way.
  const second = await submit(10, false);
  const done = await field.producer.await(task.id);
  expect(done).toMatchObject({
    status: 'succeeded',
    attempts: 1,
    undelivered: 0,
    // Asked by the handler before it returned, so what the agent knows at that moment.
    result: { attempt: 1, state: 'full', phases: ['running', 'running'] },
  });
  expect(await field.producer.await(second.id)).toMatchObject({
    status: 'succeeded',
    attempts: 1,
  });
  const kinds = ['submitted', 'leased', 'started', 'succeeded'];
  expect(await field.kinds(task.id)).toEqual(kinds);
  expect(await field.kinds(second.id)).toEqual(kinds);
  expect(field.begun()).toEqual([`${task.id} 1`, `${second.id} 1`]);
});

it('drains while a handler holds the thread for two leases, delivers its result and lets the process end', async () => {
  await using field = await Field.open();
  const program = await field.program();
  const input = { ms: TWO_LEASES_MS, drain: true };
  const task = await field.producer.submit('test/hold', 1, input, { policy });
  await program.says(/"said":"ended"/);
  expect(await program.ending()).toEqual({ code: 0, signal: null });
  expect(program.out).toContain('"why":"drained","unsent":0,"stopped":0');
  expect(program.out).toContain('"state":"stopped"');
  expect(await field.producer.get(task.id)).toMatchObject({
    status: 'succeeded',
    attempts: 1,
    result: { state: 'draining' },
  });
  expect(await field.kinds(task.id)).toEqual(['submitted', 'leased', 'started', 'succeeded']);
  // What the agent's thread has compiled is kept for its next start, in the user's own folder.
  const kept = readdirSync(field.folder, { recursive: true }).map(String);
  expect(kept).toContainEqual(expect.stringMatching(/interlock.compile-cache.v[^/\\]+.\w+$/));
});

it('says that a handler ignores its stop while it holds the thread, and takes what it returns', async () => {
  await using field = await Field.open();
  const program = await field.program({ env: { GRACE_MS: '100' } });
  const task = await field.producer.submit('test/hold', 1, { ms: TWO_LEASES_MS }, { policy });
  await until(() => field.begun().length > 0, 'beginning');
  await field.producer.cancel(task.id);
  // By the agent itself: the program's own thread cannot say anything now.
  await program.event('carrier.stop-ignored');
  expect((await field.producer.get(task.id)).status).toBe('running');
  expect(await field.producer.await(task.id)).toMatchObject({ status: 'succeeded', attempts: 1 });
});

it('delivers what a handler says that outlived a forced drain, and lets the process end although another hangs', async () => {
  await using field = await Field.open();
  const program = await field.program({ env: { GRACE_MS: '100', DRAIN_MS: '200' } });
  const late = await field.producer.submit('test/deaf', 1, 'until told', { policy });
  await field.producer.submit('test/deaf', 1, 'for ever', { policy });
  await until(() => field.begun().length === 2, 'two beginnings');
  program.kill('SIGTERM');
  await program.says(/"said":"ended"/);
  expect(program.out).toContain('"why":"forced","unsent":0,"stopped":2');
  expect(program.out).toContain('"state":"draining"');
  program.kill('SIGHUP');
  expect(await program.ending()).toEqual({ code: 0, signal: null });
  expect(await field.producer.get(late.id)).toMatchObject({
    status: 'succeeded',
    attempts: 1,
    result: 'late',
  });
  expect(field.begun().length).toBe(2);
});

it('tells what a killed program was running at its next start, and runs it again', async () => {
  await using field = await Field.open();
  const killed = await field.program();
  const task = await field.producer.submit('test/hold', 1, { ms: 20_000 }, { policy });
  // Only what was heard of before the crash counts as an attempt.
  await until(async () => (await field.producer.get(task.id)).progress, 'progress');
  await killed.crash();
  await field.program();
  await until(() => field.begun().length > 1, 'second beginning');
  expect(field.begun()).toEqual([`${task.id} 1`, `${task.id} 2`]);
  const lost = await field.event(task.id, 'lost');
  expect(lost.data).toMatchObject({ reason: 'worker-restarted', begun: true });
});

it('sends after process.exit() what was finished before it', async () => {
  await using field = await Field.open();
  const proxy = await startProxy(field.url);
  try {
    proxy.judge((passing) => (carries('complete', passing) ? 'cut' : 'pass'));
    const left = await field.program({ url: proxy.url });
    const task = await field.producer.submit('test/quick', 1, null, {
      policy: { leaseMs: 60_000 },
    });
    await until(() => field.reports().length > 0, 'report on disk');
    left.kill('SIGUSR2');
    expect(await left.ending()).toEqual({ code: 7, signal: null });
    proxy.judge(() => 'pass');
    await field.program({ url: proxy.url });
    expect(await field.producer.await(task.id)).toMatchObject({
      status: 'succeeded',
      attempts: 1,
      result: 'quick',
    });
    expect(field.begun()).toEqual([`${task.id} 1`]);
    await until(() => field.reports().length === 0, 'empty spool');
  } finally {
    await proxy.close();
  }
});

it('F25 goes on asking for its lease while its key is refused and the thread of the key’s source is held', async () => {
  await using field = await Field.open();
  const file = join(field.folder, 'key');
  writeFileSync(file, 'il_old');
  const fcp = await startFcp({ keys: ['il_old'], leaseMs: LEASE_MS });
  try {
    await field.program({ url: fcp.url, env: { KEY_FILE: file } });
    const input = { ms: 4 * LEASE_MS };
    const task = fcp.offer({ type: 'test/hold', effectSafety: 'idempotent', input });
    await until(() => field.begun().length > 0, 'beginning');
    fcp.keys.reject('il_old');
    fcp.keys.accept('il_new');
    const from = fcp.log.length;
    const renewals = () =>
      fcp.log.slice(from).filter(({ reports }) => reports.some(({ op }) => op === 'renew'));
    await until(() => renewals().length >= 4, 'four refused renewals');
    // Nobody can have read it yet.
    writeFileSync(file, 'il_new');
    expect((await task.ended()).op).toBe('complete');
    expect(field.begun().length).toBe(1);
    expect(task.attempts.length).toBe(1);
  } finally {
    await field.processes.end();
    await fcp.stop();
  }
});

it('leaves the flags, hooks and variables of the program to the program', async () => {
  await using field = await Field.open();
  const hook = `data:text/javascript,${encodeURIComponent(
    "import { isMainThread } from 'node:worker_threads'; if (!isMainThread) process.exit(9);",
  )}`;
  const program = await field.program({
    flags: ['--import', hook, '--max-old-space-size=200', '--dns-result-order=ipv4first'],
    env: { NODE_OPTIONS: '--no-warnings --stack-trace-limit=5' },
  });
  const task = await field.producer.submit('test/quick', 1, null);
  expect(await field.producer.await(task.id)).toMatchObject({ status: 'succeeded' });
  expect(program.err).toBe('');
});
