import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/ports/clock.ts';

/** What every clock keeps. `pass` lets time go by: simulated time at once, real time by waiting. */
export function clockCases(
  name: string,
  make: () => { clock: Clock; pass(ms: number): Promise<void> },
) {
  describe(`clock: ${name}`, () => {
    it('goes forward only', async () => {
      const { clock, pass } = make();
      let before = clock.now();
      for (let i = 0; i < 5; i++) {
        await pass(2);
        const now = clock.now();
        expect(now).toBeGreaterThanOrEqual(before);
        before = now;
      }
    });

    it('tells wall time in milliseconds since 1970', () => {
      const { clock } = make();
      expect(clock.wall()).toBeGreaterThan(Date.UTC(2025, 0, 1));
      expect(Number.isInteger(clock.wall())).toBe(true);
    });

    it('wakes a sleeper with true, not before its time', async () => {
      const { clock, pass } = make();
      const from = clock.now();
      let woke: { with: boolean; after: number } | undefined;
      void clock.sleep(20).then((slept) => {
        woke = { with: slept, after: clock.now() - from };
      });
      await pass(70);
      expect(woke?.with).toBe(true);
      expect(woke?.after).toBeGreaterThanOrEqual(20);
    });

    it('ends a sleep with false as soon as its signal aborts', async () => {
      const { clock } = make();
      const stop = new AbortController();
      const sleep = clock.sleep(60_000, stop.signal);
      stop.abort();
      expect(await sleep).toBe(false);
    });

    it('does not begin a sleep whose signal has aborted before', async () => {
      const { clock } = make();
      expect(await clock.sleep(60_000, AbortSignal.abort())).toBe(false);
    });

    it('fires timers in the order of their time, equal ones in the order of their making', async () => {
      const { clock, pass } = make();
      const fired: string[] = [];
      clock.timer(30, () => fired.push('third'));
      clock.timer(5, () => fired.push('first'));
      clock.timer(5, () => fired.push('second'));
      await pass(80);
      expect(fired).toEqual(['first', 'second', 'third']);
    });

    it('never fires a cancelled timer, and takes a second cancel or a late one', async () => {
      const { clock, pass } = make();
      const fired: string[] = [];
      const cancelled = clock.timer(5, () => fired.push('cancelled'));
      const kept = clock.timer(5, () => fired.push('kept'));
      cancelled.cancel();
      cancelled.cancel();
      await pass(40);
      kept.cancel();
      expect(fired).toEqual(['kept']);
    });

    it('fires once, at once, for no time, negative time and no number', async () => {
      const { clock, pass } = make();
      let fired = 0;
      for (const ms of [0, -5, Number.NaN]) clock.timer(ms, () => fired++);
      await pass(20);
      expect(fired).toBe(3);
    });

    it('does not fire a timer beyond 2^31 ms at once', async () => {
      const { clock, pass } = make();
      let fired = false;
      const timer = clock.timer(2 ** 31 + 1_000, () => {
        fired = true;
      });
      const endless = clock.timer(Number.POSITIVE_INFINITY, () => {
        fired = true;
      });
      await pass(30);
      timer.cancel();
      endless.cancel();
      expect(fired).toBe(false);
    });

    it('lets a timer be made and cancelled while another fires', async () => {
      const { clock, pass } = make();
      const fired: string[] = [];
      const victim = clock.timer(12, () => fired.push('victim'));
      clock.timer(5, () => {
        victim.cancel();
        clock.timer(5, () => fired.push('child'));
      });
      await pass(60);
      expect(fired).toEqual(['child']);
    });
  });
}
