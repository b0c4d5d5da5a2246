/** Signals to a real worker: what it has is finished or given back, nothing new is taken, and it always ends. */
import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startFcp } from '../../src/fcp/fcp.ts';
import { until } from './processes.ts';
import { World } from './world.ts';

const IN_ORDER = { code: 0, signal: null };
const FORCED = { code: 84, signal: null };
/** Two signals within a second are one. */
const NEXT_SIGNAL_MS = 1_100;

it.concurrent('gives back what a claim brings after the signal, claims nothing more and ends with 0', async () => {
  await using world = new World();
  const fcp = await startFcp();
  try {
    const task = fcp.offer({ type: 'test/echo', input: 1 });
    fcp.on('claim', (_, ctl) => ctl.later(2_000), { times: 1 });
    const asked = fcp.next('claim');
    const worker = await world.worker({ url: fcp.url });
    await asked;
    await pause(1_000);
    worker.kill('SIGTERM');
    expect(await worker.ending()).toEqual(IN_ORDER);
    // Renewed while its answer was on its way; nothing of it was begun.
    const ops = task.reports().map(({ op }) => op);
    expect(ops.filter((op) => op !== 'renew')).toEqual(['release']);
    expect((await task.accepted('release')).body).toMatchObject({ reason: 'drain' });
    expect(fcp.requests('claim')).toHaveLength(1);
    expect(fcp.workers.get('worker')?.states.at(-1)).toBe('offline');
    expect(fcp.violations).toEqual([]);
  } finally {
    await fcp.stop();
  }
});

it.concurrent('F11 ends in time although handlers swallow the stop, one in a promise and one in a loop', async () => {
  await using world = new World();
  const fcp = await startFcp();
  try {
    const input = { began: world.path('began') };
    const wedged = { type: 'test/wedged' };
    const tasks = [
      fcp.offer({ ...wedged, input }),
      fcp.offer({ ...wedged, input: { ...input, loop: true } }),
    ];
    const options = { url: fcp.url, max: 2 };
    const limits = ['--drain-timeout', '3s', '--stop-grace', '1s'];
    const worker = await world.worker({ ...options, args: limits });
    await until(() => world.lines('began').length === 2, 'handlers');
    worker.kill('SIGTERM');
    const from = performance.now();
    expect(await worker.ending()).toEqual(IN_ORDER);
    const took = performance.now() - from;
    console.log(`F11: gone ${Math.round(took)} ms after SIGTERM (drain limit 3000 ms)`);
    // What it decided, however late a busy machine carries it out: the grace lies inside the drain's limit, and is ours.
    const told = worker.events('handler.stopping').map(({ msg }) => String(msg));
    expect(told).toHaveLength(2);
    for (const msg of told) {
      const seconds = Number(/is being stopped \(drain\); it has (\d+\.\d) s\./.exec(msg)?.[1]);
      expect(seconds, msg).toBeLessThanOrEqual(1);
    }
    expect(worker.events('handler.stuck')).toEqual([]);
    // Less than one that waits for the default grace (10 s) after its limit.
    expect(took).toBeLessThan(3_000 + 10_000);
    expect(worker.events('drain.begin')).toHaveLength(1);
    expect(worker.events('worker.drained')).toMatchObject([{ stopped: 2 }]);
    await world.worker(options);
    for (const task of tasks) {
      const { body } = await task.accepted('lost');
      expect(body).toMatchObject({ reason: 'drain', killed: true });
      expect(task.reports('lost')).toHaveLength(1);
    }
    expect(fcp.violations).toEqual([]);
  } finally {
    await fcp.stop();
  }
});

it.concurrent('finishes what runs, takes nothing new, says that it is offline and ends with 0', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const worker = await world.worker({ max: 2 });
  const input = { began: world.path('began'), until: world.path('go on') };
  const running = await world.producer.submit('test/wait', 1, input);
  await until(() => world.lines('began').length === 1, 'handler');
  worker.kill('SIGTERM');
  await worker.event('drain.begin');
  const late = await world.producer.submit('test/echo', 1, 'too late');
  const draining = await until(async () => {
    const { body } = await world.call('GET', '/workers/worker');
    return body.state === 'draining' && body;
  }, 'draining worker');
  expect(draining.words).toBe('draining: finishes 1 task, claims no more');
  writeFileSync(input.until, '');
  expect(await worker.ending()).toEqual(IN_ORDER);
  expect(await world.producer.get(running)).toMatchObject({
    status: 'succeeded',
    result: { waited: true },
    attempts: 1,
  });
  expect(await world.producer.get(late)).toMatchObject({ status: 'queued', undelivered: 0 });
  const { body } = await world.call('GET', '/workers/worker');
  expect(body).toMatchObject({ state: 'offline', spool: { pending: 0 } });
  expect(body.words).toMatch(/^offline: it said goodbye \d+ s ago$/);
});

it.concurrent('stops handlers on a second signal and keeps what they say', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const worker = await world.worker({ max: 2, args: ['--stop-grace', '500ms'] });
  const input = { began: world.path('began'), until: world.path('never') };
  const obedient = await world.producer.submit('test/wait', 1, { ...input, obeys: true });
  const deaf = await world.producer.submit('test/wait', 1, input);
  await until(() => world.lines('began').length === 2, 'handlers');
  worker.kill('SIGTERM');
  await worker.event('drain.begin');
  await pause(NEXT_SIGNAL_MS);
  worker.kill('SIGTERM');
  expect(await worker.ending()).toEqual(IN_ORDER);
  expect(worker.events('drain.stopping')).toHaveLength(1);
  expect(worker.events('worker.drained')).toMatchObject([{ stopped: 2, unsent: 0 }]);
  expect(await world.producer.get(obedient)).toMatchObject({
    status: 'succeeded',
    result: { stopped: 'drain' },
  });
  // Lost for a drain counts as undelivered, and another worker may have it at once.
  expect(await world.producer.get(deaf)).toMatchObject({ status: 'queued', undelivered: 1 });
  expect((await world.entry(deaf.id, 'lost')).data).toMatchObject({ reason: 'drain' });
});

it.concurrent('leaves at once on a third signal, with no host left, and the next start tells what was lost', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const worker = await world.worker();
  const input = { began: world.path('began'), loop: true };
  const task = await world.producer.submit('test/wedged', 1, input);
  await until(() => world.lines('began').length === 1, 'handler');
  worker.kill('SIGTERM');
  await worker.event('drain.begin');
  await pause(NEXT_SIGNAL_MS);
  worker.kill('SIGTERM');
  await worker.event('drain.stopping');
  await pause(NEXT_SIGNAL_MS);
  worker.kill('SIGTERM');
  const from = performance.now();
  expect(await worker.ending()).toEqual(FORCED);
  expect(performance.now() - from).toBeLessThan(5_000);
  await until(
    () => world.processes.left().every((pid) => pid === world.plane.pid),
    'end of the host',
    5_000,
  );
  await world.worker();
  const { data } = await world.entry(task.id, 'lost');
  expect(data.reason).toMatch(/^(worker-restarted|drain)$/);
});

it.concurrent('drains on Ctrl-C in a terminal, whose signal goes to the whole foreground group', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const worker = await world.worker({ group: true });
  const input = { began: world.path('began'), until: world.path('go on'), obeys: true };
  const task = await world.producer.submit('test/wait', 1, input);
  await until(() => world.lines('began').length === 1, 'handler');
  worker.killGroup('SIGINT');
  await worker.event('drain.begin');
  const host = Number(world.lines('began')[0]);
  expect(world.processes.left()).toContain(host);
  writeFileSync(input.until, '');
  expect(await worker.ending()).toEqual(IN_ORDER);
  expect(await world.producer.get(task)).toMatchObject({
    status: 'succeeded',
    result: { waited: true },
    attempts: 1,
  });
});
