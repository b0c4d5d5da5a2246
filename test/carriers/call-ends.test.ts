import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { CallEnds } from '../../src/carriers/call-ends.ts';
import { isStranger } from '../../src/carriers/kin.ts';
import { NewProcesses } from '../../src/carriers/new-processes.ts';
import { SameWait } from '../../src/carriers/same-wait.ts';
import { ID_VARIABLE } from '../../src/handler/protocol.ts';
import type { Clock } from '../../src/ports/clock.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A clock that is moved by hand, and counts the timers that were set. */
function handClock() {
  const timers = new Set<{ at: number; fire: () => void }>();
  const clock = {
    at: 0,
    set: 0,
    now: () => clock.at,
    timer: (ms: number, fire: () => void) => {
      clock.set++;
      const timer = { at: clock.at + ms, fire };
      timers.add(timer);
      return { cancel: () => timers.delete(timer) };
    },
    armed: () => timers.size,
    move: (ms: number) => {
      clock.at += ms;
      for (const timer of timers) if (timer.at <= clock.at && timers.delete(timer)) timer.fire();
    },
  };
  return clock;
}

it('looks once for all calls that end together, and again for one that comes a turn later', async () => {
  let looks = 0;
  const ends = new CallEnds({ look: () => ({ last: ++looks, at: 0 }) } as NewProcesses);
  const together = [ends.next(), ends.next(), ends.next()];
  await turn();
  const later = ends.next();
  expect(await Promise.all(together)).toEqual([1, 1, 1].map((last) => ({ last, at: 0 })));
  expect(await later).toEqual({ last: 2, at: 0 });
});

it('sets one timer for many that wait, and tells those who are still there in their time', () => {
  const clock = handClock();
  const due: string[] = [];
  const waits = new SameWait<string>(clock as unknown as Clock, 100, (item) => due.push(item));
  for (let i = 0; i < 50; i++) {
    waits.add(`quick ${i}`);
    waits.delete(`quick ${i}`);
  }
  waits.add('first');
  clock.move(40);
  waits.add('second');
  expect(clock.set).toBe(1);
  clock.move(60);
  expect(due).toEqual(['first']);
  clock.move(39);
  expect(due).toEqual(['first']);
  clock.move(1);
  expect(due).toEqual(['first', 'second']);
  expect([waits.size, clock.armed()]).toEqual([0, 0]);
});

it('lets one that comes again wait its whole time again, and nobody after the close', () => {
  const clock = handClock();
  const due: string[] = [];
  const waits = new SameWait<string>(clock as unknown as Clock, 100, (item) => due.push(item));
  waits.add('again');
  waits.add('other');
  clock.move(50);
  waits.add('again');
  expect([...waits.items()]).toEqual(['other', 'again']);
  clock.move(50);
  expect(due).toEqual(['other']);
  waits.close();
  clock.move(1_000);
  expect([due, clock.armed()]).toEqual([['other'], 0]);
});

it.skipIf(process.platform !== 'linux')(
  'takes a mark of just before instead of a new look, and never one of later',
  () => {
    const clock = handClock();
    const processes = new NewProcesses(clock as unknown as Clock);
    const look = processes.look();
    execFileSync('true');
    expect(processes.mark()).toBe(look);
    clock.at += 10;
    const next = processes.mark();
    expect(next).not.toBe(look);
    if (look.last !== undefined) expect(next.last).toBeGreaterThan(look.last);
    processes.close();
  },
);

it.skipIf(process.platform !== 'linux')('knows a process that has to do with no host', async () => {
  const started = (env: Record<string, string>, detached: boolean) =>
    spawn(process.execPath, ['-e', 'process.stdin.resume(); console.log(1)'], { env, detached });
  const stranger = started({ A: 'b' }, true);
  const host = started({ [ID_VARIABLE]: 'm/1' }, true);
  await Promise.all([stranger, host].map(({ stdout }) => once(stdout, 'data')));
  expect(isStranger(stranger.pid as number)).toBe(true);
  expect(isStranger(host.pid as number)).toBe(false);
  const exits = [stranger, host].map((one) => once(one, 'exit'));
  for (const one of [stranger, host]) one.stdin.end();
  await Promise.all(exits);
  expect(isStranger(stranger.pid as number)).toBe(false);
});
