/** Outboxes on the real disk, over real sockets, shared by real processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { inspectOutbox } from '../../src/client/outbox/inspect.ts';
import type { TaskView } from '../../src/contract/index.ts';
import { TaskError, TaskProducer } from '../../src/index.ts';
import { systemDisk } from '../../src/system/disk.ts';
import { systemFolderLock } from '../../src/system/folder-lock.ts';
import { systemProcessInfo } from '../../src/system/process-info.ts';
import { type Plane, silent, startPlane } from '../cli/plane.ts';
import { until } from '../e2e/processes.ts';
import { type BentProxy, startProxy } from '../e2e/proxy.ts';

const CHILD = join(import.meta.dirname, 'outbox-child.ts');

class Place {
  readonly plane: Plane;
  readonly proxy: BentProxy;
  readonly folder: string;
  readonly key: string;

  private constructor(plane: Plane, proxy: BentProxy, home: string) {
    this.plane = plane;
    this.proxy = proxy;
    this.folder = join(home, 'outbox');
    this.key = plane.key('task-producer');
  }

  static async make(): Promise<Place> {
    const plane = await startPlane();
    const proxy = await startProxy(plane.url);
    const home = await mkdtemp(join(tmpdir(), 'interlock-outbox-'));
    onTestFinished(async () => {
      await proxy.close();
      await rm(home, { recursive: true, force: true });
    });
    return new Place(plane, proxy, home);
  }

  producer(more: { onSubmitted?: (s: { idempotencyKey: string }, task: TaskView) => void } = {}) {
    const { folder, key, proxy } = this;
    const outbox = { folder, log: silent, ...more };
    const producer = new TaskProducer({ serviceUrl: proxy.url, key, outbox });
    onTestFinished(() => producer.close());
    return producer;
  }

  /** A process with a producer; `lines` grow as it tells, `gone` resolves with its exit code. */
  start(name: string, count: number, stay = false) {
    const argv = [CHILD, this.proxy.url, this.key, this.folder, name, String(count)];
    const child = spawn(process.execPath, stay ? [...argv, 'stay'] : argv, {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    return new Child(child);
  }

  intents(): string[] {
    const folder = join(this.folder, 'intents');
    return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.jsonl')) : [];
  }

  /** Resolves when nothing waits in it any more. */
  async empty(): Promise<void> {
    await until(() => this.intents().length === 0 || undefined, 'an empty outbox', 30_000);
  }

  async inputs(): Promise<unknown[]> {
    const reader = new TaskProducer({ serviceUrl: this.plane.url, key: this.key });
    const inputs: unknown[] = [];
    for await (const { input } of reader.list({ include: ['input'] })) inputs.push(input);
    await reader.close();
    return inputs.sort();
  }
}

class Child {
  readonly process: ChildProcess;
  readonly lines: { input: string; stored: boolean }[] = [];
  readonly gone: Promise<number | null>;
  #text = '';
  #waiting: (() => void)[] = [];

  constructor(child: ChildProcess) {
    this.process = child;
    child.stdout?.on('data', (data) => {
      const parts = `${this.#text}${data}`.split('\n');
      this.#text = parts.pop() ?? '';
      for (const line of parts) this.lines.push(JSON.parse(line));
      for (const wake of this.#waiting.splice(0)) wake();
    });
    this.gone = new Promise((resolve) => child.once('close', resolve));
  }

  async told(count: number): Promise<void> {
    let ended = false;
    void this.gone.then(() => {
      ended = true;
      for (const wake of this.#waiting.splice(0)) wake();
    });
    while (this.lines.length < count) {
      if (ended) throw new Error(`The process ended after ${this.lines.length} of ${count} lines`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }
}

describe('an outbox on a real disk', () => {
  it('is for its user alone, and is empty when the answers came', async () => {
    const place = await Place.make();
    const producer = place.producer();
    const made = await producer.submit('demo/hello', 1, 'now');
    expect(made.stored).toBe(false);
    if (process.platform !== 'win32') {
      expect(statSync(place.folder).mode & 0o777).toBe(0o700);
      expect(statSync(join(place.folder, 'intents')).mode & 0o777).toBe(0o700);
    }
    await producer.close();
    expect(place.intents()).toEqual([]);
    const late = await producer.submit('demo/hello', 1, 'late').catch((error: unknown) => error);
    expect(late).toBeInstanceOf(TaskError);
    expect(late).toMatchObject({ code: 'OUTBOX_CLOSED' });
  });

  it('is sent by itself when the control plane is back', async () => {
    const place = await Place.make();
    const back = Promise.withResolvers<string>();
    const producer = place.producer({
      onSubmitted: ({ idempotencyKey }, { id }) => back.resolve(`${idempotencyKey} ${id}`),
    });
    place.proxy.judge(() => 'cut');
    const made = await producer.submit('demo/hello', 1, 'away', { idempotencyKey: 'k' });
    expect(made).toMatchObject({ stored: true, idempotencyKey: 'k' });
    if (process.platform !== 'win32')
      expect(statSync(join(place.folder, 'intents', place.intents()[0] ?? '')).mode & 0o777).toBe(
        0o600,
      );
    place.proxy.judge(() => 'pass');
    expect(await back.promise).toMatch(/^k tsk_/);
    // The key leads to the task, whoever asks.
    const again = await producer.submit('demo/hello', 1, 'away', { idempotencyKey: 'k' });
    expect(again).toMatchObject({ stored: false, replayed: true });
    expect(await place.inputs()).toEqual(['away']);
  });

  it('keeps no program alive: one that has stored what it had to say ends by itself', async () => {
    const place = await Place.make();
    place.proxy.judge(() => 'cut');
    const child = place.start('short', 2);
    expect(await child.gone).toBe(0);
    expect(child.lines).toEqual([
      { input: 'short-0', stored: true },
      { input: 'short-1', stored: true },
    ]);
    expect(place.intents()).toHaveLength(2);
    place.proxy.judge(() => 'pass');
    // The next ones send what it left.
    const next = place.start('next', 1);
    expect(await next.gone).toBe(0);
    expect(next.lines).toEqual([{ input: 'next-0', stored: false }]);
    const last = place.producer();
    await last.submit('demo/hello', 1, 'x-last');
    await place.empty();
    expect(await place.inputs()).toEqual(['next-0', 'short-0', 'short-1', 'x-last']);
  });
});

describe('processes that share an outbox', () => {
  it('store and send at the same time, and any may be killed while it holds the lock: one task each', async () => {
    const place = await Place.make();
    place.proxy.judge(() => 'cut');
    const left = place.start('left', 3);
    expect(await left.gone).toBe(0);
    // It finds what was left and takes the lock for it.
    const holder = place.start('holder', 3, true);
    await holder.told(3);
    const look = async () =>
      inspectOutbox({
        disk: systemDisk(),
        lock: systemFolderLock(),
        processInfo: await systemProcessInfo(),
        folder: place.folder,
      });
    const seen = await look();
    expect(seen.owner).toMatchObject({ pid: holder.process.pid, state: 'alive' });
    expect(seen.entries).toHaveLength(6);
    const others = [place.start('a', 3), place.start('b', 3), place.start('c', 3)];
    for (const child of others) expect(await child.gone).toBe(0);
    holder.process.kill('SIGKILL');
    await holder.gone;
    expect((await look()).owner).toMatchObject({ state: 'gone' });
    place.proxy.judge(() => 'pass');
    const heirs = [place.start('d', 2), place.start('e', 2)];
    for (const child of heirs) expect(await child.gone).toBe(0);
    // One of the two had the lock; what it had no time for the next one sends.
    const last = place.producer();
    await last.submit('demo/hello', 1, 'last');
    await place.empty();
    await last.close();
    const names = ['left', 'holder', 'a', 'b', 'c'].flatMap((name) =>
      [0, 1, 2].map((i) => `${name}-${i}`),
    );
    const all = [...names, 'd-0', 'd-1', 'e-0', 'e-1', 'last'].sort();
    expect(await place.inputs()).toEqual(all);
  }, 120_000);

  it('kill -9 while everything is under way costs nothing that was told, and doubles nothing', async () => {
    const place = await Place.make();
    // Half of the batches get no answer; of these every other one had its effect.
    let calls = 0;
    place.proxy.judge(({ path }) =>
      path === '/tasks/batch' && ++calls % 3 === 0 ? 'cut' : 'pass',
    );
    const told: string[] = [];
    for (let round = 0; round < 4; round++) {
      const child = place.start(`round${round}`, 1_000, true);
      await child.told(3 + round * 5);
      child.process.kill('SIGKILL');
      await child.gone;
      told.push(...child.lines.map(({ input }) => input));
    }
    place.proxy.judge(() => 'pass');
    const last = place.producer();
    await last.submit('demo/hello', 1, 'last');
    await place.empty();
    await last.close();
    const inputs = await place.inputs();
    expect(new Set(inputs).size).toBe(inputs.length);
    for (const input of told) expect(inputs).toContain(input);
  }, 120_000);
});

it('an outbox that is removed under its producer is made anew, and that is told once', async () => {
  const place = await Place.make();
  const told: string[] = [];
  const error = (event: string, text: string) => void told.push(`${event}: ${text}`);
  const outbox = { folder: place.folder, log: { ...silent, error } };
  const producer = new TaskProducer({ serviceUrl: place.proxy.url, key: place.key, outbox });
  onTestFinished(() => producer.close());
  expect(await producer.submit('a', 1, 'before')).toMatchObject({ stored: false });
  await rm(place.folder, { recursive: true });
  place.proxy.judge(() => 'cut');
  const made = await Promise.all([1, 2, 3].map((n) => producer.submit('a', 1, n)));
  expect(made.map(({ stored }) => stored)).toEqual([true, true, true]);
  expect(told.filter((line) => line.startsWith('outbox.removed'))).toEqual([
    `outbox.removed: The outbox ${place.folder} was removed; it is made anew. What waited in it is gone.`,
  ]);
  place.proxy.judge(() => 'pass');
  await until(
    () => readdirSync(join(place.folder, 'intents')).length === 0,
    'what was stored after it',
  );
});
