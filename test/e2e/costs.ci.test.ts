/**
 * What a task costs two real processes, by what the kernel sees: syncs, calls and bytes, never times. Needs strace (on Linux).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { until } from './processes.ts';
import { World } from './world.ts';

/**
 * For each task. How much comes together differs with the machine, so there is room above what was seen (in brackets), yet
 * less than one more sync, call or few hundred bytes for each task. A figure that is passed is a step that somebody added.
 */
const MOST = {
  pure: {
    // Claim and report are a commit each (2) if none of them meets another (0.22).
    planeSyncs: 0.8,
    // The report's group and its name (2) if it is alone in it (0.15). The claim's record is one for many.
    workerSyncs: 0.8,
    // A claim and a report (2) if each goes alone (0.22); renewals and presence are a few in all.
    requests: 0.8,
    // By TCP, with headers (580 and 890).
    bytesSent: 850,
    bytesReceived: 1_200,
  },
  nonIdempotent: {
    // Claim, start and report: 3 (0.69).
    planeSyncs: 1.3,
    // The running record before the start and the report before it is sent, a file and a name each: 4 (0.83).
    workerSyncs: 1.7,
    requests: 1.4,
    bytesSent: 1_300,
    bytesReceived: 1_500,
  },
};

it('400 pure tasks by sixteen slots cost no more than their steps', () => seen('pure', 400));

it('100 tasks that must not run twice cost no more than their steps', () =>
  seen('nonIdempotent', 100));

async function seen(kind: keyof typeof MOST, count: number): Promise<void> {
  await using world = new World();
  const plane = await world.controlPlane('task-producer', 'task-worker');
  const handlers = world.path('handlers');
  mkdirSync(join(handlers, 'costs'), { recursive: true });
  const safety = kind === 'pure' ? "export const effectSafety = 'pure';\n" : '';
  writeFileSync(join(handlers, 'costs', 'noop@1.mjs'), `${safety}export default () => ({});\n`);
  const worker = await world.worker({ max: 16, handlers });
  await tasks(world, 32); // hosts are up
  const traces = [new Trace(world, plane.pid), new Trace(world, worker.pid)] as const;
  await Promise.all(traces.map((one) => one.attached()));
  await tasks(world, count);
  await until(() => world.inSpool('reports').length === 0, 'empty spool');
  const [ofPlane, ofWorker] = await Promise.all(traces.map((one) => one.end()));
  if (!ofPlane || !ofWorker) throw new Error('there is no trace');
  const each = (n: number) => n / count;
  const found = {
    planeSyncs: each(ofPlane.syncs),
    workerSyncs: each(ofWorker.syncs),
    requests: each(ofWorker.requests),
    bytesSent: each(ofWorker.sent),
    bytesReceived: each(ofWorker.received),
  };
  console.log(`${kind}, for each task: ${JSON.stringify(found)}`);
  for (const [what, most] of Object.entries(MOST[kind]))
    expect(found[what as keyof typeof found], what).toBeLessThanOrEqual(most);
  // A trace that saw nothing proves nothing.
  expect(Math.min(...Object.values(found))).toBeGreaterThan(0);
}

async function tasks(world: World, count: number): Promise<void> {
  const made = await world.producer.submitMany(
    Array.from({ length: count }, (_, i) => ({
      type: 'costs/noop',
      schemaVersion: 1,
      input: { i },
    })),
  );
  for (const outcome of made) {
    if (!outcome.ok) throw outcome.error;
    const done = await world.producer.await(outcome.task.id, { timeoutMs: 60_000 });
    expect(done.status).toBe('succeeded');
  }
}

/** The calls of a process and its threads, attached to while it runs. */
class Trace {
  readonly #child: ChildProcess;
  readonly #file: string;

  constructor(world: World, pid: number) {
    this.#file = world.path(`trace-${pid}`);
    const calls = [
      'fsync',
      'fdatasync',
      'read',
      'recvfrom',
      'recvmsg',
      'write',
      'writev',
      'sendto',
    ];
    const names = [...calls, 'sendmsg'].map((name) => `?${name}`).join(',');
    this.#child = spawn(
      'strace',
      ['-f', '-yy', '-s', '32', '-o', this.#file, '-e', `trace=${names}`, '-p', String(pid)],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
  }

  async attached(): Promise<void> {
    await once(this.#child.stderr as NodeJS.ReadableStream, 'data');
  }

  async end() {
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGINT');
    await gone;
    const found = { syncs: 0, requests: 0, sent: 0, received: 0 };
    for (const line of readFileSync(this.#file, 'utf8').split('\n')) {
      if (/\bf(data)?sync\(/.test(line)) found.syncs++;
      const [, name = '', bytes] = /\d+ +(\w+)\(\d+<TCP.* = (\d+)$/.exec(line) ?? [];
      if (bytes === undefined) continue;
      if (/^(read|recv)/.test(name)) found.received += Number(bytes);
      else found.sent += Number(bytes);
      if (/"(GET|POST|PUT) \/api/.test(line)) found.requests++;
    }
    return found;
  }
}
