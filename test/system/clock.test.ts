import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/system/clock.ts';
import { SuspendMeter } from '../../src/system/suspend-meter.ts';

/** A machine: `awake` stands still while it sleeps, uptime moves in steps. */
function machine(stepMs: number) {
  let awakeMs = 123_456.7;
  let uptimeMs = 9_876_543.2;
  const meter = new SuspendMeter();
  const read = () => meter.now(awakeMs, Math.floor(uptimeMs / stepMs) * (stepMs / 1_000));
  const run = (ms: number) => {
    awakeMs += ms;
    uptimeMs += ms;
    return read();
  };
  const sleep = (ms: number) => {
    uptimeMs += ms;
  };
  const setBack = (ms: number) => {
    uptimeMs -= ms;
  };
  read();
  return { read, run, sleep, setBack };
}

describe('time that includes suspend', () => {
  it('is exact while the machine is awake, whatever the steps of uptime', () => {
    const { read, run } = machine(10);
    const from = read();
    for (let i = 1; i <= 1_000; i++) expect(run(1.3) - from).toBeCloseTo(i * 1.3, 6);
  });

  it('notices a suspend at the next reading, to the step', () => {
    const { read, run, sleep } = machine(10);
    const from = read();
    run(40);
    sleep(3_600_000);
    expect(Math.abs(read() - from - 3_600_040)).toBeLessThanOrEqual(10);
  });

  it('adds up many short suspends', () => {
    const { read, run, sleep } = machine(10);
    const from = read();
    for (let i = 0; i < 20; i++) {
      sleep(500);
      run(100);
    }
    expect(Math.abs(read() - from - 12_000)).toBeLessThanOrEqual(200);
  });

  it('does not take steps of a whole second for sleep, but sees a real one', () => {
    const { read, run, sleep } = machine(1_000);
    const from = read();
    let now = from;
    for (let i = 0; i < 5_000; i++) now = run(7);
    expect(now - from).toBeCloseTo(35_000, 6);
    sleep(60_000);
    expect(Math.abs(read() - now - 60_000)).toBeLessThanOrEqual(1_000);
  });

  it('never goes back when uptime is set back, and sees the next suspend all the same', () => {
    const { read, run, sleep, setBack } = machine(10);
    const from = read();
    setBack(5_000);
    expect(read()).toBe(from);
    run(10);
    sleep(4_000);
    expect(Math.abs(read() - from - 4_010)).toBeLessThanOrEqual(10);
  });
});

describe('timers of the machine', () => {
  /** Real time and the readings of a machine that can sleep. */
  function sleeper() {
    let sleptMs = 0;
    const clock = systemClock(() => ({
      awakeMs: performance.now(),
      uptimeSeconds: (Math.floor((performance.now() + sleptMs) / 10) * 10 + 0.5) / 1_000,
    }));
    clock.now();
    return {
      clock,
      sleep: (ms: number) => {
        sleptMs += ms;
      },
    };
  }

  it('that came due in a suspend fire as soon as anybody looks at the clock', async () => {
    const { clock, sleep } = sleeper();
    const fired: string[] = [];
    const both = Promise.withResolvers<void>();
    const fire = (name: string) => () => {
      fired.push(name);
      if (fired.length === 2) both.resolve();
    };
    clock.timer(3_600_000, fire('far'));
    clock.timer(900, fire('near'));
    const from = performance.now();
    sleep(7_200_000);
    clock.now();
    await both.promise;
    expect(performance.now() - from).toBeLessThan(700);
    expect(fired.length).toBe(2);
  });

  it('fire within about a second of waking where nobody looks', async () => {
    const { clock, sleep } = sleeper();
    const fired = clock.sleep(3_600_000);
    sleep(7_200_000);
    const from = performance.now();
    expect(await fired).toBe(true);
    expect(performance.now() - from).toBeLessThan(2_500);
  });

  it('that were cancelled do not fire after a suspend', async () => {
    const { clock, sleep } = sleeper();
    let fired = 0;
    for (const ms of [500, 5_000])
      clock
        .timer(ms, () => {
          fired++;
        })
        .cancel();
    sleep(3_600_000);
    clock.now();
    await clock.sleep(20);
    expect(fired).toBe(0);
  });
});
