import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { onAbort } from '../../src/wire/on-abort.ts';

it('all who wait for one signal share a listener, which goes with the last of them', () => {
  const { signal } = new AbortController();
  const ends = [1, 2, 3].map(() => onAbort(signal, () => {}));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  ends[0]?.();
  ends[0]?.();
  ends[1]?.();
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  ends[2]?.();
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

it('an abort tells each who still waits, once, also whoever listens again', () => {
  const stop = new AbortController();
  const told: string[] = [];
  onAbort(stop.signal, () => told.push('gone'))();
  const second = { end: () => {} };
  onAbort(stop.signal, () => {
    told.push('first');
    second.end();
  });
  second.end = onAbort(stop.signal, () => told.push('second'));
  onAbort(stop.signal, () => told.push('third'));
  stop.abort();
  expect(told).toEqual(['first', 'third']);
});

it('without a signal nobody is told', () => {
  expect(() => onAbort(undefined, () => {})()).not.toThrow();
});
