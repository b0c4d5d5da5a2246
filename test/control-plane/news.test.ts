import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { Hub } from '../../src/control-plane/hub.ts';
import { WaitingClaims } from '../../src/control-plane/waiting-claims.ts';
import type { Note } from '../../src/ports/store.ts';

/** Waits for news of a task end by themselves, and touch no other wait. */

const clock = new SimulatedClock({ wallMs: 0 });
const hub = () => new Hub({ clock, wakeGapMs: 5, waiting: new WaitingClaims() });
const note: Note = { kind: 'task', project: 'p', taskId: 'tsk_1', seq: 2, status: 'succeeded' };
const reader = () => new AbortController();
async function isOver(over: Promise<void>): Promise<boolean> {
  return Promise.race([over.then(() => true), new Promise<false>((r) => setImmediate(r, false))]);
}

it('ends all waits at the news, and each of the others by its time, its reader or its own word', async () => {
  const of = hub();
  const gone = reader();
  const waits = [gone, reader(), reader()].map((one, i) =>
    of.news('tsk_1', i === 1 ? 10 : 1_000, [one.signal]),
  );
  gone.abort();
  expect(await isOver(waits[0]?.over as Promise<void>)).toBe(true);
  await clock.advance(10);
  expect(await isOver(waits[1]?.over as Promise<void>)).toBe(true);
  expect(await isOver(waits[2]?.over as Promise<void>)).toBe(false);
  of.take([note]);
  expect(await isOver(waits[2]?.over as Promise<void>)).toBe(true);
  const stopped = of.news('tsk_1', 1_000, [reader().signal]);
  stopped.stop();
  expect(await isOver(stopped.over)).toBe(true);
});

it('leaves those alone who have begun to wait since, when a wait that is over is stopped', async () => {
  const of = hub();
  const first = of.news('tsk_1', 1_000, [reader().signal]);
  of.take([note]);
  const second = of.news('tsk_1', 1_000, [reader().signal]);
  first.stop();
  expect(await isOver(second.over)).toBe(false);
  of.take([note]);
  expect(await isOver(second.over)).toBe(true);
});

it('ends a wait with the first of its signals, and leaves nothing with the other', async () => {
  const of = hub();
  for (const which of [0, 1]) {
    const both = [reader(), reader()];
    const { over } = of.news(
      'tsk_1',
      1_000,
      both.map(({ signal }) => signal),
    );
    both[which]?.abort();
    expect(await isOver(over)).toBe(true);
    for (const { signal } of both) expect(getEventListeners(signal, 'abort')).toEqual([]);
  }
});
