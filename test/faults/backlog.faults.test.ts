/** Results that pile up: 20,000 in the spool of a worker with few descriptors, and those of a long outage. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { until } from '../e2e/processes.ts';
import { carries } from '../e2e/proxy.ts';
import { LEASE_MS, World } from '../e2e/world.ts';
import { leaveResults } from './backlog.ts';
import { audit, HANDLERS, KINDS, linesOf } from './ledger.ts';
import { filesOpen, harmful, memoryOf, SmallDisk } from './machine.ts';
import { rounds } from './rounds.ts';

const RECORDS = 20_000;
const FILES = rounds(1_000, 20_000);
const DESCRIPTORS = 256;
/** Long enough for a machine that has other things to do, short enough to end while the backlog is sent. */
const LIVE_LEASE_MS = 8_000;
/** An agent that does nothing takes about 110 MiB; each report, with its renewals under way, some KB. */
const PEAK_MIB = 400;

harmful(
  `delivers ${RECORDS} spooled results with ${DESCRIPTORS} descriptors in bounded memory, and keeps the lease of what runs`,
  async () => {
    await using world = new World();
    // Their fsyncs are not what is tried here.
    await using _disk = new SmallDisk(world, world.spool(), '400m');
    const plane = await world.controlPlane('task-producer', 'task-worker', 'task-operator');
    const proxy = await world.proxy();
    const ids = await leaveResults(world, RECORDS, RECORDS / FILES);
    expect(world.inSpool('reports').length).toBeGreaterThanOrEqual(FILES);

    const from = performance.now();
    const worker = await world.worker({
      url: proxy.url,
      max: 2,
      handlers: HANDLERS,
      under: ['/bin/sh', '-c', `ulimit -n ${DESCRIPTORS} && exec "$@"`, 'sh'],
      wrapper: false,
    });
    const readyMs = Math.round(performance.now() - from);
    const input = { file: world.path('live'), beforeMs: LIVE_LEASE_MS * 2 };
    const live = await world.producer.submit('test/once', 1, input, {
      policy: { leaseMs: LIVE_LEASE_MS, lostGraceMs: 0 },
    });
    let files = 0;
    await until(
      () => {
        files = Math.max(files, filesOpen(worker.pid));
        return world.inSpool('reports').length === 0;
      },
      'empty spool',
      rounds(200_000, 600_000),
    );
    const emptyMs = Math.round(performance.now() - from);
    const { peak } = memoryOf(worker.pid);
    expect(await world.producer.await(live, { timeoutMs: 60_000 })).toMatchObject({
      status: 'succeeded',
      attempts: 1,
    });
    expect((await audit(world, { kind: 'once', id: live.id, file: 'live' })).wrong).toEqual([]);
    console.log(
      `backlog: ${RECORDS} results, ready after ${readyMs} ms, all delivered after ${emptyMs} ms; agent at most ${peak} MiB and ${files} descriptors, control plane ${memoryOf(plane.pid).peak} MiB`,
    );
    const succeeded = new Set<string>();
    for await (const { id } of world.producer.list({ status: 'succeeded' })) succeeded.add(id);
    expect(ids.filter((id) => !succeeded.has(id))).toEqual([]);
    for (const part of ['stale', 'refused', 'corrupt']) expect(world.inSpool(part)).toEqual([]);
    expect(peak).toBeLessThan(PEAK_MIB);
    expect(files).toBeLessThan(DESCRIPTORS);
  },
  rounds(360_000, 900_000),
);

const AWAY_MS = rounds(LEASE_MS * 3, 300_000);
const PILED = rounds(200, 3_000);

harmful.concurrent(
  `keeps the results of an outage of ${AWAY_MS / 1000} s, also through a kill -9 of the worker, and delivers each once without running anything again`,
  async () => {
    await using world = new World();
    await world.controlPlane('task-producer', 'task-worker');
    const worker = await world.worker({ max: 8, handlers: HANDLERS });
    // Long enough for what runs to end within it: nothing is stopped for the outage.
    const policy = { leaseMs: LEASE_MS * 2 };
    const asked = await Promise.all(
      Array.from({ length: 8 }, async (_, n) => {
        const kind = KINDS[n % KINDS.length] ?? 'once';
        // The gate of an effect is asked for while there is somebody to ask.
        const wait = kind === 'once-gated' ? { afterMs: 4_000 } : { beforeMs: 4_000 };
        const input = { file: world.path(`${n}`), ...wait };
        const { id } = await world.producer.submit(`test/${kind}`, 1, input, { policy });
        return { kind, id, file: `${n}` };
      }),
    );
    await Promise.all(asked.map(({ id }) => world.entry(id, 'started')));
    const gated = asked.filter(({ kind }) => kind === 'once-gated');
    await Promise.all(gated.map(({ id }) => world.entry(id, 'effect-begun')));
    await world.plane.crash();
    await until(() => world.inSpool('running').length === 0, 'end of all');
    // On a slow machine some had ended before.
    const piled = world.records('reports').length;
    expect(piled).toBeGreaterThan(0);
    await pause(AWAY_MS);
    await worker.crash();
    await world.worker({ max: 8, handlers: HANDLERS });
    expect(world.records('reports').length).toBe(piled);
    await world.controlPlane();
    for (const one of asked) {
      const done = await world.producer.await(one.id, { timeoutMs: 60_000 });
      expect(done).toMatchObject({ status: 'succeeded', attempts: 1, undelivered: 0 });
      expect((await audit(world, one)).wrong).toEqual([]);
      expect(linesOf(world, one.file).map(({ what }) => what)).toEqual(['began', 'effect']);
    }
    await until(() => world.inSpool('reports').length === 0, 'empty spool');
    for (const part of ['stale', 'refused', 'corrupt']) expect(world.inSpool(part)).toEqual([]);
  },
  rounds(120_000, 600_000),
);

harmful.concurrent(
  `piles up ${PILED} results while no report gets an answer, and delivers each once`,
  async () => {
    await using world = new World();
    await world.controlPlane('task-producer', 'task-worker');
    const proxy = await world.proxy();
    proxy.judge((passing) => (carries('complete', passing) ? 502 : 'pass'));
    await world.worker({ url: proxy.url, max: 8, handlers: HANDLERS });
    const submitted = await world.producer.submitMany(
      Array.from({ length: PILED }, (_, n) => ({
        type: 'test/again',
        schemaVersion: 1,
        input: { file: world.path(`${n}`) },
        policy: { leaseMs: 30_000 },
      })),
    );
    const from = performance.now();
    await until(() => world.records('reports').length === PILED, 'all results', 600_000);
    const piledMs = Math.round(performance.now() - from);
    proxy.judge(() => 'pass');
    const begun = performance.now();
    for (const [n, one] of submitted.entries()) {
      if (!one.ok) throw one.error;
      const { id } = one.task;
      expect(await world.producer.await(id, { timeoutMs: 90_000 })).toMatchObject({ attempts: 1 });
      expect((await audit(world, { kind: 'again', id, file: `${n}` })).wrong).toEqual([]);
      expect(linesOf(world, `${n}`).length).toBe(2);
    }
    const sentMs = Math.round(performance.now() - begun);
    await until(() => world.inSpool('reports').length === 0, 'empty spool');
    console.log(`outage: ${PILED} results piled up in ${piledMs} ms, were told in ${sentMs} ms`);
  },
  rounds(120_000, 900_000),
);
