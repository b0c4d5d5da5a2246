/** Hosts that are killed for want of memory, by a segmentation fault, by SIGKILL: evidence is kept, others go on. */
import { describe, expect } from 'vitest';
import type { TaskView } from '../../src/contract/index.ts';
import { childrenOf, until } from '../e2e/processes.ts';
import { World } from '../e2e/world.ts';
import { HANDLERS } from './ledger.ts';
import { harmful, MemoryGroup, memoryOf } from './machine.ts';

const MEBIBYTE = 1_048_576;
/** An agent and its hosts fit; a handler that takes memory for ever does not. */
const GROUP_BYTES = 600 * MEBIBYTE;
const policy = {
  maxAttempts: 3,
  backoff: { initialMs: 50, factor: 1, maxMs: 50, jitter: 0 },
};

interface Death {
  readonly of: string;
  /** In the error of the task. */
  readonly evidence: object;
}
const SIGNALS: readonly Death[] = [
  { of: 'SIGKILL', evidence: { reason: 'host-died', signal: 'SIGKILL' } },
  { of: 'SIGSEGV', evidence: { reason: 'host-died', signal: 'SIGSEGV' } },
];

/** Runs deadly tasks, repeatable and not, between harmless ones; each must end as it has to. */
async function endAsTheyMust(world: World, deaths: readonly Death[]): Promise<void> {
  const submit = (type: string, input: object) => world.producer.submit(type, 1, input, { policy });
  const healthy = (n: number) =>
    submit('test/look', { file: world.path(`healthy-${n}`), afterMs: 50 });
  const deadly = await Promise.all(
    deaths.map(async ({ of, evidence }) => ({
      evidence,
      repeatable: await submit('test/dies', { of }),
      once: await submit('test/dies-once', { of }),
    })),
  );
  const others = await Promise.all(Array.from({ length: 16 }, (_, n) => healthy(n)));
  const ended = (task: TaskView) => world.producer.await(task, { timeoutMs: 60_000 });
  for (const { evidence, repeatable, once } of deadly) {
    expect(await ended(repeatable)).toMatchObject({
      status: 'failed',
      attempts: 3,
      error: { code: 'ATTEMPTS_EXHAUSTED', details: evidence },
    });
    expect(await ended(once)).toMatchObject({
      status: 'outcome-unknown',
      attempts: 1,
      error: { code: 'OUTCOME_UNKNOWN', effect: 'begun', details: evidence },
    });
  }
  for (const other of others)
    expect(await ended(other)).toMatchObject({ status: 'succeeded', attempts: 1 });
}

describe('F43', () => {
  harmful(
    'ends a task whose host dies by signals, with the signal, and no other task',
    async () => {
      await using world = new World();
      await world.controlPlane('task-producer', 'task-worker');
      await Promise.all(
        ['one', 'two'].map((id) => world.worker({ id, max: 4, handlers: HANDLERS })),
      );
      await endAsTheyMust(world, SIGNALS);
    },
  );

  const trial = MemoryGroup.make(GROUP_BYTES);
  trial?.[Symbol.dispose]();
  if (trial) {
    harmful(
      'ends a task whose host the kernel kills for want of memory, tells so, and no other task',
      byTheKernel,
    );
  } else {
    harmful(
      'ends a task whose host is killed from outside: no memory group can be made here, so the kernel kills none',
      fromOutside,
    );
  }
});

async function byTheKernel(): Promise<void> {
  // Left after the world: a group with processes in it cannot be removed.
  const groups = ['one', 'two'].map((id) => ({ id, group: MemoryGroup.make(GROUP_BYTES) }));
  try {
    await using world = new World();
    await world.controlPlane('task-producer', 'task-worker');
    const agents = await Promise.all(
      groups.map(({ id, group }) =>
        world.worker({ id, max: 2, handlers: HANDLERS, under: group?.under ?? [], wrapper: false }),
      ),
    );
    const evidence = { reason: 'host-died', signal: 'SIGKILL', outOfMemory: true };
    await endAsTheyMust(world, [{ of: 'hunger', evidence }]);
    for (const agent of agents) expect(agent.running).toBe(true);
    const told = agents.map(({ pid }) => `${memoryOf(pid).peak} MiB`);
    console.log(`out of memory: killed by the kernel; the agents had at most ${told.join(', ')}`);
  } finally {
    for (const { group } of groups) group?.[Symbol.dispose]();
  }
}

async function fromOutside(): Promise<void> {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const agent = await world.worker({ handlers: HANDLERS });
  const input = { file: world.path('killed'), beforeMs: 600_000 };
  const task = await world.producer.submit('test/once', 1, input, { policy });
  await world.entry(task.id, 'started');
  await until(() => world.lines('killed').length > 0, 'handler');
  for (const host of childrenOf(agent.pid)) process.kill(host, 'SIGKILL');
  expect(await world.producer.await(task, { timeoutMs: 30_000 })).toMatchObject({
    status: 'outcome-unknown',
    error: { code: 'OUTCOME_UNKNOWN', details: { reason: 'host-died', signal: 'SIGKILL' } },
  });
}
