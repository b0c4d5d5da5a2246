import { spawn } from 'node:child_process';
import { cp, mkdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { spoolDefaults } from '../../src/core/defaults.ts';
import { RealSpools } from './real-spool.ts';
import { reportIds } from './world.ts';

const onUnix = process.platform !== 'win32';

/** Most of these wait for the signs of life of a lock: each has a spool of its own, and they wait together. */
const it = test.extend<{ spools: RealSpools }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of what a fixture needs
  spools: async ({}, use) => {
    const spools = await RealSpools.make();
    await use(spools);
    await spools.end();
  },
});

describe.concurrent('two processes on one spool (F33)', () => {
  it('of a copy, whose owner runs on elsewhere, says so', async ({ spools }) => {
    await spools.open();
    const folder = `${spools.folder}-copy`;
    await cp(spools.folder, folder, { recursive: true, preserveTimestamps: true });
    const before = (Date.now() - spoolDefaults.lockSilenceMs) / 1_000 - 60;
    await utimes(join(folder, 'owner.lock'), before, before);
    const opened = await spools.tryOpen({ folder, sessionId: 'ses_2' });
    expect(opened).toMatchObject({
      ok: false,
      error: {
        code: 'SPOOL_LOCKED',
        message: expect.stringMatching(/names worker "child" .* or this is a copy of its spool\.$/),
      },
    });
  });

  it('the second is refused with a clear message, the first is unharmed', async ({ spools }) => {
    const first = spools.start();
    const { opened: pid } = await first.message('opened');
    const second = spools.start();
    const { refused, message } = await second.message('refused');
    expect(refused).toBe('SPOOL_LOCKED');
    expect(message).toContain(`held by worker "child" (process ${pid} on `);
    expect(message).toContain(spools.folder);
    first.process.send({ do: 'write', id: 'att_a' });
    await first.message('durable');
    await first.kill();
    expect(reportIds(await spools.open())).toEqual(['att_a']);
  });

  it('that start at the same moment after a crash: one gets it', async ({ spools }) => {
    const crashed = spools.start();
    await crashed.message('opened');
    await crashed.kill();
    const both = [spools.start('ses_x'), spools.start('ses_y')];
    const said = await Promise.all(
      both.map((child) =>
        child.seen(({ messages }) => messages.find((m) => 'opened' in m || 'refused' in m)),
      ),
    );
    expect(said.map((m) => Object.keys(m)[0]).sort()).toEqual(['opened', 'refused']);
  });

  it.skipIf(!onUnix)(
    'a stopped owner keeps it, however old its lock looks, and goes on when it is continued',
    async ({ spools }) => {
      const first = spools.start();
      await first.message('opened');
      first.process.kill('SIGSTOP');
      const old = new Date(Date.now() - 3_600_000);
      await utimes(join(spools.folder, 'owner.lock'), old, old);
      expect(await spools.tryOpen()).toMatchObject({ ok: false, error: { code: 'SPOOL_LOCKED' } });
      first.process.kill('SIGCONT');
      first.process.send({ do: 'write', id: 'att_a' });
      await first.message('durable');
      expect(first.messages.some((message) => 'lost' in message)).toBe(false);
      expect(await spools.tryOpen()).toMatchObject({ ok: false, error: { code: 'SPOOL_LOCKED' } });
    },
  );

  it('an owner whose lock is given a time in the future, or removed, keeps it', async ({
    spools,
  }) => {
    const first = spools.start();
    await first.message('opened');
    const future = new Date(Date.now() + 86_400_000);
    await utimes(join(spools.folder, 'owner.lock'), future, future);
    expect(await spools.tryOpen()).toMatchObject({ ok: false, error: { code: 'SPOOL_LOCKED' } });
    await rm(join(spools.folder, 'owner.lock'), { recursive: true });
    expect(await spools.tryOpen()).toMatchObject({ ok: false, error: { code: 'SPOOL_LOCKED' } });
    await first.seen(({ log }) => log.includes('spool.lock-retaken'));
  });
});

describe.concurrent('an owner whose spool another one has (F33)', () => {
  it('is told once, writes and removes nothing more, and leaves its heir alone', async ({
    spools,
  }) => {
    const first = spools.start();
    await first.message('opened');
    first.process.send({ do: 'write', id: 'att_a' });
    await first.message('durable');
    // As if it had been stopped for long, seen from another host: its lock was broken, and another one is named.
    const heir = { sessionId: 'ses_heir', hostName: 'attic', bootId: 'c0ffee' };
    await spools.alterOwner(heir);
    await rm(join(spools.folder, 'owner.lock'));
    await writeFile(join(spools.folder, 'owner.lock'), '');
    const { lost } = await first.message('lost');
    expect(lost).toContain('lost to another process');
    first.process.send({ do: 'write', id: 'att_b' });
    expect((await first.message('failed')).why).toContain('lost to another process');
    first.process.send({ do: 'stats' });
    expect((await first.message('stats')).stats).toMatchObject({ ok: false, pending: 1 });
    const exited = new Promise((resolve) => first.process.once('exit', resolve));
    first.process.send({ do: 'close' });
    await exited;
    // The heir's lock and record are as they were.
    expect(await readFile(join(spools.folder, 'owner.json'), 'utf8')).toContain('ses_heir');
    expect(await stat(join(spools.folder, 'owner.lock'))).toBeDefined();
    expect(first.messages.filter((message) => 'lost' in message)).toHaveLength(1);
  });
});

describe.concurrent('what a crash left (F33)', () => {
  /** A child that was killed; what it left is then altered. */
  async function leftBehind(spools: RealSpools): Promise<void> {
    const child = spools.start();
    await child.message('opened');
    child.process.send({ do: 'write', id: 'att_a' });
    await child.message('durable');
    await child.kill();
  }

  /** Opens it; the time that took, in ms. */
  async function took(spools: RealSpools): Promise<number> {
    const from = performance.now();
    const spool = await spools.open();
    expect(reportIds(spool)).toEqual(['att_a']);
    return performance.now() - from;
  }

  // Far below the silence of an owner out of sight, far above what a busy machine needs.
  const AT_ONCE_MS = 6_000;

  it('is taken at once after kill -9 (e)', async ({ spools }) => {
    await leftBehind(spools);
    expect(await took(spools)).toBeLessThan(AT_ONCE_MS);
  });

  it('is taken at once where an earlier version left a folder as its lock', async ({ spools }) => {
    await leftBehind(spools);
    await rm(join(spools.folder, 'owner.lock'));
    await mkdir(join(spools.folder, 'owner.lock'), { mode: 0o700 });
    expect(await took(spools)).toBeLessThan(AT_ONCE_MS);
  });

  it('is taken at once with a lock a day in the future (a)', async ({ spools }) => {
    await leftBehind(spools);
    const future = new Date(Date.now() + 86_400_000);
    await utimes(join(spools.folder, 'owner.lock'), future, future);
    expect(await took(spools)).toBeLessThan(AT_ONCE_MS);
  });

  it.skipIf(process.platform !== 'linux')(
    'is taken at once where its pid is our own now (b)',
    async ({ spools }) => {
      await leftBehind(spools);
      await spools.alterOwner({ pid: process.pid });
      expect(await took(spools)).toBeLessThan(AT_ONCE_MS);
    },
  );

  it.skipIf(process.platform !== 'linux')(
    'is taken at once where its pid is a live sleep’s now (c)',
    async ({ spools }) => {
      await leftBehind(spools);
      const sleep = spawn('sleep', ['600'], { stdio: 'ignore' });
      spools.children.push(sleep);
      await new Promise((resolve) => sleep.once('spawn', resolve));
      await spools.alterOwner({ pid: sleep.pid as number });
      expect(await took(spools)).toBeLessThan(AT_ONCE_MS);
      expect(sleep.exitCode).toBeNull();
    },
  );

  it('is taken after a bounded silence where the owner was another host (d)', {
    timeout: 60_000,
  }, async ({ spools }) => {
    await leftBehind(spools);
    await spools.alterOwner({ hostName: 'attic', bootId: 'c0ffee' });
    const ms = await took(spools);
    expect(ms).toBeGreaterThan(15_000);
    expect(ms).toBeLessThan(40_000);
  });

  it('is refused where the owner is another host that still gives signs of life (d)', async ({
    spools,
  }) => {
    const child = spools.start();
    await child.message('opened');
    await spools.alterOwner({ hostName: 'attic', bootId: 'c0ffee' });
    const opened = await spools.tryOpen();
    expect(opened).toMatchObject({ ok: false, error: { code: 'SPOOL_LOCKED' } });
    expect(opened.ok || opened.error.message).toContain('on attic');
  });
});
