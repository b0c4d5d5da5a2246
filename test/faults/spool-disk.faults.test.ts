/** The worker's spool cannot be written: full, read-only, no descriptors. Nothing is lost or done twice, and it goes on by itself. */
import { describe, expect } from 'vitest';
import { until } from '../e2e/processes.ts';
import { LEASE_MS, World } from '../e2e/world.ts';
import { audit, HANDLERS, KINDS, type Kind, linesOf } from './ledger.ts';
import { harmful, limitFiles, memoryOf, SmallDisk, takeDescriptors } from './machine.ts';

const policy = { leaseMs: LEASE_MS, lostGraceMs: 60_000 };

interface Asked {
  readonly kind: Kind;
  readonly id: string;
  readonly file: string;
}

async function ask(world: World, kind: Kind, file: string, beforeMs = 0): Promise<Asked> {
  const input = { file: world.path(file), beforeMs };
  const { id } = await world.producer.submit(`test/${kind}`, 1, input, { policy });
  return { kind, id, file };
}

async function settled(world: World, all: readonly Asked[]) {
  const wrong: string[] = [];
  for (const one of all) {
    const { attempts, undelivered } = await world.producer.await(one.id, { timeoutMs: 60_000 });
    wrong.push(...(await audit(world, one)).wrong);
    expect({ attempts, undelivered }, one.kind).toEqual({ attempts: 1, undelivered: 0 });
  }
  expect(wrong).toEqual([]);
}

/** What people are told of a worker: in the list, by doctor. */
async function told(world: World): Promise<{ list: string; doctor: string }> {
  const list = await world.run(['tasks', 'workers']);
  const doctor = await world.run(['tasks', 'doctor']);
  return { list: list.out, doctor: doctor.out + doctor.err };
}

describe('the spool', () => {
  for (const [words, harm, mend, reason] of [
    ['full', (disk: SmallDisk) => disk.fill(), (disk: SmallDisk) => disk.giveBack(), /ENOSPC|full/],
    [
      'read-only',
      (disk: SmallDisk) => disk.readOnly(),
      (disk: SmallDisk) => disk.writable(),
      /EROFS|read-only/,
    ],
  ] as const)
    harmful.concurrent(
      `is ${words}: what runs is reported all the same, nothing is claimed, people are told why, and it goes on by itself`,
      async () => {
        await using world = new World();
        await using disk = new SmallDisk(world, world.spool(), '16m');
        await world.controlPlane('task-producer', 'task-worker', 'task-operator');
        const worker = await world.worker({ max: 4, handlers: HANDLERS });
        const running = await Promise.all(KINDS.map((kind) => ask(world, kind, kind, 3_000)));
        await until(() => KINDS.every((kind) => linesOf(world, kind).length > 0), 'handlers');
        harm(disk);
        await settled(world, running);
        // The first report that could not be written has told it; if a reserve took them, the next claim will.
        const waiting: Asked[] = [];
        const why = await until(async () => {
          if (waiting.length < 40) waiting.push(await ask(world, 'once', `w-${waiting.length}`));
          const { body } = await world.call('GET', '/workers/worker');
          return body.notClaiming;
        }, 'reason why it claims nothing');
        expect(why).toMatch(reason);
        const { list, doctor } = await told(world);
        expect(list).toMatch(/worker claims nothing: .*spool/);
        expect(doctor).toMatch(reason);
        const held = await ask(world, 'again', 'held');
        expect(worker.running).toBe(true);

        mend(disk);
        await settled(world, [...waiting, held]);
        await until(async () => {
          const { body } = await world.call('GET', '/workers/worker');
          return body.notClaiming === undefined;
        }, 'end of the trouble');
        for (const part of ['reports', 'running', 'refused', 'stale', 'corrupt'])
          await until(() => world.inSpool(part).length === 0, `empty ${part}`);
        console.log(
          `spool ${words}: told "${why}"; ${waiting.length} more were taken before; agent at most ${memoryOf(worker.pid).peak} MiB`,
        );
      },
      150_000,
    );

  harmful.concurrent(
    'is full when the worker is killed: the next one starts on it or says why, and nothing is done twice',
    async () => {
      await using world = new World();
      await using disk = new SmallDisk(world, world.spool(), '16m');
      await world.controlPlane('task-producer', 'task-worker', 'task-operator');
      const worker = await world.worker({ max: 4, handlers: HANDLERS });
      const kinds: Kind[] = ['once', 'once-gated'];
      const running = await Promise.all(kinds.map((kind) => ask(world, kind, kind, 600_000)));
      await until(() => kinds.every((kind) => linesOf(world, kind).length > 0), 'handlers');
      disk.fill();
      await worker.crash();

      const next = world.launch({ max: 4, handlers: HANDLERS });
      await until(() => next.end !== undefined || next.events('worker.ready').length > 0, 'start');
      console.log(
        `a start on a full spool: ${next.end ? `ended with ${next.end.code}: ${next.err.trim().split('\n').slice(-3).join(' ')}` : 'started'}`,
      );
      if (next.end) {
        expect(next.end.code).toBeGreaterThan(1);
        expect(next.err).toMatch(/ENOSPC|full|space/);
        expect(next.err).not.toMatch(/\n\s+at /);
        disk.giveBack();
        await world.worker({ max: 4, handlers: HANDLERS });
      } else {
        await world.entry(running[0]?.id as string, 'lost');
        disk.giveBack();
      }
      const [once, gated] = running as [Asked, Asked];
      expect((await world.producer.await(once.id, { timeoutMs: 30_000 })).status).toBe(
        'outcome-unknown',
      );
      // Its handler had not come to its gate: it is tried again.
      await until(() => linesOf(world, gated.file).length === 2, 'second beginning');
      expect((await audit(world, once)).wrong).toEqual([]);
    },
    120_000,
  );

  harmful.concurrent(
    'is out of descriptors with its agent: running tasks are reported once, and all goes on when there are some',
    async () => {
      await using world = new World();
      await world.controlPlane('task-producer', 'task-worker', 'task-operator');
      const worker = await world.worker({ max: 4, handlers: HANDLERS });
      const running = await Promise.all(KINDS.map((kind) => ask(world, kind, kind, 2_000)));
      await until(() => KINDS.every((kind) => linesOf(world, kind).length > 0), 'handlers');
      await Promise.all(running.map(({ id }) => world.entry(id, 'started')));
      takeDescriptors(worker.pid);
      await until(
        () => KINDS.every((kind) => linesOf(world, kind).some(({ what }) => what === 'effect')),
        'effects',
      );
      const later = await Promise.all(KINDS.map((kind, n) => ask(world, kind, `later-${n}`)));
      const { body } = await until(async () => {
        const answer = await world.call('GET', '/workers/worker');
        if (answer.body.notClaiming) return answer;
        takeDescriptors(worker.pid);
        return undefined;
      }, 'reason why it claims nothing');
      expect(worker.running).toBe(true);
      limitFiles(worker.pid, 4_096);
      await settled(world, running);
      for (const one of later) {
        await world.producer.await(one.id, { timeoutMs: 60_000 });
        expect((await audit(world, one)).wrong).toEqual([]);
      }
      for (const part of ['reports', 'running'])
        await until(() => world.inSpool(part).length === 0, `empty ${part}`);
      console.log(`worker without descriptors: told "${body.notClaiming}"`);
    },
    120_000,
  );
});
