/** The control plane's disk is full, read-only, or it may open no more files: it refuses in words, and goes on by itself. */
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import { type Proc, until } from '../e2e/processes.ts';
import { LEASE_MS, World } from '../e2e/world.ts';
import { audit, HANDLERS, KINDS, type Kind, linesOf } from './ledger.ts';
import { harmful, limitFiles, SmallDisk, takeDescriptors } from './machine.ts';

const policy = { leaseMs: LEASE_MS, lostGraceMs: 500 };

interface Asked {
  readonly kind: Kind;
  readonly id: string;
  readonly file: string;
}

/** One submission by plain HTTP, without any repetition. */
async function ask(world: World, n: number, beforeMs = 0) {
  const kind = KINDS[n % KINDS.length] as Kind;
  const file = `effects-${n}`;
  const answer = await world.call('POST', '/tasks', {
    type: `test/${kind}`,
    schemaVersion: 1,
    input: { file: world.path(file), beforeMs, padding: 'p'.repeat(8_192) },
    idempotencyKey: `ask-${n}`,
    policy,
  });
  return { answer, asked: { kind, id: answer.body.id as string, file } };
}

/** Asks on the last bytes of the disk until it is refused; then none is left. Returns what was acknowledged. */
async function askUntilRefused(world: World, disk: SmallDisk, from: number): Promise<Asked[]> {
  disk.leave(131_072);
  const kept: Asked[] = [];
  for (let n = from; n < from + 500; n++) {
    const { answer, asked } = await ask(world, n);
    if (answer.status === 201) {
      kept.push(asked);
      continue;
    }
    disk.fill();
    expect(answer).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    expect(answer.headers.get('retry-after')).toBe('1');
    return kept;
  }
  throw new Error('It took 500 tasks on a full disk');
}

async function settled(world: World, all: readonly Asked[]): Promise<void> {
  const wrong: string[] = [];
  for (const one of all) {
    await world.producer.await(one.id, { timeoutMs: 60_000 });
    wrong.push(...(await audit(world, one)).wrong);
  }
  expect(wrong).toEqual([]);
}

const healthy = (plane: Proc) => {
  expect(plane.running).toBe(true);
  expect(plane.events('request.failed')).toEqual([]);
};

describe('the disk of the control plane', () => {
  harmful.concurrent(
    'is full for longer than a lease: submits are refused in words, none that was acknowledged is lost, running tasks end once, and it goes on by itself',
    async () => {
      await using world = new World();
      await using disk = new SmallDisk(world, world.path('data'), '24m');
      const plane = await world.controlPlane('task-producer', 'task-worker', 'task-operator');
      await world.worker({ max: 4, handlers: HANDLERS, args: ['--stop-grace', '500ms'] });
      const running = await Promise.all(
        KINDS.map(async (_, n) => (await ask(world, n, LEASE_MS + 2_000)).asked),
      );
      await until(() => running.every(({ file }) => linesOf(world, file).length > 0), 'handlers');
      await Promise.all(running.map(({ id }) => world.entry(id, 'started')));

      const kept = await askUntilRefused(world, disk, 100);
      const text = JSON.stringify({ file: world.path('typed') });
      const typed = world.start(['tasks', 'submit', 'test/look', '--json', '--input', text]);
      expect(await typed.ending()).toEqual({ code: 75, signal: null });
      expect(typed.err).toMatch(/cannot keep anything now/);
      expect(typed.err).not.toMatch(/\n\s+at /);
      // Reading goes on.
      expect((await world.call('GET', `/tasks/${running[0]?.id}`)).body).toMatchObject({
        status: 'running',
      });
      await pause(LEASE_MS + 1_500);

      expect((await ask(world, 600)).answer.status).toBe(503);
      healthy(plane);

      disk.giveBack();
      const after = await until(async () => {
        const one = await ask(world, 700);
        return one.answer.status < 300 && one.asked;
      }, 'submit after the trouble');
      await settled(world, [...running, ...kept, after]);
      // Nobody could renew while it kept nothing: that is no reason to take a task from its worker.
      for (const { id } of running) {
        const lost = (await world.journal(id)).filter(({ kind }) => kind === 'lost');
        for (const { by } of lost) expect(by).not.toBe('sweeper');
      }
      expect(await world.producer.get(running[0]?.id as string)).toMatchObject({
        status: 'succeeded',
        attempts: 1,
      });
      healthy(plane);
      console.log(`data folder full: ${kept.length} acknowledged on the last of it, none lost`);
    },
    120_000,
  );

  harmful.concurrent(
    'is full when the control plane is killed: a start on it says what is wrong, and with space nothing acknowledged is missing',
    async () => {
      await using world = new World();
      await using disk = new SmallDisk(world, world.path('data'), '24m');
      await world.controlPlane('task-producer', 'task-worker');
      const before = await Promise.all([1, 2, 3].map(async (n) => (await ask(world, n)).asked));
      const kept = [...before, ...(await askUntilRefused(world, disk, 100))];
      await world.plane.crash();

      // It may start and refuse, or end and say why; it may not shrug.
      const again = world.processes.start('interlock', [
        'control-plane',
        ...['--listen', world.url.slice('http://'.length), '--data', world.path('data')],
        ...['--lease-min', `${LEASE_MS}ms`],
      ]);
      await until(() => again.end !== undefined || /"url":"/.test(again.out + again.err), 'start');
      const how = again.end
        ? `ended with ${again.end.code}: ${again.err.split('\n').at(-2)}`
        : 'started';
      console.log(`a start on a full disk: ${how}`);
      if (again.end) {
        expect(again.end.code).toBeGreaterThan(1);
        expect(again.err).toMatch(/full|ENOSPC|space/);
        expect(again.err).not.toMatch(/\n\s+at /);
      } else await again.crash();

      disk.giveBack();
      await world.controlPlane();
      for (const { id } of kept) expect((await world.call('GET', `/tasks/${id}`)).status).toBe(200);
      await world.worker({ max: 4, handlers: HANDLERS });
      await settled(world, kept);
    },
    120_000,
  );

  harmful.concurrent('is read-only at a start: it ends in words', async () => {
    await using world = new World();
    await using disk = new SmallDisk(world, world.path('data'), '24m');
    await world.controlPlane('task-producer');
    world.plane.kill('SIGTERM');
    await world.plane.ended;
    disk.readOnly();
    const data = ['--listen', '127.0.0.1:0', '--data', world.path('data')];
    const again = world.processes.start('interlock', ['control-plane', ...data]);
    const { code } = await again.ending();
    console.log(`a start on a read-only folder: ${code}, ${again.err.trim()}`);
    expect(code).toBeGreaterThan(1);
    expect(again.err).toMatch(/read-only|EROFS/);
    expect(again.err).not.toMatch(/\n\s+at /);
    disk.writable();
    await world.controlPlane();
  });

  harmful.concurrent(
    'may open no more files: the control plane stays, and answers again when it may',
    async () => {
      await using world = new World();
      const plane = await world.controlPlane('task-producer', 'task-worker');
      await world.worker({ max: 4, handlers: HANDLERS, args: ['--stop-grace', '500ms'] });
      const running = await Promise.all(
        KINDS.map(async (_, n) => (await ask(world, n, 3_000)).asked),
      );
      await until(() => running.every(({ file }) => linesOf(world, file).length > 0), 'handlers');
      takeDescriptors(plane.pid);
      const calls = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          ask(world, 100 + n).then(
            ({ answer, asked }) => (answer.status === 201 ? asked : answer.status),
            () => undefined,
          ),
        ),
      );
      const kept = calls.filter((call) => typeof call === 'object');
      for (const call of calls) if (typeof call === 'number') expect(call).toBe(503);
      expect(plane.running).toBe(true);
      limitFiles(plane.pid, 4_096);
      const after = await until(async () => {
        const one = await ask(world, 700).catch(() => undefined);
        return one?.answer.status === 201 && one.asked;
      }, 'submit after the trouble');
      await settled(world, [...running, ...kept, after]);
      healthy(plane);
      console.log(
        `control plane without descriptors: ${kept.length} of 20 calls were answered meanwhile`,
      );
    },
    120_000,
  );
});
