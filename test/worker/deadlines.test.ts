import { expect, it } from 'vitest';
import { SimulatedMachine } from '../../sim/machine.ts';
import { Deadlines } from '../../src/worker/deadlines.ts';
import { SimWorld } from './sim-rig.ts';

function made() {
  const { clock } = new SimulatedMachine();
  let armed = 0;
  const deadlines = new Deadlines({
    now: () => clock.now(),
    wall: () => clock.wall(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    timer: (ms, fire) => {
      armed++;
      return clock.timer(ms, fire);
    },
  });
  return { clock, deadlines, armed: () => armed };
}

it('calls each at its time, and none that was cancelled', async () => {
  const { clock, deadlines } = made();
  const called: string[] = [];
  const from = clock.now();
  const call = (name: string) => () => called.push(`${name} ${clock.now() - from}`);
  deadlines.after(100, call('a'));
  deadlines.after(30, call('b')).cancel();
  await clock.time.until(clock.sleep(50), 1_000);
  const last = deadlines.after(100, call('c'));
  deadlines.after(100, call('d'));
  await clock.time.until(clock.sleep(200), 1_000);
  last.cancel();
  expect(called).toEqual(['a 100', 'c 150', 'd 150']);
});

it('delays none by what is asked for while another is called', async () => {
  const { clock, deadlines, armed } = made();
  const called: string[] = [];
  const from = clock.now();
  const call = (name: string) => called.push(`${name} ${clock.now() - from}`);
  deadlines.after(100, () => {
    call('a');
    deadlines.after(100, () => call('again'));
  });
  await clock.time.until(clock.sleep(10), 1_000);
  deadlines.after(100, () => call('b'));
  await clock.time.until(clock.sleep(400), 1_000);
  expect(called).toEqual(['a 100', 'b 110', 'again 200']);
  expect(armed()).toBe(3);
});

it('calls nothing any more once it was stopped, also by one of the same moment', async () => {
  const { clock, deadlines } = made();
  const called: string[] = [];
  deadlines.after(100, () => {
    called.push('a');
    deadlines.stop();
  });
  deadlines.after(100, () => called.push('b'));
  await clock.time.until(clock.sleep(400), 1_000);
  expect(called).toEqual(['a']);
});

it('has one timer for a thousand that are cancelled', async () => {
  const { clock, deadlines, armed } = made();
  for (let n = 0; n < 1_000; n++) deadlines.after(1_000, () => {}).cancel();
  expect(armed()).toBe(1);
  await clock.time.until(clock.sleep(5_000), 10_000);
  expect(armed()).toBe(1);
});

it('calls those that are left where most were cancelled, before and while others are called', async () => {
  const { clock, deadlines } = made();
  const called: number[] = [];
  const all: { cancel(): void }[] = [];
  for (let n = 0; n < 300; n++)
    all.push(
      deadlines.after(100, () => {
        called.push(n);
        // As many as are left out together.
        if (n === 250) for (const one of all.slice(251, 299)) one.cancel();
      }),
    );
  for (const one of all.slice(0, 250)) one.cancel();
  all[0]?.cancel();
  await clock.time.until(clock.sleep(200), 1_000);
  expect(called).toEqual([250, 299]);
});

it('calls nothing after its stop', async () => {
  const { clock, deadlines } = made();
  deadlines.after(10, () => expect.fail('called'));
  deadlines.stop();
  await clock.time.until(clock.sleep(50), 1_000);
});

it('sends a lone report at once, and those that come while short work waits in few calls', async () => {
  const world = new SimWorld();
  const all = Array.from({ length: 200 }, () => world.transport.offer({ type: 'demo/hello' }));
  await world.start({ maxConcurrent: 2, scripts: { 'demo/hello': world.works(2) } });
  await world.until(() => all.every(({ ended }) => ended), 20_000);
  const { length } = world.transport.of('batch');
  expect(length).toBeLessThan(all.length / 2);
  const alone = world.transport.offer({ type: 'demo/hello' });
  world.transport.hint({ kind: 'wake', types: [] });
  await world.until(() => world.carrier.started.length === all.length + 1, 1_000);
  const before = world.now;
  await world.until(() => alone.ended !== undefined, 1_000);
  expect(world.now - before).toBeLessThan(10);
  world.check();
});
