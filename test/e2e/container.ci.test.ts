/** F10: a worker in a container. Namespaces stand for an engine; the Dockerfile's promises are read from it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { missing } from '../faults/needs.ts';
import {
  firstProcess,
  IMAGE_USER,
  layCheckout,
  likeTheImage,
  processNamespace,
  zombies,
} from './container.ts';
import { type Proc, ROOT, until } from './processes.ts';
import { World } from './world.ts';

const HANDLERS = join(import.meta.dirname, 'container-handlers');
const namespace = processNamespace();
if (!namespace) console.log('skipped: unshare may not make a process namespace here');
const contained = it.skipIf(!namespace);
const needs = missing('root', 'tini', 'chroot', 'setsid');
const asRoot = it.skipIf(!namespace || needs !== undefined);

const TASKS = 50;

/** Runs the tasks whose handlers leave orphans behind, and tells what the handlers saw. */
async function leaveOrphans(world: World): Promise<{ standIn: string }[]> {
  const made = await Promise.all(
    Array.from({ length: TASKS }, () => world.producer.submit('test/orphans', 1, {})),
  );
  return Promise.all(
    made.map(async ({ id }) => {
      const { status, result } = await world.producer.await(id, { timeoutMs: 60_000 });
      expect(status).toBe('succeeded');
      return result as { standIn: string };
    }),
  );
}

function begin(world: World, under: readonly string[], more: object = {}): Proc {
  const before = [...(namespace ?? []), ...under];
  return world.launch({ handlers: HANDLERS, max: 4, under: ['unshare', ...before], ...more });
}

async function drains(worker: Proc): Promise<void> {
  worker.kill('SIGTERM');
  expect(await worker.ending()).toEqual({ code: 0, signal: null });
  expect(worker.events('worker.drained')).toHaveLength(1);
}

describe('a worker in a container (F10)', () => {
  contained(
    'as PID 1 puts a shell before itself and says so once: no zombies, SIGTERM drains',
    async () => {
      await using world = new World();
      await world.controlPlane('task-producer', 'task-worker');
      const worker = begin(world, []);
      await worker.event('worker.ready');
      const told = worker.events('container.no-init');
      expect(told).toEqual([expect.objectContaining({ standsIn: '/bin/sh' })]);
      expect(told[0]?.msg).toMatch(/first process \(PID 1\).*docker run --init, or tini/);
      const seen = await leaveOrphans(world);
      expect(seen.every(({ standIn }) => standIn === 'none')).toBe(true);
      const first = await firstProcess(worker);
      expect(readFileSync(`/proc/${first}/comm`, 'utf8')).not.toMatch(/node|interlock/);
      await until(() => zombies(first).length === 0, 'end of all zombies');
      await drains(worker);
    },
  );

  contained('as PID 1 passes on how the worker ended: refused, killed', async () => {
    await using world = new World();
    await world.controlPlane('task-worker');
    const refused = begin(world, [], { env: { INTERLOCK_WORKER_KEY: 'il_nobodys' } });
    expect(await refused.ending()).toEqual({ code: 77, signal: null });
    const usage = begin(world, [], { args: ['--no-such-flag'] });
    expect(await usage.ending()).toEqual({ code: 64, signal: null });
    const killed = begin(world, [], { id: 'killed' });
    await killed.event('worker.ready');
    const first = await firstProcess(killed);
    const [inner] = readFileSync(`/proc/${first}/task/${first}/children`, 'utf8').split(' ');
    process.kill(Number(inner), 'SIGKILL');
    expect(await killed.ending()).toEqual({ code: 137, signal: null });
  });

  asRoot(
    'without a shell goes on as PID 1 and says what stays behind: zombies stay, SIGTERM drains',
    async () => {
      await using world = new World();
      await world.controlPlane('task-producer', 'task-worker');
      // A container with nothing but the worker in it: no program lies at /bin/sh there.
      const node = join(ROOT, `node_modules/node-linux-${process.arch}/bin/node`);
      const main = join(ROOT, 'dist', 'interlock-worker.js');
      const hidden = 'mount --bind /dev/null "$(readlink -f /bin/sh)"; node=$1 main=$2; shift 3';
      const script = `${hidden}; exec "$node" "$main" "$@"`;
      const worker = begin(world, ['sh', '-c', script, 'sh', node, main]);
      await worker.event('worker.ready');
      const told = worker.events('container.no-init');
      expect(told).toEqual([expect.objectContaining({ standsIn: 'none' })]);
      expect(told[0]?.msg).toMatch(/stay as zombies/);
      await leaveOrphans(world);
      const first = await firstProcess(worker);
      await until(() => zombies(first).length >= TASKS, 'zombies, as it had said');
      await drains(worker);
    },
  );

  asRoot('under tini says nothing of it, leaves no zombies, and drains on SIGTERM', async () => {
    await using world = new World();
    await world.controlPlane('task-producer', 'task-worker');
    const worker = begin(world, ['tini', '--']);
    await worker.event('worker.ready');
    await leaveOrphans(world);
    expect(worker.events('container.no-init')).toEqual([]);
    const first = await firstProcess(worker);
    await until(() => zombies(first).length === 0, 'end of all zombies');
    await drains(worker);
  });

  contained('behind "sh -c exec" hears SIGTERM and drains', async () => {
    await using world = new World();
    await world.controlPlane('task-producer', 'task-worker');
    const worker = begin(world, ['sh', '-c', 'exec "$@"', 'sh']);
    await worker.event('worker.ready');
    await drains(worker);
  });

  asRoot(
    'as the image runs it: another user, a root that cannot be written, one volume; the next container sends what is owed',
    async () => {
      await using world = new World();
      await world.controlPlane('task-producer', 'task-worker');
      const under = likeTheImage(world.folder, layCheckout(world.folder));
      const env = {
        ...imageEnvironment(),
        INTERLOCK_URL: world.url,
        INTERLOCK_WORKER_ID: 'contained',
        INTERLOCK_WORKER_KEY: world.key('task-worker'),
      };
      const container = async () => {
        const [program = '', ...args] = under;
        const made = world.processes.start(program, args, { wrapper: true, env });
        await made.event('worker.ready');
        return made;
      };
      const worker = await container();
      const seen = await leaveOrphans(world);
      expect(seen).toHaveLength(TASKS);
      const first = await firstProcess(worker);
      const status = readFileSync(`/proc/${first}/status`, 'utf8');
      expect(status).toMatch(new RegExp(`Uid:\\s+${IMAGE_USER}\\s+${IMAGE_USER}`));
      await until(() => zombies(first).length === 0, 'end of all zombies');
      expect(worker.err).not.toMatch(/EROFS|EACCES|"level":"(warn|error)"/);
      const held = await world.producer.submit('test/holds-once', 1, {});
      await world.entry(held.id, 'started');
      process.kill(first, 'SIGKILL');
      await worker.ending();

      const next = await container();
      await world.entry(held.id, 'lost');
      const { result } = await world.producer.await(held.id, { timeoutMs: 60_000 });
      expect(result).toEqual({ attempt: 2 });
      await drains(next);
    },
  );
});

/** What `ENV` says in the Dockerfile. The secret is given as a variable: the folder of secrets is the engine's. */
function imageEnvironment(): Record<string, string> {
  const { ENV = [] } = instructions();
  const pairs = ENV.flatMap((line) => line.split(/\s+/)).map(
    (pair) => pair.split('=') as [string, string],
  );
  const { INTERLOCK_KEY_FILE: _, ...env } = Object.fromEntries(pairs);
  return { ...env, HOME: env.STATE_DIRECTORY as string };
}

/** The instructions of the last stage, by their names. */
function instructions(): Record<string, string[]> {
  const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n\s*/g, '');
  const lines = text.slice(text.lastIndexOf('\nFROM ')).split('\n').filter(Boolean);
  const found: Record<string, string[]> = {};
  for (const line of lines) {
    const [, name = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    found[name] = [...(found[name] ?? []), rest];
  }
  return found;
}

describe('the Dockerfile', () => {
  it('starts tini in exec form, as a user by number, with one volume, and stops by SIGTERM', () => {
    const { ENTRYPOINT, CMD, USER, VOLUME, STOPSIGNAL, HEALTHCHECK, EXPOSE, ADD } = instructions();
    const worker = '/usr/local/bin/interlock-worker';
    expect(ENTRYPOINT?.map((one) => JSON.parse(one))).toEqual([['/usr/bin/tini', '--', worker]]);
    expect(USER).toEqual([`${IMAGE_USER}:${IMAGE_USER}`]);
    expect(VOLUME).toEqual(['/var/lib/interlock']);
    expect(STOPSIGNAL).toEqual(['SIGTERM']);
    expect(HEALTHCHECK).toHaveLength(1);
    expect(JSON.parse(HEALTHCHECK?.[0]?.split('CMD ')[1] ?? '')).toEqual([worker, 'status']);
    expect([CMD, EXPOSE, ADD]).toEqual([undefined, undefined, undefined]);
  });

  it('holds no key, and takes nothing of the folder but the executables', () => {
    const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
    expect(text).not.toMatch(/il_|WORKER_KEY/);
    const ignore = readFileSync(join(ROOT, '.dockerignore'), 'utf8').replace(/^#.*\n/gm, '');
    expect(ignore.trim().split('\n')).toEqual(['*', '!build/binary/interlock-worker-linux-*']);
    const copied = text.match(/^COPY (?!--from).*$/gm);
    expect(copied).toEqual(['COPY build/binary/interlock-worker-linux-* /built/']);
  });
});
