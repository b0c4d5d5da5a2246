/** kill -9 of agents, hosts and the control plane at random points, while effects are made on the disk. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { childrenOf, type Proc, until } from '../e2e/processes.ts';
import { LEASE_MS, World } from '../e2e/world.ts';
import { chance } from './chance.ts';
import { audit, HANDLERS, KINDS, type Kind } from './ledger.ts';
import { harmful } from './machine.ts';
import { rounds } from './rounds.ts';

const KILLS = rounds(24, 200);
const WORKERS = ['one', 'two', 'three'];
const VICTIMS = ['plane', 'agent', 'agent', 'host', 'host'] as const;

interface Asked {
  readonly kind: Kind;
  readonly id: string;
  readonly file: string;
}

harmful(
  `loses no task and makes no effect twice through ${KILLS} kills (F43)`,
  async () => {
    const dice = chance();
    console.log(`kills: again with FAULTS_SEED=${dice.seed}`);
    await using world = new World();
    await world.controlPlane('task-producer', 'task-worker');
    const launch = (id: string) => world.launch({ id, max: 3, handlers: HANDLERS });
    const workers = new Map<string, Proc>(WORKERS.map((id) => [id, launch(id)]));
    const asked: Promise<Asked>[] = [];
    const ask = async (n: number): Promise<Asked> => {
      const kind = KINDS[n % KINDS.length] as Kind;
      const file = `effects-${n}`;
      const input = {
        file: world.path(file),
        beforeMs: dice.below(300),
        afterMs: dice.below(300),
        busy: dice.below(8) === 0,
      };
      const policy = { leaseMs: LEASE_MS, lostGraceMs: 1_000, maxAttempts: 50 };
      const more = { idempotencyKey: `ask-${n}`, policy };
      const { id } = await world.producer.submit(`test/${kind}`, 1, input, more);
      return { kind, id, file };
    };

    const killed: Record<string, number> = { plane: 0, agent: 0, host: 0 };
    for (let kill = 0; kill < KILLS; ) {
      for (const _ of KINDS) asked.push(ask(asked.length));
      await pause(dice.below(900));
      const victim = dice.of(VICTIMS);
      const id = dice.of(WORKERS);
      const worker = workers.get(id) as Proc;
      const which = dice.below(3);
      if (victim === 'plane') {
        await world.plane.crash();
        await pause(dice.below(500));
        await world.controlPlane();
      } else if (victim === 'agent') {
        await worker.crash();
        const next = launch(id);
        // One of three dies again while it starts.
        if (which === 0) {
          await pause(dice.below(800));
          await next.crash();
          workers.set(id, launch(id));
        } else workers.set(id, next);
      } else {
        const hosts = childrenOf(worker.pid);
        const host = hosts[which % Math.max(1, hosts.length)];
        if (host === undefined) continue;
        killNow(host);
      }
      killed[victim] = (killed[victim] ?? 0) + 1;
      kill++;
    }

    const wrong: string[] = [];
    const statuses: Record<string, number> = {};
    let attempts = 0;
    for (const one of await Promise.all(asked)) {
      await world.producer.await(one.id, { timeoutMs: 180_000 });
      const found = await audit(world, one);
      wrong.push(...found.wrong);
      attempts += found.task.attempts + found.task.undelivered;
      const key = `${one.kind} ${found.task.status}`;
      statuses[key] = (statuses[key] ?? 0) + 1;
    }
    let stale = 0;
    for (const id of WORKERS) {
      for (const part of ['reports', 'running'])
        await until(() => world.inSpool(part, id).length === 0, `empty ${part} of ${id}`);
      for (const part of ['refused', 'corrupt']) expect(world.inSpool(part, id), part).toEqual([]);
      stale += world.inSpool('stale', id).length;
      expect(workers.get(id)?.running, id).toBe(true);
    }
    console.log(
      `kills: ${JSON.stringify(killed)}; ${asked.length} tasks, ${attempts} attempts: ${JSON.stringify(statuses)}; ${stale} stale reports`,
    );
    expect(wrong, `FAULTS_SEED=${dice.seed}`).toEqual([]);
  },
  rounds(240_000, 1_800_000),
);

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has just ended by itself.
  }
}
