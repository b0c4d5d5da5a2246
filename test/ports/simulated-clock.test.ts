import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import { SimulatedTime } from '../../sim/time.ts';

describe('simulated time', () => {
  it('takes no time for any number of hops through promises', async () => {
    const clock = new SimulatedClock();
    let hops = 0;
    void (async () => {
      for (; hops < 10_000; hops++) await Promise.resolve();
      await clock.sleep(5);
      hops = -1;
    })();
    await clock.advance(4);
    expect(hops).toBe(10_000);
    await clock.advance(1);
    expect(hops).toBe(-1);
  });

  it('wakes sleepers in their order, each before the next one’s time', async () => {
    const clock = new SimulatedClock({ startMs: 0 });
    const woke: number[] = [];
    for (const ms of [30, 10, 20]) {
      void clock.sleep(ms).then(async () => {
        await Promise.resolve();
        woke.push(ms, clock.now());
      });
    }
    await clock.advance(100);
    expect(woke).toEqual([10, 10, 20, 20, 30, 30]);
    expect(clock.now()).toBe(100);
  });

  it('goes on at what sleepers begin on the way', async () => {
    const clock = new SimulatedClock({ startMs: 0 });
    const rings: number[] = [];
    void (async () => {
      while (rings.length < 5) {
        await clock.sleep(10);
        rings.push(clock.now());
      }
    })();
    await clock.advance(35);
    expect(rings).toEqual([10, 20, 30]);
  });

  it('moves on until a promise has settled, and says when it cannot', async () => {
    const clock = new SimulatedClock();
    expect(await clock.time.until(clock.sleep(86_000_000), 90_000_000)).toBe(true);
    await expect(clock.time.until(new Promise(() => {}))).rejects.toThrow('Nothing is due');
    await expect(clock.time.until(clock.sleep(1_000), 500)).rejects.toThrow('within 500');
  });

  it('keeps the order of thousands of timers', async () => {
    const time = new SimulatedTime();
    const random = new SimulatedRandom(3);
    const due = Array.from({ length: 2_000 }, () => random.below(500));
    const fired: number[] = [];
    for (const [i, ms] of due.entries()) {
      const timer = time.at(ms, () => fired.push(i));
      if (i % 7 === 0) timer.cancel();
    }
    await time.advance(1_000);
    const kept = [...due.keys()].filter((i) => i % 7 !== 0);
    expect(fired).toEqual(kept.sort((a, b) => due[a]! - due[b]! || a - b));
  });
});

describe('simulated clock', () => {
  it('sets the wall without moving now', async () => {
    const clock = new SimulatedClock();
    const now = clock.now();
    const wall = clock.wall();
    clock.jumpWall(-3_600_000);
    expect(clock.now()).toBe(now);
    expect(clock.wall()).toBe(wall - 3_600_000);
  });

  it('counts suspended time, fires what became due only after it, and lets other machines go on', async () => {
    const time = new SimulatedTime();
    const laptop = new SimulatedClock({ time, startMs: 0 });
    const server = new SimulatedClock({ time, startMs: 0 });
    const fired: string[] = [];
    laptop.timer(100, () => fired.push(`laptop at ${laptop.now()}`));
    server.timer(100, () => fired.push(`server at ${server.now()}`));
    laptop.suspend(60_000);
    await time.advance(50_000);
    expect(fired).toEqual(['server at 100']);
    await time.advance(20_000);
    expect(fired).toEqual(['server at 100', 'laptop at 60000']);
  });

  it('drifts', async () => {
    const time = new SimulatedTime();
    const fast = new SimulatedClock({ time, startMs: 0, rate: 1.5 });
    const slow = new SimulatedClock({ time, startMs: 0, rate: 0.5 });
    const woke: string[] = [];
    void slow.sleep(100).then(() => woke.push(`slow at ${time.nowMs}`));
    void fast.sleep(150).then(() => woke.push(`fast at ${time.nowMs}`));
    await time.advance(1_000);
    expect(woke).toEqual(['fast at 100', 'slow at 200']);
    expect([fast.now(), slow.now()]).toEqual([1_500, 500]);
  });
});

describe('simulated random', () => {
  it('repeats itself for a seed, and differs for another', () => {
    const draw = (seed: number | string) => {
      const random = new SimulatedRandom(seed);
      return [random.fraction(), ...random.bytes(8), random.below(1_000)];
    };
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
    expect(draw('a')).not.toEqual(draw('b'));
  });

  it('is spread evenly enough', () => {
    const random = new SimulatedRandom(1);
    const counts = new Array(10).fill(0);
    for (let i = 0; i < 100_000; i++) counts[random.below(10)]++;
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
  });

  it('gives a part of the world chance of its own', () => {
    const draw = (alsoDrawn: number) => {
      const part = new SimulatedRandom(5).fork('disk');
      for (let i = 0; i < alsoDrawn; i++) part.fraction();
      const other = new SimulatedRandom(5);
      other.fork('disk');
      return other.fork('net').fraction();
    };
    expect(draw(0)).toBe(draw(100));
  });
});
