import { describe, expect, it } from 'vitest';
import { makeStyle } from '../../../src/cli/style.ts';
import { render, taskTextLines } from '../../../src/cli/top/render.ts';
import { firstState, step, type TopState } from '../../../src/cli/top/state.ts';
import { widthOf } from '../../../src/cli/top/width.ts';
import { WORST } from '../../browser/texts.ts';
import { aTask, someNews } from './tasks.ts';

const wallMs = Date.parse('2026-01-01T00:03:05.000Z');
const around = { wallMs, url: 'http://127.0.0.1:7420', style: makeStyle(false) };
const draw = (state: TopState, columns = 100, rows = 24, style = makeStyle(false)) =>
  render(state, { ...around, columns, rows, style });
const keys = (state: TopState, ...all: string[]) =>
  all.reduce((now, key) => step(now, { kind: 'key', key, rows: 20 }).state, state);
const showing = (news = someNews()) => step(firstState, { kind: 'news', news }).state;
// What a style paints, and nothing else.
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is painted with
const unpainted = (line: string) => line.replace(/\u001b\[\d+m/g, '');

it('shows sections, counts and keys', () => {
  const failed = aTask({
    status: 'failed',
    attempts: 2,
    error: { code: 'SMTP_DOWN', message: 'no answer\nsecond line', retryable: false },
  });
  const queued = aTask({ waitingFor: '1 worker, full' });
  const state = {
    ...showing(someNews({ newest: [failed], queued: [queued] })),
    line: 'live' as const,
  };
  const lines = draw(state, 90, 9);
  expect(lines).toEqual([
    'Interlock tasks  http://127.0.0.1:7420                                                live',
    'project default · 2 waiting (oldest 1 min 5 s) · workers: 1 ready, 2 offline',
    'Needs a person (1)    submitted',
    '> failed demo/hello@1 3 min 5 s SMTP_DOWN: no answer',
    'Waiting (1)           submitted',
    '  queued demo/hello@1 3 min 5 s 1 worker, full',
    '',
    '',
    '↑↓ move  Enter open  / filter  c cancel  r run again  ? help  q quit',
  ]);
});

it('tells of what runs since when it runs', () => {
  const running = aTask({ status: 'running', startedAt: '2026-01-01T00:03:00.000Z' });
  const lines = draw(showing(someNews({ running: [running] })));
  expect(lines[2]).toBe('Running (1)              started');
  expect(lines[3]).toBe('> running demo/hello@1       5 s');
});

it('shows the last screen of a task at its end, not its last line alone', () => {
  const task = aTask({ status: 'failed' });
  const opened = step(keys(showing(someNews({ newest: [task] })), 'ENTER'), {
    kind: 'task',
    id: task.id,
    text: Array.from({ length: 50 }, (_, n) => `line ${n}`),
  }).state;
  const lines = draw(keys(opened, 'G'), 80, 23);
  expect(lines.slice(2, -1)).toEqual(Array.from({ length: 20 }, (_, n) => `line ${n + 30}`));
});

describe('whatever is in it', () => {
  const worst = WORST.map((text) =>
    aTask({
      type: 'a'.repeat(200),
      labels: { [text.slice(0, 200)]: text },
      status: 'failed',
      error: { code: 'X', message: text, retryable: false },
    }),
  );
  const news = someNews({
    newest: worst,
    queued: WORST.map((waitingFor) => aTask({ waitingFor, pool: 'p'.repeat(200) })),
    running: WORST.map((message) => aTask({ status: 'running', progress: { message } })),
  });
  const states: [string, TopState][] = [
    ['the list', showing(news)],
    ['the list in the middle', keys(showing(news), 'DOWN', 'DOWN', 'DOWN', 'DOWN', 'DOWN')],
    ['a filter', keys(showing(news), '/', ...WORST.join('').slice(0, 300))],
    ['a question', keys(showing(news), 'r')],
    ['trouble', { ...showing(news), trouble: WORST.join(' ') }],
    ['words', { ...showing(news), said: WORST.join(' ') }],
    ['help', keys(showing(news), '?')],
    ['nothing yet', firstState],
    [
      'a task',
      step(keys(showing(news), 'ENTER'), {
        kind: 'task',
        id: worst[0]?.id ?? '',
        text: taskTextLines([...WORST], 20),
      }).state,
    ],
  ];

  it.each(states)(
    '%s fills the screen, sticks out nowhere and holds nothing that acts',
    (_, state) => {
      for (const [columns, rows] of [
        [20, 3],
        [40, 24],
        [69, 10],
        [80, 24],
        [200, 60],
      ] as const)
        for (const colour of [false, true]) {
          const lines = draw(state, columns, rows, makeStyle(colour));
          expect(lines).toHaveLength(rows);
          for (const line of lines.map(unpainted)) {
            expect(widthOf(line), line).toBeLessThanOrEqual(columns);
            expect(line).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
          }
        }
    },
  );

  it.each([0, 1, 2])('stands on a screen of %i columns and rows', (size) => {
    for (const [, state] of states) expect(draw(state, size, size).length).toBeLessThan(4);
  });

  it('keeps the selected task in sight', () => {
    let state = showing(news);
    for (let at = 0; at < 20; at++) {
      expect(draw(state, 80, 8).filter((line) => line.startsWith('> '))).toHaveLength(1);
      state = keys(state, 'DOWN');
    }
  });
});

it('asks in words that tell what will happen, the question last', () => {
  const ask = (key: string, more: Parameters<typeof aTask>[0]) =>
    draw(keys(showing(someNews({ newest: [aTask(more)] })), key), 60, 5).at(-1);
  const error = { code: 'X', message: 'x', retryable: false, effect: 'begun' };
  expect(ask('c', { id: 'tsk_000abc' })).toBe('Cancel demo/hello@1 …000abc? [y/N] ');
  expect(ask('c', { status: 'running' })).toMatch(/^Ask demo\/hello@1 …\d+ to stop\? \[y\/N\] $/);
  expect(ask('r', { status: 'failed', error })).toMatch(
    /^Its effect may have happened: run .* again\? \[y\/N\] $/,
  );
});
