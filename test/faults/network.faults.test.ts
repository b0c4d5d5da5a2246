/**
 * Workers in a network of their own, reached through a cable that loses, delays and swallows: leases are kept or lost as
 * the contract has it, effects are made once, and all comes back by itself within the stated times (a request is given up
 * after 10 s, a connection after 5 s, a silent stream after 45 s).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { workerDefaults } from '../../src/core/defaults.ts';
import { type Proc, until } from '../e2e/processes.ts';
import { LEASE_MS, type WorkerOptions, World } from '../e2e/world.ts';
import { BentLink } from './bent-link.ts';
import { audit, HANDLERS, KINDS, type Kind, linesOf } from './ledger.ts';
import { missing } from './needs.ts';
import { rounds } from './rounds.ts';

const lack = missing('root', '/dev/net/tun', 'ip', 'gcc');
vi.setConfig({ testTimeout: rounds(180_000, 900_000) });
/** A request that hangs, the retry after it, and a busy machine. */
const BACK_MS = workerDefaults.requestTimeoutMs + workerDefaults.pollMaxWithoutHintsMs + 3_000;

class Far implements AsyncDisposable {
  readonly world: World;
  readonly link: BentLink;
  readonly #port: string;

  private constructor(world: World, link: BentLink) {
    this.world = world;
    this.link = link;
    this.#port = new URL(world.url).port;
  }

  static async open(): Promise<Far> {
    const world = new World({ listen: '0.0.0.0:0' });
    try {
      await world.controlPlane('task-producer', 'task-worker');
      return new Far(world, await BentLink.open(world));
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** A worker at the other end. */
  worker(options: WorkerOptions = {}): Promise<Proc> {
    const url = `http://${this.link.here}:${this.#port}`;
    const args = ['--insecure-http', '--log-level', 'debug', ...(options.args ?? [])];
    const { under } = this.link;
    return this.world.worker({ handlers: HANDLERS, ...options, url, under, wrapper: false, args });
  }

  async ask(kind: Kind, name: string, input: object, leaseMs = LEASE_MS) {
    const policy = { leaseMs, backoff: { initialMs: 500 } };
    const given = { file: this.world.path(name), ...input };
    const { id } = await this.world.producer.submit(`test/${kind}`, 1, given, { policy });
    return { kind, id, file: name };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.link[Symbol.asyncDispose]();
    } finally {
      await this.world[Symbol.asyncDispose]();
    }
  }
}

const ms = (from: number) => Math.round(performance.now() - from);

describe.skipIf(lack)('a network', () => {
  it.concurrent(
    'that loses a fifth of all packets and takes 60 ms each way: every task is done once, in its first attempt',
    async () => {
      await using far = await Far.open();
      const { world, link } = far;
      await link.lose(20);
      await link.delay(60);
      await far.worker({ max: 4 });
      const from = performance.now();
      let done = 0;
      for (let round = 0; round < rounds(1, 16); round++) {
        const asked = await Promise.all(
          Array.from({ length: 24 }, (_, n) =>
            far.ask(
              KINDS[n % KINDS.length] as Kind,
              `lossy-${round}-${n}`,
              { beforeMs: 50 },
              20_000,
            ),
          ),
        );
        for (const one of asked) {
          const task = await world.producer.await(one.id, { timeoutMs: 120_000 });
          expect(task).toMatchObject({ status: 'succeeded', attempts: 1, undelivered: 0 });
          expect((await audit(world, one)).wrong).toEqual([]);
          done++;
        }
      }
      console.log(`loss 20 %: ${done} tasks in ${ms(from)} ms`);
      await until(() => world.inSpool('reports').length === 0, 'empty spool', 60_000);
      expect(world.inSpool('stale')).toEqual([]);
    },
    rounds(180_000, 900_000),
  );

  it.concurrent('that takes 400 ms each way: leases of 6 s are kept, and hints still start a task at once', async () => {
    await using far = await Far.open();
    const { world, link } = far;
    await link.delay(400);
    await far.worker({ max: 2 });
    const long = await far.ask('again', 'slow', { beforeMs: 12_000 }, 6_000);
    await world.entry(long.id, 'started');
    const from = performance.now();
    const quick = await far.ask('look', 'quick', {}, 6_000);
    await world.entry(quick.id, 'leased');
    // There and back and there again; a poll alone may take 5 s.
    const started = ms(from);
    await world.producer.await(long.id, { timeoutMs: 30_000 });
    for (const one of [long, quick]) {
      const { task, wrong } = await audit(world, one);
      expect(wrong).toEqual([]);
      expect(task).toMatchObject({ status: 'succeeded', attempts: 1, undelivered: 0 });
    }
    console.log(`delay 400 ms: a task was taken after ${started} ms`);
    expect(started).toBeLessThan(3_500);
  });

  it.concurrent('that swallows everything for many leases: who may be replaced is stopped and replaced, who may not goes on, and all is told afterwards', async () => {
    await using far = await Far.open();
    const { world, link } = far;
    const worker = await far.worker({ max: 4 });
    const past = await far.ask('once', 'past', { afterMs: 14_000 });
    const before = await far.ask('once-gated', 'before', { beforeMs: 20_000 });
    const again = await far.ask('again', 'again', { beforeMs: 20_000 });
    const pure = await far.ask('look', 'pure', { beforeMs: 14_000 });
    const all = [past, before, again, pure];
    for (const { file } of all)
      await until(() => linesOf(world, file).length > 0, `a line of ${file}`);
    await link.swallow();
    const cut = performance.now();
    const near = world.worker({ id: 'near', handlers: HANDLERS, max: 4 });
    // By our own clock: both that another worker may run are told to stop when the lease is over.
    await until(() => worker.events('handler.stopping').length === 2, 'stop of two');
    const stopped = ms(cut);
    expect(stopped).toBeGreaterThan(LEASE_MS / 2);
    expect(stopped).toBeLessThan(LEASE_MS + 5_000);
    expect(worker.events('handler.stopping').map(({ reason }) => reason)).toEqual([
      'lease',
      'lease',
    ]);
    // What went on is done, and its reports wait on the disk.
    await until(() => world.records('reports').length === 4, 'four reports');
    await link.swallow(false);
    const healed = performance.now();
    await until(() => world.inSpool('reports').length === 0, 'delivery', BACK_MS);
    const delivered = ms(healed);
    await near;
    const next = await far.ask('look', 'next', {});
    for (const one of [...all, next]) {
      await world.producer.await(one.id, { timeoutMs: 60_000 });
      const { task, wrong } = await audit(world, one);
      expect(wrong).toEqual([]);
      expect(task.status).toBe('succeeded');
      const first = one === past || one === next;
      expect(task.attempts + task.undelivered, one.file).toBe(first ? 1 : 2);
    }
    // One that was stopped and the pure one that went on: both had been given to the other.
    await until(() => world.records('stale').length >= 1, 'stale report');
    console.log(`black hole: stopped after ${stopped} ms, all delivered ${delivered} ms after it`);
  });

  it.concurrent('whose other end vanished without a word and came back as a new process: polls go on within 15 s, and the dead stream is noticed', async () => {
    await using far = await Far.open();
    const { world, link } = far;
    const worker = await far.worker({ args: ['--status-listen', '127.0.0.1:0'] });
    // Past the first polls; every idle connection of calls may be reused.
    const before = await far.ask('look', 'earlier', {});
    await world.producer.await(before.id);
    await pause(3_000);
    await link.swallow();
    // What its kernel says for it never arrives, unless it is said again when the cable is mended.
    await world.plane.crash();
    await pause(rounds(500, workerDefaults.hintSilenceMs + 5_000));
    await world.controlPlane();
    await link.swallow(false);
    const back = performance.now();
    const one = await far.ask('once', 'after', {});
    const done = await world.producer.await(one.id, { timeoutMs: 60_000 });
    const taken = ms(back);
    expect(done).toMatchObject({ status: 'succeeded', attempts: 1 });
    expect(taken).toBeLessThan(workerDefaults.pollMaxMs + BACK_MS);
    await until(
      () => worker.events('hints.lost').length > 0,
      'end of the dead stream',
      workerDefaults.hintSilenceMs + 5_000,
    );
    const noticed = ms(back);
    // And the new one works: far sooner than any poll.
    await pause(2_000);
    const from = performance.now();
    const hinted = await far.ask('look', 'hinted', {});
    await world.entry(hinted.id, 'leased');
    console.log(
      `half-open: a task done after ${taken} ms, the stream noticed after ${noticed} ms, the next task taken after ${ms(from)} ms`,
    );
    expect(ms(from)).toBeLessThan(1_500);
    expect((await audit(world, one)).wrong).toEqual([]);
  });

  it.concurrent('that is unplugged for 4 s under a lease of 20 s: nothing is lost or repeated, and it is back at once', async () => {
    await using far = await Far.open();
    const { world, link } = far;
    await far.worker({ max: 2 });
    const again = await far.ask('again', 'unplugged', { beforeMs: 6_000 }, 20_000);
    const once = await far.ask('once-gated', 'gated', { beforeMs: 2_000 }, 20_000);
    for (const { file } of [again, once])
      await until(() => linesOf(world, file).length > 0, `a line of ${file}`);
    link.plug(false);
    await pause(4_000);
    link.plug(true);
    const from = performance.now();
    for (const one of [again, once]) {
      const done = await world.producer.await(one.id, { timeoutMs: 60_000 });
      expect(done).toMatchObject({ status: 'succeeded', attempts: 1, undelivered: 0 });
      expect((await audit(world, one)).wrong).toEqual([]);
    }
    console.log(`unplugged: done ${ms(from)} ms after it was plugged in again`);
    expect(ms(from)).toBeLessThan(BACK_MS);
  });

  it.concurrent('in which the worker vanished for good: another has its task when the lease is over', async () => {
    await using far = await Far.open();
    const { world, link } = far;
    const worker = await far.worker();
    const one = await far.ask('again', 'gone', { beforeMs: 3_000 });
    // From here on the attempt counts: its start is told up to a second after its handler began.
    await world.entry(one.id, 'started');
    await until(() => linesOf(world, one.file).length > 0, 'a line');
    await link.swallow();
    const from = performance.now();
    await worker.crash();
    await world.worker({ id: 'near', handlers: HANDLERS });
    const done = await world.producer.await(one.id, { timeoutMs: 30_000 });
    expect(done).toMatchObject({ status: 'succeeded', attempts: 2 });
    expect((await audit(world, one)).wrong).toEqual([]);
    console.log(`vanished: done by another after ${ms(from)} ms`);
  });
});
