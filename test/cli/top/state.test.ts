import { describe, expect, it } from 'vitest';
import {
  firstState,
  shownTasks,
  step,
  type TopEffect,
  type TopEvent,
  type TopState,
} from '../../../src/cli/top/state.ts';
import { sections, titleWords } from '../../../src/cli/top/view.ts';
import { topDefaults } from '../../../src/core/top-defaults.ts';
import { aTask, someNews } from './tasks.ts';

/** The state after these keys and events, and what they asked for. */
function played(state: TopState, ...events: (string | TopEvent)[]) {
  const effects: TopEffect[] = [];
  for (const event of events) {
    const given =
      typeof event === 'string' ? { kind: 'key' as const, key: event, rows: 10 } : event;
    const stepped = step(state, given);
    state = stepped.state;
    effects.push(...stepped.effects);
  }
  return { state, effects };
}
const withNews = (news = someNews()) => played(firstState, { kind: 'news', news }).state;
const error = { code: 'SMTP', message: 'no', retryable: false };

const unknown = aTask({ status: 'outcome-unknown' });
const failed = aTask({ status: 'failed', error });
const ended = '2025-12-30T23:59:59.000Z';
const longAgo = aTask({ status: 'failed', error, finishedAt: ended });
const settled = aTask({ status: 'failed', error: { ...error, code: 'RESOLVED_FAILED' } });
const unserved = aTask({ waitingFor: 'no worker for demo/hello@1 in pool default' });
const running = aTask({ status: 'running', worker: 'garage' });
const queued = aTask({ waitingFor: '1 worker, full' });
const done = aTask({ status: 'succeeded', type: 'mail/send', labels: { customer: '4711' } });
const news = someNews({
  attention: [unknown],
  running: [running],
  queued: [queued, unserved],
  newest: [done, queued, running, failed, unknown],
});

it('shows what needs a person first, then what runs, waits and has ended, each task once', () => {
  expect(sections(news, '').map(({ title, tasks }) => [title, tasks.map(({ id }) => id)])).toEqual([
    ['Needs a person', [unknown.id, unserved.id, failed.id]],
    ['Running', [running.id]],
    ['Waiting', [queued.id]],
    ['Ended', [done.id]],
  ]);
});

it('leaves a failure of the day before, and one that somebody has resolved, with what has ended', () => {
  const two = someNews({ newest: [longAgo, settled] });
  expect(sections(two, '').map(({ title, tasks }) => [title, tasks.length])).toEqual([
    ['Ended', 2],
  ]);
});

it('tells failures that a hundred newer successes cover, and where there may be more than came', () => {
  const { failed: most } = topDefaults;
  const successes = Array.from({ length: topDefaults.newest }, () =>
    aTask({ status: 'succeeded' }),
  );
  const failures = Array.from({ length: most }, () => aTask({ status: 'failed', error }));
  const titles = (more: Parameters<typeof someNews>[0]) =>
    sections(someNews(more), '').map(titleWords);
  expect(titles({ failed: failures.slice(1), newest: successes.slice(1) })).toEqual([
    `Needs a person (${most - 1})`,
    `Ended (${topDefaults.newest - 1})`,
  ]);
  expect(titles({ failed: failures, newest: successes })).toEqual([
    `Needs a person (${most} or more)`,
    `Ended (${topDefaults.newest} or more)`,
  ]);
  // All before the last of them are older still, and stand no longer.
  expect(titles({ failed: [...failures.slice(1), longAgo] })[0]).toBe(
    `Needs a person (${most - 1})`,
  );
});

describe('the selected task', () => {
  it('moves by keys and stays within the list', () => {
    const { state } = played(withNews(news), 'DOWN', 'j', 'k', 'UP', 'UP');
    expect(state.selected).toBe(unknown.id);
    expect(played(state, 'G').state.selected).toBe(done.id);
    expect(played(state, 'G', 'DOWN', 'PAGE-DOWN', 'g').state.selected).toBe(unknown.id);
  });

  it('stays selected when others come before it, and its place is taken when it goes', () => {
    const { state } = played(withNews(news), 'DOWN', 'DOWN', 'DOWN');
    expect(state.selected).toBe(running.id);
    const more = { ...news, attention: [aTask({ status: 'outcome-unknown' }), unknown] };
    const moved = played(state, { kind: 'news', news: more }).state;
    expect(moved).toMatchObject({ selected: running.id, place: 4 });
    const less = { ...news, running: [], newest: [done] };
    expect(played(moved, { kind: 'news', news: less }).state.selected).toBe(done.id);
    expect(played(moved, { kind: 'news', news: someNews() }).state.selected).toBeUndefined();
  });
});

describe('a filter', () => {
  it('keeps tasks that hold all its words, in any case, while it is typed', () => {
    const shown = (words: string) =>
      shownTasks(played(withNews(news), '/', ...words).state).map(({ id }) => id);
    expect(shown('MAIL/send')).toEqual([done.id]);
    expect(shown('customer=4711 succ')).toEqual([done.id]);
    expect(shown('garage')).toEqual([running.id]);
    expect(shown('nothing holds this')).toEqual([]);
  });

  it('is kept by Enter, taken back by Escape, and taken away by another one', () => {
    const { state } = played(withNews(news), '/', ...'mail', 'BACKSPACE', 'ENTER');
    expect(state).toMatchObject({ filter: 'mai', mode: { kind: 'list' } });
    expect(played(state, '/', 'CTRL-U', 'x', 'ESCAPE').state.filter).toBe('mai');
    expect(played(state, 'ESCAPE').state.filter).toBe('');
    // Keys that act are letters of it.
    expect(played(state, '/', 'c', 'q').effects).toEqual([]);
  });
});

describe('an action', () => {
  const on = (task: typeof failed) => withNews(someNews({ newest: [task] }));

  it('asks first, and only a y does it', () => {
    const asked = played(on(failed), 'r');
    expect(asked).toMatchObject({ state: { mode: { kind: 'ask', action: 'retry' } }, effects: [] });
    expect(played(asked.state, 'y').effects).toEqual([{ kind: 'retry', task: failed }]);
    for (const key of ['n', 'ENTER', 'ESCAPE', 'q', ' '])
      expect(played(asked.state, key)).toMatchObject({
        effects: [],
        state: { mode: { kind: 'list' }, said: 'Nothing was done.' },
      });
  });

  it('cancels what waits or runs, and says of all else why not', () => {
    expect(played(on(queued), 'c', 'y').effects).toEqual([{ kind: 'cancel', task: queued }]);
    expect(played(on(done), 'c', 'y').effects).toEqual([]);
    expect(played(on(done), 'c').state.said).toBe(
      'It has ended (succeeded); only what waits or runs can be cancelled.',
    );
    expect(played(on(unknown), 'r').state.said).toContain(`tasks resolve ${unknown.id}`);
    expect(played(on(running), 'r').state.said).toContain('only what failed');
  });

  it('is not done to a task that is something else than when it was asked', () => {
    const begun = someNews({ newest: [{ ...queued, status: 'running' }] });
    const { state, effects } = played(on(queued), 'c', { kind: 'news', news: begun }, 'y');
    expect(effects).toEqual([]);
    expect(state.said).toBe(
      'It was queued when you were asked and is running now: nothing was done.',
    );
  });

  it('is bound to the task that was asked about, whatever comes meanwhile', () => {
    const { state } = played(on(failed), 'r', { kind: 'news', news });
    expect(played(state, 'y').effects).toEqual([{ kind: 'retry', task: failed }]);
  });
});

it('opens a task, reads it again with the news, and goes back', () => {
  const opened = played(withNews(news), 'ENTER');
  expect(opened.effects).toEqual([{ kind: 'open', id: unknown.id }]);
  const text = Array.from({ length: 12 }, (_, n) => `line ${n}`);
  const read = played(opened.state, { kind: 'task', id: unknown.id, text }, 'DOWN', 'DOWN', 'DOWN');
  expect(read.state.mode).toMatchObject({ text, top: 2 });
  expect(played(read.state, { kind: 'task', id: 'tsk_other', text: [] }).state.mode).toMatchObject({
    text,
  });
  expect(played(read.state, { kind: 'news', news }).effects).toEqual(opened.effects);
  expect(played(read.state, 'q')).toMatchObject({ state: { mode: { kind: 'list' } }, effects: [] });
});

it('is left by q and, wherever somebody is, by Ctrl-C', () => {
  expect(played(withNews(news), 'q').effects).toEqual([{ kind: 'quit' }]);
  for (const keys of [[], ['/'], ['ENTER'], ['?'], ['c']])
    expect(played(withNews(news), ...keys, 'CTRL-C').effects).toContainEqual({ kind: 'quit' });
});

it('tells why there are no news until there are some again', () => {
  const { state } = played(withNews(news), { kind: 'trouble', words: 'Nobody answers.' });
  expect(state.trouble).toBe('Nobody answers.');
  expect(played(state, { kind: 'news', news }).state.trouble).toBeUndefined();
});
