import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { PATIENT_SLICE_MS, systemClock } from '../../src/system/clock.ts';
import { SuspendMeter } from '../../src/system/suspend-meter.ts';

/** A machine: `awake` stands still while it sleeps, uptime moves in steps. */
function machine(stepMs: number, firstWaits: number[] = []) {
  let awakeMs = 123_456.7;
  let uptimeMs = 9_876_543.2;
  let wallMs = 1_700_000_000_000;
  let looks = 0;
  let waits = firstWaits;
  const meter = new SuspendMeter({
    awakeMs: () => awakeMs,
    wallMs: () => Math.floor(wallMs),
    uptimeSeconds: () => {
      looks++;
      pass(waits.shift() ?? 0);
      const told = Math.floor(uptimeMs / stepMs) * (stepMs / 1_000);
      pass(waits.shift() ?? 0);
      return told;
    },
  });
  const pass = (ms: number) => {
    awakeMs += ms;
    uptimeMs += ms;
    wallMs += ms;
  };
  const read = () => meter.now();
  const run = (ms: number) => {
    pass(ms);
    return read();
  };
  const sleep = (ms: number) => {
    uptimeMs += ms;
    wallMs += ms;
  };
  /** Somebody sets what the machine tells. */
  const set = (what: 'wall' | 'uptime', byMs: number) => {
    if (what === 'wall') wallMs += byMs;
    else uptimeMs += byMs;
  };
  /** The process does not get the processor before and after uptime is told. */
  const wait = (...ms: number[]) => {
    waits = ms;
  };
  read();
  return { read, run, sleep, set, wait, looks: () => looks };
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
    const { read, run, sleep, set } = machine(10);
    const from = read();
    set('uptime', -5_000);
    expect(run(1_000)).toBe(from + 1_000);
    sleep(4_000);
    expect(Math.abs(read() - from - 5_000)).toBeLessThanOrEqual(10);
  });

  it('reads uptime once a second while nothing is strange', () => {
    const { run, looks } = machine(10);
    for (let i = 0; i < 10_000; i++) run(1);
    expect(looks()).toBe(11);
  });

  it.each([3_600_000, -3_600_000, 60, -60])(
    'moves by nothing when the wall clock is set by %i ms, and looks once more',
    (byMs) => {
      const { read, run, set, looks } = machine(10);
      const from = read();
      set('wall', byMs);
      for (let i = 1; i <= 100; i++) expect(run(1) - from).toBeCloseTo(i, 6);
      expect(looks()).toBe(2);
    },
  );

  it('follows a wall clock that is slewed without another look', () => {
    const { run, set, looks } = machine(10);
    for (let i = 0; i < 100_000; i++) {
      set('wall', 0.0005);
      run(1);
    }
    expect(looks()).toBeLessThanOrEqual(101);
  });

  it('sees within a second a suspend that the wall clock hides', () => {
    const { read, run, sleep, set } = machine(10);
    const from = read();
    sleep(60_000);
    set('wall', -60_000);
    for (let i = 0; i < 10; i++) run(100);
    expect(Math.abs(read() - from - 61_000)).toBeLessThanOrEqual(10);
  });

  it('takes no wait for the processor for sleep, on either side of a reading', () => {
    const { read, run, wait } = machine(10, [3_000, 3_000]);
    const from = read();
    run(1_000);
    for (const waits of [
      [3_000, 0],
      [0, 3_000],
      [1_500, 1_500],
    ]) {
      wait(...waits);
      run(1_000);
    }
    run(1_000);
    expect(read() - from).toBeCloseTo(14_000, 6);
  });
});

describe('timers of the machine', () => {
  /** Real time and the readings of a machine that can sleep. */
  function sleeper() {
    let sleptMs = 0;
    const clock = systemClock({
      awakeMs: () => performance.now(),
      wallMs: () => Date.now() + sleptMs,
      uptimeSeconds: () => (Math.floor((performance.now() + sleptMs) / 10) * 10 + 0.5) / 1_000,
    });
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

describe('looks for a sleep', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A clock on time that is told, and how often it has looked. */
  function told() {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    let sleptMs = 0;
    let looks = 0;
    const clock = systemClock({
      awakeMs: () => performance.now(),
      wallMs: () => performance.now() + sleptMs,
      uptimeSeconds: () => {
        looks++;
        return (Math.floor((performance.now() + sleptMs) / 10) * 10 + 0.5) / 1_000;
      },
    });
    const pass = (ms: number) => {
      looks = 0;
      vi.advanceTimersByTime(ms);
      return looks;
    };
    const sleep = (ms: number) => {
      sleptMs += ms;
    };
    return { clock, pass, sleep };
  }

  it('once a second, and every five or six where all that wait are patient', () => {
    const { clock, pass } = told();
    clock.timer(3_600_000, () => {}, 'patient');
    expect(pass(60_000)).toBe(10);
    const lease = clock.timer(3_600_000, () => {});
    expect(pass(60_000)).toBeGreaterThanOrEqual(59);
    lease.cancel();
    pass(1_000);
    expect(pass(60_000)).toBeLessThanOrEqual(11);
  });

  it('once a second for what is set after a sleep too', async () => {
    const { clock, pass, sleep } = told();
    clock.timer(7_200_000, () => {}, 'patient');
    sleep(3_600_000);
    let fired = false;
    clock.timer(1_800_000, () => {
      fired = true;
    });
    // Whoever sees a sleep first has all timers placed anew in the next turn.
    await new Promise(setImmediate);
    sleep(1_800_000);
    pass(1_100);
    expect(fired).toBe(true);
  });

  it('together with what wakes the process anyway, where that is soon', () => {
    const { clock, pass } = told();
    clock.timer(3_600_000, () => {}, 'patient');
    const again = () => clock.timer(5_000, again, 'patient');
    again();
    expect(pass(60_000)).toBe(12);
    expect(vi.getTimerCount()).toBe(2);
  });

  it('together with it also where both began at different times', () => {
    const { clock, pass } = told();
    clock.timer(3_600_000, () => {}, 'patient');
    pass(2_500);
    const again = () => clock.timer(5_000, again, 'patient');
    again();
    pass(10_000);
    expect(pass(60_000)).toBe(12);
  });

  it('sees a sleep within six seconds where all that wait are patient', () => {
    const { clock, pass, sleep } = told();
    let fired = false;
    clock.timer(
      3_600_000,
      () => {
        fired = true;
      },
      'patient',
    );
    pass(1_000);
    sleep(7_200_000);
    pass(5_600);
    expect(fired).toBe(true);
  });
});

it('is told by docs/operations.md how late a sleep is noticed', () => {
  const said = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8');
  const words = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven'];
  const bound = words[Math.ceil(PATIENT_SLICE_MS / 1_000)];
  expect(said.replace(/\s+/g, ' ')).toContain(
    `noticed within a second, within ${bound} where nothing is held`,
  );
});
