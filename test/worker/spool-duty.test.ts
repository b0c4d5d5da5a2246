import { expect, it } from 'vitest';
import { returned, type Script } from '../../sim/carrier.ts';
import { noAnswer } from '../../sim/wire-words.ts';
import { spoolDefaults, workerDefaults } from '../../src/core/defaults.ts';
import { decodeLine, type ReportRecord } from '../../src/spool/records.ts';
import { handler, SimWorld } from './sim-rig.ts';

/** Report records on disk, as they stand. */
function records(world: SimWorld): ReportRecord[] {
  return world
    .files('reports')
    .flatMap((text) => text.split('\n').filter(Boolean))
    .flatMap((line) => {
      const read = decodeLine(Buffer.from(line));
      return read.ok && read.record.kind === 'report' ? [read.record] : [];
    });
}

it('tells in the record of a report when its work was claimed, begun and over', async () => {
  const world = new SimWorld();
  world.transport.offer({ type: 'demo/hello' });
  const off = world.transport.onReport('complete', () => noAnswer('cut'));
  await world.start({ scripts: { 'demo/hello': world.works(2_000) } });
  await world.until(() => records(world).length === 1);
  const [{ workedAt, spooledAt }] = records(world) as [ReportRecord];
  const { claimedAt, startedAt, endedAt } = workedAt;
  const ms = (at?: string) => Date.parse(at as string);
  expect(ms(startedAt)).toBeGreaterThanOrEqual(ms(claimedAt));
  expect(ms(endedAt)).toBe(ms(startedAt) + 2_000);
  expect(ms(spooledAt)).toBeGreaterThanOrEqual(ms(endedAt));
  off();
  await world.until(() => world.spool.stats().pending === 0);
  world.check();
});

it('tells in the record of a loss when its work was claimed and begun', async () => {
  const world = new SimWorld();
  world.transport.offer({ type: 'demo/hello' });
  const options = { scripts: { 'demo/hello': world.works(60_000) } };
  await world.start(options);
  await world.until(() => world.carrier.running === 1);
  await world.advance(1_000);
  world.kill();
  world.transport.onReport('lost', () => noAnswer('cut'), 3);
  await world.start({ ...options, maxConcurrent: 1 });
  const [record] = records(world);
  expect(record).toMatchObject({
    body: { op: 'lost', begun: true },
    workedAt: { claimedAt: expect.any(String), startedAt: expect.any(String) },
  });
  expect(record?.workedAt).not.toHaveProperty('endedAt');
});

it('starts on a full disk, delivers what is owed, claims nothing, and goes on by itself when there is room', async () => {
  const world = new SimWorld();
  const { transport } = world;
  const { disk } = world.machine;
  const off = transport.onReport('complete', () => noAnswer('cut'));
  const one = transport.offer({ type: 'demo/hello' });
  const two = transport.offer({ type: 'demo/slow' });
  const options = {
    handlers: [handler('demo/hello'), handler('demo/slow')],
    scripts: { 'demo/hello': world.works(10), 'demo/slow': world.works(600_000) },
  };
  await world.start(options);
  await world.until(() => records(world).length === 1 && world.carrier.running === 1);
  world.kill();
  // Others have filled the disk, and an earlier session has given up the reserve.
  disk.platter.change(['/state/spool/reserve', undefined]);
  disk.capacityBytes = disk.platter.usedBytes();
  world.diskRefuses = true;
  off();
  await world.start(options);
  await world.until(() => one.ended && two.ended, 10_000);
  expect(one.ended).toMatchObject({ op: 'complete' });
  expect(two.ended).toMatchObject({ op: 'lost', reason: 'worker-restarted' });
  const three = transport.offer({ type: 'demo/hello' });
  transport.hint({ kind: 'wake', types: [] });
  // What was answered made a little room; new work needs more.
  await world.advance(60_000);
  expect(three.grantedAt).toBeUndefined();
  expect(world.worker.status().notClaiming).toMatch(/\(ENOSPC\).*[Ff]ree some space/);
  expect(transport.of('present').at(-1)?.request).toMatchObject({
    notClaiming: expect.stringContaining('ENOSPC'),
    spool: { ok: false },
  });
  disk.capacityBytes = Number.POSITIVE_INFINITY;
  await world.until(() => three.ended, 2 * spoolDefaults.probeEveryMs + 20_000);
  expect(world.worker.status().notClaiming).toBeUndefined();
  world.check({ lapses: true });
});

/** Reports that an outage left: written by one process, found by the next. */
async function left(world: SimWorld, count: number) {
  const { transport } = world;
  const off = transport.onReport('complete', () => noAnswer('cut'));
  const all = Array.from({ length: count }, (_, i) =>
    transport.offer({ type: 'demo/hello', input: { i } }),
  );
  const options = {
    maxConcurrent: 50,
    scripts: {
      'demo/hello': async (play: Parameters<Script>[0]) => {
        await world.clock.sleep(10);
        return returned({ whole: play.job.input });
      },
    },
  };
  await world.start(options);
  await world.until(() => world.spool.stats().pending === count);
  return { all, off, options };
}

it('sends what it finds on disk word for word, and keeps only the heads of it in memory', async () => {
  const world = new SimWorld();
  const { all, off, options } = await left(world, 30);
  world.kill();
  await world.make(options);
  for (const { head } of world.spool.recovered.reports)
    expect(head).toMatchObject({ op: 'complete', result: null });
  off();
  await world.clock.time.until(world.worker.start(), 60_000);
  await world.until(() => all.every(({ ended }) => ended));
  for (const [i, { ended }] of all.entries())
    expect(ended).toMatchObject({ op: 'complete', result: { whole: { i } } });
  world.check({ lapses: true });
});

it('holds up no other report by one that the disk does not give, and sends it as soon as it does', async () => {
  const world = new SimWorld();
  const { all, off, options } = await left(world, 10);
  world.kill();
  off();
  await world.make(options);
  const [first] = all;
  const id = first?.attempt.attemptId as string;
  const [at] = Object.entries(world.machine.disk.platter.tree()).filter(
    ([path, text]) => path.includes('/reports/') && text.includes(id),
  )[0] as [string, string];
  const fault = world.machine.disk.fail({ step: 'read', path: new RegExp(at), code: 'EIO' });
  await world.clock.time.until(world.worker.start(), 60_000);
  const inOtherFiles = all.filter(
    ({ attempt }) => !world.machine.disk.platter.tree()[at]?.includes(attempt.attemptId),
  );
  await world.until(() => inOtherFiles.every(({ ended }) => ended));
  await world.advance(60_000);
  expect(first?.ended).toBeUndefined();
  expect(world.log.of('report.unreadable').length).toBeGreaterThan(0);
  expect(world.log.of('report.unreadable').length).toBeLessThanOrEqual(10);
  fault.clear();
  await world.until(() => all.every(({ ended }) => ended), 60_000);
  expect(first?.ended).toMatchObject({ op: 'complete', result: { whole: { i: 0 } } });
  world.check({ lapses: true });
});

it('keeps reports beyond a bound of memory on the disk only, and delivers them all the same', async () => {
  const world = new SimWorld();
  const most = workerDefaults.reportsInMemoryBytes;
  try {
    (workerDefaults as { reportsInMemoryBytes: number }).reportsInMemoryBytes = 2_000;
    const { all, off } = await left(world, 30);
    const reads = () =>
      world.machine.disk.trace.filter((step) => step.startsWith('read /state/spool/reports/'));
    off();
    await world.until(() => all.every(({ ended }) => ended));
    expect(reads().length).toBeGreaterThan(20);
    for (const [i, { ended }] of all.entries())
      expect(ended).toMatchObject({ op: 'complete', result: { whole: { i } } });
    await world.advance(1_000);
    expect(world.files('reports')).toEqual([]);
    world.check({ lapses: true });
  } finally {
    (workerDefaults as { reportsInMemoryBytes: number }).reportsInMemoryBytes = most;
  }
});

it.each([
  ['EROFS', /EROFS.*read-only.*mount it writable/],
  ['EMFILE', /EMFILE.*too many files open.*ulimit -n/],
  ['ENFILE', /ENFILE.*open on this machine/],
  ['EIO', /EIO.*reports an error/],
  ['EDQUOT', /EDQUOT.*quota/],
])(
  'by %s loses no report: it is sent directly, claiming stops with the next step, and goes on by itself',
  async (code, words) => {
    const world = new SimWorld();
    const { transport } = world;
    const one = transport.offer({ type: 'demo/hello' });
    await world.start({ scripts: { 'demo/hello': world.works(2_000, { kept: 'whole' }) } });
    await world.until(() => world.carrier.running === 1);
    world.diskRefuses = true;
    const step = ['open', 'write', 'append', 'rename', 'remove', 'makeFolder', 'read'] as const;
    const fault = world.machine.disk.fail({ step, code });
    await world.until(() => one.ended);
    expect(one.ended).toMatchObject({ op: 'complete', result: { kept: 'whole' } });
    const next = transport.offer({ type: 'demo/hello' });
    transport.hint({ kind: 'wake', types: [] });
    await world.advance(30_000);
    expect(next.grantedAt).toBeUndefined();
    expect(world.worker.status().notClaiming).toMatch(words);
    expect(transport.of('present').at(-1)?.request).toMatchObject({
      notClaiming: expect.stringMatching(words),
      spool: { ok: false },
    });
    fault.clear();
    // A quota is tried by writing, so more and more seldom.
    await world.until(() => next.ended, code === 'EDQUOT' ? 90_000 : 30_000);
    expect(world.worker.status().notClaiming).toBeUndefined();
    await world.advance(1_000);
    // What could not be removed then is gone now.
    expect(world.files('reports')).toEqual([]);
    expect(world.files('running')).toEqual([]);
    world.check();
  },
);

it('makes the file for a report beside a handler that is usually short, and none beside another', async () => {
  const world = new SimWorld();
  let ms = 30;
  const script: Script = async () => {
    await world.clock.sleep(ms);
    return returned('done');
  };
  await world.start({ scripts: { 'demo/hello': script } });
  /** What is opened while a handler of the type runs, the spool having been at rest. */
  const opened = async (type: string) => {
    await world.advance(1_000);
    expect(world.files('reports')).toEqual([]);
    const one = world.transport.offer({ type });
    await world.until(() => world.carrier.running === 1);
    await world.advance(10);
    const files = world.files('reports').length;
    await world.until(() => one.ended);
    return files;
  };
  expect(await opened('demo/hello')).toBe(0);
  expect(await opened('demo/hello')).toBe(1);
  ms = 1_000;
  await opened('demo/hello');
  expect(await opened('demo/hello')).toBe(0);
  world.check();
});
