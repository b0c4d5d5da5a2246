import { describe, expect, it } from 'vitest';
import {
  type DrainState,
  onDeadline,
  onDrainWish,
  onSignal,
  working,
} from '../../src/core/drain.ts';

const signals = (state: DrainState, ...times: number[]) => times.reduce(onSignal, state).phase;

describe('signals', () => {
  it('drain, then stop the handlers, then end at once', () => {
    expect(signals(working, 0)).toBe('draining');
    expect(signals(working, 0, 1_000)).toBe('stopping');
    expect(signals(working, 0, 1_000, 2_000)).toBe('leaving');
    expect(signals(working, 0, 1_000, 2_000, 9_000)).toBe('leaving');
  });

  it('are one when they come within a second', () => {
    expect(signals(working, 0, 1, 500, 999)).toBe('draining');
    expect(signals(working, 0, 999, 1_000, 1_500)).toBe('stopping');
  });

  it('count from the first one also when it came at 0', () => {
    expect(signals(working, 0, 0)).toBe('draining');
  });
});

describe('a wish to drain', () => {
  it('goes no further than draining', () => {
    const wished = onDrainWish(working);
    expect(wished.phase).toBe('draining');
    expect(onDrainWish(wished)).toEqual(wished);
    const stopping = onSignal(onSignal(working, 0), 5_000);
    expect(onDrainWish(stopping)).toEqual(stopping);
  });

  it('does not make the first signal stop any handler', () => {
    expect(signals(onDrainWish(working), 10)).toBe('draining');
    expect(signals(onDrainWish(working), 10, 5_000)).toBe('stopping');
  });
});

describe('the deadline', () => {
  it('stops handlers, and does nothing unless the worker drains', () => {
    expect(onDeadline(onSignal(working, 0)).phase).toBe('stopping');
    expect(onDeadline(onDrainWish(working)).phase).toBe('stopping');
    expect(onDeadline(working)).toEqual(working);
    expect(onDeadline(onSignal(onSignal(working, 0), 5_000)).phase).toBe('stopping');
  });

  it('leaves the third signal the last word', () => {
    const stopping = onDeadline(onSignal(working, 0));
    expect(signals(stopping, 5_000)).toBe('stopping');
    expect(signals(stopping, 5_000, 9_000)).toBe('leaving');
  });
});
