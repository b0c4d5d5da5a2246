import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { nicerThan } from '../../src/carriers/give-way.ts';
import { hostEnvironment } from '../../src/carriers/spawn-host.ts';
import type { JobEnd } from '../../src/ports/carrier.ts';
import { aJob, startJob } from './collected.ts';
import { fixtureFile, marked, processCarrier } from './process-harness.ts';

let made: ReturnType<typeof processCarrier>[] = [];
function pool(overrides: Parameters<typeof processCarrier>[0] = {}) {
  const one = processCarrier(overrides);
  made.push(one);
  const job = (fixture: string, input: unknown = {}) =>
    startJob(one.carrier, { file: fixtureFile(fixture), type: `test/${fixture}`, input });
  const pid = async () => {
    const end = await job('abuse', { do: 'pid' }).ended;
    return end.how === 'returned' ? (end.result as number) : end;
  };
  return { ...one, job, pid };
}

afterEach(async () => {
  for (const { carrier, marker } of made) {
    await carrier.close();
    expect(marked(marker)).toEqual([]);
  }
  made = [];
});

it('keeps a host warm for its file, and replaces the longest idle one for another', async () => {
  const { job, pid, marker } = pool({ maxHosts: 2 });
  const first = await pid();
  expect(await pid()).toBe(first);
  await job('echo').ended;
  expect(marked(marker)).toHaveLength(2);
  // No room: the host of `abuse` has been idle for longer.
  await job('context').ended;
  expect(await pid()).not.toBe(first);
});

it('never has more hosts than it may, and makes the others wait', async () => {
  const { job, marker } = pool({ maxHosts: 2 });
  const blocked = [job('waits'), job('waits')];
  for (const one of blocked) await one.until((told) => told.begun === 1);
  const waiting = job('echo', 'at last');
  const given = job('echo');
  given.stop('cancel', 60_000);
  expect(await given.ended).toEqual({ how: 'stopped' });
  expect(marked(marker)).toHaveLength(2);
  expect(waiting.told.begun).toBe(0);
  blocked[0]?.stop('cancel', 0);
  expect(await waiting.ended).toEqual({ how: 'returned', result: 'at last' });
  blocked[1]?.stop('cancel', 0);
  await blocked[1]?.ended;
});

it('replaces a host after its number of calls', async () => {
  const { pid } = pool({ callsPerHost: 3, maxHosts: 1 });
  const pids = [];
  for (let i = 0; i < 7; i++) pids.push(await pid());
  expect(new Set(pids).size).toBe(3);
  expect([pids[0], pids[3], pids[6]]).toEqual([pids[2], pids[5], pids[6]]);
});

it('replaces a host of its age, and has the next one ready', async () => {
  const { pid, marker } = pool({ hostMaxAgeMs: 0, maxHosts: 1 });
  const first = await pid();
  const others = () => marked(marker).filter((one) => one !== first);
  await expect.poll(others).toHaveLength(1);
  const [next] = others();
  expect(await pid()).toBe(next);
});

it('ends a host that has been idle for long', async () => {
  const { pid, carrier } = pool({ idleMs: 10 });
  const first = (await pid()) as number;
  await gone(first);
  expect(await pid()).not.toBe(first);
  await carrier.close();
});

it('starts hosts ahead of their jobs', async () => {
  const { carrier, job, marker } = pool({ maxHosts: 2 });
  await carrier.warm([
    fixtureFile('exits-at-load'),
    fixtureFile('abuse'),
    fixtureFile('echo'), // No room for this one.
  ]);
  const [host, ...more] = marked(marker);
  expect(more).toEqual([]);
  expect(await job('abuse', { do: 'pid' }).ended).toEqual({ how: 'returned', result: host });
});

it('starts a host ahead of any handler, which the first job gets', async () => {
  const { carrier, pid, job, marker } = pool({ maxHosts: 3 });
  carrier.prepare();
  carrier.prepare();
  await expect.poll(() => marked(marker)).toHaveLength(1);
  const [spare] = marked(marker);
  expect(await pid()).toBe(spare);
  expect((await job('echo').ended).how).toBe('returned');
  // One that nobody needs goes with the carrier.
  carrier.prepare();
});

it('notices that an idle host has died, and starts another', async () => {
  const { pid } = pool();
  const first = (await pid()) as number;
  process.kill(first, 'SIGKILL');
  await gone(first);
  expect(await pid()).not.toBe(first);
});

it('gives a job to another host where a loop of an earlier one keeps the first from taking it', async () => {
  const { job, log } = pool({ maxHosts: 1, takeMs: 200 });
  const before = await job('abuse', { do: 'loopLater' }).ended;
  const running = job('abuse', { do: 'pid' });
  const end = await running.ended;
  expect(end).toMatchObject({ how: 'returned' });
  expect(end).not.toEqual(before);
  expect(running.told.begun).toBe(1);
  expect(log.events).toContain('host.not-taken');
});

it('has begun nothing where the host is stopped or killed before it has taken the job', async () => {
  const { job, pid } = pool({ maxHosts: 1 });
  const looping = async () => {
    const end = await job('abuse', { do: 'loopLater' }).ended;
    return end.how === 'returned' ? (end.result as number) : Number.NaN;
  };
  await looping();
  const stopped = job('abuse', { do: 'pid' });
  await Promise.resolve();
  stopped.stop('cancel', 20);
  expect(await stopped.ended).toEqual({ how: 'stopped' });
  expect(stopped.told.begun).toBe(0);
  const host = await looping();
  const killed = job('abuse', { do: 'pid' });
  while (killed.pid === undefined) await new Promise((resolve) => setImmediate(resolve));
  process.kill(host, 'SIGKILL');
  expect(await killed.ended).toMatchObject({ how: 'returned', result: expect.not.closeTo(host) });
  expect(killed.told.begun).toBe(1);
  expect(await pid()).toBeGreaterThan(0);
});

it('begins nothing after it was closed, and leaves what runs alone', async () => {
  const { carrier, job } = pool({ maxHosts: 1 });
  const running = job('waits');
  await running.until((told) => told.begun === 1);
  const queued = job('echo');
  await Promise.resolve();
  await Promise.all([carrier.close(), carrier.close()]);
  for (const refused of [queued, job('echo')]) {
    expect(await refused.ended).toMatchObject({
      how: 'not-begun',
      error: { code: 'HOST_NOT_STARTED' },
    });
  }
  expect(running.told.begun).toBe(1);
  running.stop('drain', 0);
  expect(await running.ended).toEqual({ how: 'killed' });
});

it('names a module that ends its process, and one that does not load in time', async () => {
  const exits = pool().job('exits-at-load');
  expect(await exits.ended).toMatchObject({
    how: 'not-begun',
    error: {
      code: 'HANDLER_NOT_LOADED',
      message: expect.stringMatching(/ended while .* \(exit code 3\).* going away at load/),
    },
  });
  expect(exits.told.begun).toBe(0);
  expect(await pool({ startMs: 400 }).job('never-loads').ended).toMatchObject({
    how: 'not-begun',
    error: { message: expect.stringContaining('was not loaded within 0.4 s') },
  });
});

it('may be stopped while the module is loading: nothing has begun', async () => {
  const { job, marker } = pool();
  const running = job('never-loads');
  while (running.pid === undefined) await new Promise((resolve) => setImmediate(resolve));
  running.stop('cancel', 60_000);
  expect(await running.ended).toEqual({ how: 'stopped' });
  expect(running.told.begun).toBe(0);
  expect(marked(marker)).toEqual([]);
});

it('says why no process could be started', async () => {
  for (const [execPath, why] of [
    ['/nowhere/node', 'there is no such program'],
    [fixtureFile('echo'), 'may not be executed'],
  ] as const) {
    const { job } = pool({ hostCommand: { execPath, args: [] } });
    const running = job('echo');
    expect(await running.ended).toMatchObject({
      how: 'not-begun',
      error: { code: 'HOST_NOT_STARTED', retryable: true, message: expect.stringContaining(why) },
    });
    expect(running.told.begun).toBe(0);
  }
});

it.skipIf(process.platform === 'win32')(
  'nofile: says that too many files are open, and goes on',
  () => {
    const script = join(import.meta.dirname, 'few-files.ts');
    const args = ['-c', 'ulimit -n 64; exec "$0" "$1"', process.execPath, script];
    const said = execFileSync('sh', args, { encoding: 'utf8' });
    expect(JSON.parse(said)).toEqual([
      {
        how: 'not-begun',
        error: {
          code: 'HOST_NOT_STARTED',
          message: expect.stringContaining('too many files open'),
          retryable: true,
        },
      },
      { how: 'returned', result: 'there is room again' },
    ]);
  },
);

it('keeps compiled code in the folder that it is given, and hides that from handlers', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'compiled-'));
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const { job } = pool({ compileCache: folder, env });
  const end = await job('abuse', { do: 'environment' }).ended;
  expect(JSON.stringify(end)).not.toContain(folder);
  expect(Object.keys((end as { result: object }).result)).not.toContain('INTERLOCK_HOST_CACHE');
  const kept = () => readdirSync(folder, { recursive: true }).length;
  while (kept() < 3) await new Promise((resolve) => setImmediate(resolve));
  rmSync(folder, { recursive: true, force: true });
});

it('gives hosts no keys, no channel of another process, and nothing that a service manager has said to the agent', () => {
  const env = {
    PATH: '/bin',
    INTERLOCK_WORKER_KEY: 'il_a',
    Interlock_Producer_Key: 'il_b',
    INTERLOCK_KEY_FILE: '/k',
    INTERLOCK_URL: 'http://127.0.0.1',
    NODE_CHANNEL_FD: '3',
    NOTIFY_SOCKET: '/run/systemd/notify',
    WATCHDOG_USEC: '60000000',
    WATCHDOG_PID: '1',
    CREDENTIALS_DIRECTORY: '/run/credentials/interlock-worker.service',
    LISTEN_FDS: '1',
    LISTEN_PID: '1',
    LISTEN_FDNAMES: 'a',
    UNSET: undefined,
  };
  expect(hostEnvironment({ env, role: 'host', marker: 'm', id: 'm/1' })).toEqual({
    PATH: '/bin',
    INTERLOCK_URL: 'http://127.0.0.1',
    INTERLOCK_HOST_ROLE: 'host',
    INTERLOCK_HOST_MARKER: 'm',
    INTERLOCK_HOST_ID: 'm/1',
  });
});

it('does not use a host again after an end that spoils it (F56), and tells which host a job had', async () => {
  const spoils = (end: JobEnd) => end.how === 'threw' && end.error.code === 'CARD_DECLINED';
  const { job, marker } = pool({ maxHosts: 1, spoils });
  const hosts: (string | undefined)[] = [];
  for (const thing of ['plain', 'plain', 'ownCode', 'plain']) {
    const one = job('throws', { thing });
    await one.until((told) => told.begun === 1);
    hosts.push(one.host);
    await one.ended;
  }
  expect(hosts).toEqual([1, 1, 1, 2].map((n) => `${marker}/${n}`));
});

/** Waits until there is no such process. */
async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it('lets a handler give way to the agent, which has its lease to renew', async () => {
  const { pid } = pool();
  const own = getPriority();
  expect(getPriority((await pid()) as number)).toBe(nicerThan(own));
  expect(getPriority()).toBe(own);
});

it('lets the session of a host give way to that of the agent, also where the agent is a nice one itself', async ({
  skip,
}) => {
  expect([-5, 0, 9, 10, 19].map(nicerThan)).toEqual([5, 10, 19, 19, 19]);
  const refusal = await groupsRefused();
  if (refusal) skip(`this system lets nobody set the share of a session: ${refusal}`);
  const { pid } = pool();
  const host = (await pid()) as number;
  // A process that nobody gave a session of its own is in no group of sessions: its file is empty.
  const expected = nicerThan(groupNice('self') ?? 0);
  while (groupNice(host) !== expected) await new Promise((resolve) => setImmediate(resolve));
});

/** How nice the session of a process is, for the scheduler; undefined where it has no say. */
function groupNice(pid: number | 'self'): number | undefined {
  const nice = /nice (-?\d+)/.exec(readFileSync(`/proc/${pid}/autogroup`, 'utf8'))?.[1];
  return nice === undefined ? undefined : Number(nice);
}

/** Asks the kernel itself, with a session that has nothing to do with ours. Undefined: it may be done here. */
async function groupsRefused(): Promise<string | undefined> {
  const other = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { detached: true });
  const path = `/proc/${other.pid}/autogroup`;
  try {
    for (;;) {
      try {
        writeFileSync(path, '3');
        return groupNice(other.pid as number) === 3 ? undefined : `${path} does not keep it`;
      } catch (error) {
        // The kernel takes few such wishes a second of all programs together.
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return String(error);
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  } finally {
    other.kill('SIGKILL');
  }
}

describe('a job that is about to be given to a host', () => {
  const listens = (giving: (host?: string) => Promise<void>, order: string[] = []) => ({
    giving,
    begun: () => void order.push('begun'),
    progress: () => {},
    log: () => {},
    effectRequested: () => {},
  });
  const job = (fixture: string) => ({
    ...aJob(),
    file: fixtureFile(fixture),
    type: `test/${fixture}`,
  });

  it('says so before, with the host, and a fresh host gets it when that is written down', async () => {
    const { carrier, marker } = pool({ maxHosts: 1 });
    const order: string[] = [];
    const written = async (host?: string) => {
      await new Promise((resolve) => setImmediate(resolve));
      order.push(`written for ${host}`);
    };
    await carrier.start(job('echo'), listens(written, order)).ended;
    expect(order).toEqual([`written for ${marker}/1`, 'begun']);
    // The same host again: said before, and not waited for.
    const never = () => {
      order.push('said');
      return new Promise<void>(() => {});
    };
    await carrier.start(job('echo'), listens(never, order)).ended;
    expect(order.slice(2)).toEqual(['said', 'begun']);
  });

  it('goes to another one where its host is gone meanwhile, and nowhere where it is stopped', async () => {
    const { carrier, marker } = pool({ maxHosts: 1 });
    const hosts: (string | undefined)[] = [];
    const kills = async (host?: string) => {
      if (hosts.push(host) > 1) return;
      for (const pid of marked(marker)) process.kill(pid, 'SIGKILL');
      while (marked(marker).length > 0) await new Promise((resolve) => setImmediate(resolve));
    };
    const moved = await carrier.start(job('echo'), listens(kills)).ended;
    expect(moved).toMatchObject({ how: 'returned' });
    expect(hosts).toEqual([`${marker}/1`, `${marker}/2`]);
    const stopped = carrier.start(
      job('context'),
      listens(async () => stopped.stop('cancel', 60_000)),
    );
    expect(await stopped.ended).toEqual({ how: 'stopped' });
  });
});

describe('code that is replaced', () => {
  const file = fixtureFile('abuse');
  const pidOf = async (one: ReturnType<typeof processCarrier>, code: string) => {
    const end = await startJob(one.carrier, { file, code: { id: code }, input: { do: 'pid' } })
      .ended;
    return end.how === 'returned' ? end.result : end;
  };

  it('has hosts of its own, and those that rest end when it is not kept', async () => {
    const one = pool({ maxHosts: 3 });
    const [first, second] = [await pidOf(one, 'one'), await pidOf(one, 'two')];
    expect(second).not.toBe(first);
    expect(await pidOf(one, 'one')).toBe(first);
    one.carrier.keepOnly(new Set(['two']));
    expect(await pidOf(one, 'two')).toBe(second);
    await expect.poll(() => marked(one.marker)).toEqual([second]);
  });

  it('still runs jobs that were meant for it, each host for the one that it has', async () => {
    const one = pool({ maxHosts: 2 });
    const waits = startJob(one.carrier, { file: fixtureFile('waits'), code: { id: 'one' } });
    await waits.until(({ begun }) => begun === 1);
    one.carrier.keepOnly(new Set(['two']));
    const late = await pidOf(one, 'one');
    expect(await pidOf(one, 'one')).not.toBe(late);
    expect(marked(one.marker)).toContain(waits.pid);
    waits.stop('cancel', 0);
    await waits.ended;
    await expect.poll(() => marked(one.marker)).toEqual([]);
  });

  it('has fewer hosts where there are fewer slots, without ending what runs', async () => {
    const one = pool({ maxHosts: 3 });
    const waits = startJob(one.carrier, { file: fixtureFile('waits') });
    await waits.until(({ begun }) => begun === 1);
    await Promise.all([one.job('echo').ended, one.job('context').ended]);
    expect(marked(one.marker)).toHaveLength(3);
    one.carrier.resize(1);
    await expect.poll(() => marked(one.marker)).toEqual([waits.pid]);
    const next = one.job('echo', 'next');
    waits.stop('cancel', 0);
    await waits.ended;
    expect(await next.ended).toEqual({ how: 'returned', result: 'next' });
  });
});
