import { spawn } from 'node:child_process';
import { rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealSpools } from './real-spool.ts';
import { reportIds } from './world.ts';

const onUnix = process.platform !== 'win32';

let spools: RealSpools;
beforeEach(async () => {
  spools = await RealSpools.make();
});
afterEach(() => spools.end());

describe('two processes on one spool (F33)', () => {
  it('the second is refused with a clear message, the first is unharmed', async () => {
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

  it('that start at the same moment after a crash: one gets it', async () => {
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
    async () => {
      const first = spools.start();
      await first.message('opened');
      first.process.kill('SIGSTOP');
      const old = new Date(Date.now() - 3_600_000);
      await utimes(join(spools.folder, 'owner.lock'), old, old);
      expect(await spools.tryOpen()).toMatchObject({ ok: false, error: { code: 'SPOOL_LOCKED' } });
      first.process.kill('SIGCONT');
      await first.seen(({ log }) => log.includes('spool.lock-retaken'));
      first.process.send({ do: 'write', id: 'att_a' });
      await first.message('durable');
      expect(first.messages.some((message) => 'lost' in message)).toBe(false);
      expect(await spools.tryOpen()).toMatchObject({ ok: false, error: { code: 'SPOOL_LOCKED' } });
    },
  );

  it('an owner whose lock is given a time in the future, or removed, keeps it', async () => {
    const first = spools.start();
    await first.message('opened');
    const future = new Date(Date.now() + 86_400_000);
    await utimes(join(spools.folder, 'owner.lock'), future, future);
    await first.seen(({ log }) => log.includes('spool.lock-retaken'));
    await rm(join(spools.folder, 'owner.lock'), { recursive: true });
    expect(await spools.tryOpen()).toMatchObject({ ok: false, error: { code: 'SPOOL_LOCKED' } });
    await first.seen(({ log }) => log.split('spool.lock-retaken').length === 3);
  });
});

describe('what a crash left (F33)', () => {
  /** A child that was killed; what it left is then altered. */
  async function leftBehind(): Promise<void> {
    const child = spools.start();
    await child.message('opened');
    child.process.send({ do: 'write', id: 'att_a' });
    await child.message('durable');
    await child.kill();
  }

  /** Opens it; the time that took, in ms. */
  async function took(): Promise<number> {
    const from = performance.now();
    const spool = await spools.open();
    expect(reportIds(spool)).toEqual(['att_a']);
    return performance.now() - from;
  }

  // Far below `stale` of proper-lockfile (10 s), far above what a busy machine needs.
  const AT_ONCE_MS = 4_000;

  it('is taken at once after kill -9 (e)', async () => {
    await leftBehind();
    expect(await took()).toBeLessThan(AT_ONCE_MS);
  });

  it('is taken at once with a lock a day in the future (a)', async () => {
    await leftBehind();
    const future = new Date(Date.now() + 86_400_000);
    await utimes(join(spools.folder, 'owner.lock'), future, future);
    expect(await took()).toBeLessThan(AT_ONCE_MS);
  });

  it.skipIf(process.platform !== 'linux')(
    'is taken at once where its pid is our own now (b)',
    async () => {
      await leftBehind();
      await spools.alterOwner({ pid: process.pid });
      expect(await took()).toBeLessThan(AT_ONCE_MS);
    },
  );

  it.skipIf(process.platform !== 'linux')(
    'is taken at once where its pid is a live sleep’s now (c)',
    async () => {
      await leftBehind();
      const sleep = spawn('sleep', ['600'], { stdio: 'ignore' });
      spools.children.push(sleep);
      await new Promise((resolve) => sleep.once('spawn', resolve));
      await spools.alterOwner({ pid: sleep.pid as number });
      expect(await took()).toBeLessThan(AT_ONCE_MS);
      expect(sleep.exitCode).toBeNull();
    },
  );

  it('is taken after a bounded silence where the owner was another host (d)', async () => {
    await leftBehind();
    await spools.alterOwner({ hostName: 'attic', bootId: 'c0ffee' });
    const ms = await took();
    expect(ms).toBeGreaterThan(9_000);
    expect(ms).toBeLessThan(25_000);
  });

  it('is refused where the owner is another host that still gives signs of life (d)', async () => {
    const child = spools.start();
    await child.message('opened');
    await spools.alterOwner({ hostName: 'attic', bootId: 'c0ffee' });
    const opened = await spools.tryOpen();
    expect(opened).toMatchObject({ ok: false, error: { code: 'SPOOL_LOCKED' } });
    expect(opened.ok || opened.error.message).toContain('on attic');
  });
});
