import { beforeEach, expect, it } from 'vitest';
import type { WorkerView } from '../../src/contract/index.ts';
import { historyDefaults } from '../../src/core/history-defaults.ts';
import { pageDefaults } from '../../src/core/page-defaults.ts';
import { history } from '../../src/core/type-history.ts';
import { quiet, typeSight, typesList, typesPart } from '../../src/pages/types-list.ts';
import { Garage, SCRIPT, textOf } from './garage.ts';

let garage: Garage;
beforeEach(async () => {
  garage = await Garage.open();
});
const page = async (path: string) => {
  const shown = await garage.visitor.get(path);
  return { ...shown, words: textOf(shown.text) };
};

it('say how to begin where nothing is known', async () => {
  expect((await page('/task-types')).words).toContain('No type is known yet');
});

it('tell what waits, slots by worker, and what ended with its times', async () => {
  await garage.present('attic');
  await garage.present('garage', { slots: { max: 4, busy: 0 } });
  await garage.run('garage', { waitMs: 2_000, runMs: 30_000 });
  await garage.run('garage', { waitMs: 4_000, runMs: 1_000, fails: true });
  await garage.present('garage', { slots: { max: 4, busy: 0 } });
  await garage.present('attic');
  await garage.world.submit();
  const { text, words } = await page('/task-types');
  expect(words).toContain('demo/hello@1 1 oldest 0 ms 0 6: attic 2, garage 4');
  expect(words).toContain('2 ended, 1 failed or lost (50 %), at most 2 in 1 min');
  expect(words).toContain('half within 2 s, 95 % within 4 s');
  expect(words).toContain('half within 1 s, 95 % within 30 s');
  expect(text).toMatch(
    /<svg class="chart outcomes" role="img" aria-label="Ended attempts, one bar for each 1 min of the last 1 h: 2 ended/,
  );
  expect(textOf(text)).toMatch(/2 in 1 min −1 h now 2 ended.* 4 s −1 h now half within 2 s/);
  expect(text).not.toContain('style=');
});

it('put first what nobody serves, and say what comes near', async () => {
  await garage.present('attic');
  await garage.world.submit();
  await garage.world.submit({ type: 'demo/Hello' });
  const { words, text } = await page('/task-types');
  expect(words.indexOf('demo/Hello@1')).toBeLessThan(words.indexOf('demo/hello@1 '));
  expect(words).toContain(
    '1 task waits and no worker that is online serves demo/Hello@1; served in another case: demo/hello@1',
  );
  expect(words).toContain('Task types ✕ 1 type needs somebody.');
  expect(text).toContain('class="row-bad"');
});

it('and the tasks say why the worker that has its file does not serve it, with one full stop', async () => {
  const why = 'my/slow@1.mjs: it throws. Then send SIGHUP, or start again.';
  const file = { file: 'my/slow@1.mjs', type: 'my/slow', schemaVersion: 1, why };
  const since = '2026-01-01T00:00:00.000Z';
  await garage.present('attic', { unservedHandlers: [{ ...file, since }] });
  const quietPage = await page('/task-type?type=my%2Fslow&schemaVersion=1');
  expect(quietPage.words).toContain(`waits or runs: attic does not serve it: ${why.slice(0, -1)}`);
  await garage.world.submit({ type: 'my/slow' });
  const said = `attic does not serve it: ${why}`;
  const pages = ['/task-types', '/task-type?type=my%2Fslow&schemaVersion=1', '/tasks'];
  for (const at of pages) {
    const { words } = await page(at);
    expect(words).toContain(said);
    expect(words).not.toContain('again..');
  }
});

it('warn where workers disagree about effect safety', async () => {
  await garage.present('attic');
  await garage.present('garage', {
    handlers: [{ type: 'demo/hello', schemaVersion: 1, effectSafety: 'idempotent' }],
  });
  const { words } = await page('/task-type?type=demo%2Fhello&schemaVersion=1');
  expect(words).toContain(
    'Its workers disagree about its effect safety: pure (attic), idempotent (garage).',
  );
  expect(words).toContain('deploy the same code to all of them');
});

it('have a page each: numbers as a table, workers, input schema', async () => {
  const handlers = [
    {
      type: 'demo/hello',
      schemaVersion: 1,
      effectSafety: 'pure',
      inputSchema: { type: 'object', description: SCRIPT },
    },
  ];
  await garage.present('garage', { handlers });
  await garage.run('garage', { waitMs: 2_000, runMs: 30_000 });
  await garage.present('garage', { handlers });
  const { status, text, words } = await page('/task-type?type=demo/hello&schemaVersion=1');
  expect(status).toBe(200);
  expect(words).toContain('00:00 1 0 0 2 s, 2 s 30 s, 30 s');
  expect(words).toContain('garage ready: 0 of 2 slots are working 0 of 2 pure default');
  expect(text).toContain('href="/submit?type=demo%2Fhello&amp;schemaVersion=1"');
  expect(text).not.toContain('<script>alert');
  expect(text).not.toContain('<img');
});

it('have a page also while nothing is known of them, and none for what is no type', async () => {
  const { status, words } = await page('/task-type?type=demo/none&schemaVersion=3');
  expect(status).toBe(200);
  expect(words).toContain('demo/none@3');
  expect(words).toContain('No worker that is online serves it.');
  for (const path of ['/task-type', '/task-type?type=a%20b', '/task-type?type=a&schemaVersion=x'])
    expect((await page(path)).status).toBe(404);
});

it('look back on a day, by an address that can be shared', async () => {
  await garage.present('garage');
  await garage.run('garage', { waitMs: 2_000, runMs: 30_000 });
  await garage.world.clock.advance(2 * 3_600_000);
  expect((await page('/task-types')).words).toContain('No type is known yet');
  const { words, text } = await page('/task-types?span=24h');
  expect(words).toContain('1 ended, none failed or lost, at most 1 in 30 min');
  expect(words).toContain('none');
  expect(text).toContain('<a href="/task-types?span=24h" aria-current="true">Last 24 hours</a>');
});

it('read a history once for all who look within some seconds', async () => {
  await garage.present('garage');
  let reads = 0;
  const { store } = garage.world;
  const read = store.attemptsSince;
  store.attemptsSince = (...given) => {
    reads++;
    return read.apply(store, given);
  };
  await Promise.all([page('/task-types'), page('/task-types'), page('/task-type?type=demo/hello')]);
  expect(reads).toBe(1);
  await garage.world.clock.advance(10_000);
  await page('/task-types');
  expect(reads).toBe(2);
});

it('cost little and stay small where a producer has made thousands of them', () => {
  // They differ in the last letters only: the worst for who compares them.
  const named = (word: string, i: number) =>
    `${'a'.repeat(180)}${word}${String(i).padStart(5, '0')}`;
  const handlers = Array.from({ length: 300 }, (_, i) => ({
    type: named('served', i),
    schemaVersion: 1,
    effectSafety: 'pure',
    effectGate: 'start',
  }));
  const workers = ['w1', 'w2'].map(
    (workerId) =>
      ({
        workerId,
        state: 'ready',
        words: 'ready',
        handlers,
        pools: ['default'],
        slots: { max: 1, busy: 0 },
      }) as unknown as WorkerView,
  );
  const served = handlers.map((one) => ({ ...quiet(one), workers: ['w1', 'w2'] }));
  const queued = Array.from({ length: 1_500 }, (_, i) => ({
    ...quiet({ type: named('queued', i), schemaVersion: 1 }),
    queued: 1,
  }));
  const types = [...served, ...queued];
  const span = '1h';
  const seen = {
    types,
    workers,
    groups: [],
    history: history(0, historyDefaults.spans[span], { rows: [], every: 1 }),
    span,
  } as const;
  const tally = { pairs: 0 };
  const url = new URL('http://pages.invalid/task-types');
  const { part, sights } = typesPart(seen, url, tally);
  expect(part.rows).toHaveLength(pageDefaults.typeRows);
  expect(part.cursor).toBe(String(pageDefaults.typeRows));
  expect(sights).toHaveLength(1_800);
  // A band of five letters of each name, for each row: all of all would be some 16,000 million.
  expect(tally.pairs).toBeLessThan(pageDefaults.typeRows * 300 * 191 * 5);
  expect(
    typesList({ part, sights, history: seen.history, span, url }).toString().length,
  ).toBeLessThan(100_000);
  const last = typesPart(seen, new URL('?cursor=1750', url));
  expect(last.part).toMatchObject({ cursor: undefined, rows: { length: 50 } });
  expect(typesPart(seen, new URL('?cursor=99999', url)).part.rows[0]?.name).toBe(sights[0]?.name);
  expect(typeSight(queued[0] as (typeof queued)[0], seen).notes).toHaveLength(1);
});

it('of which there are many stand on several pages, also where one is chosen to submit', async () => {
  const handlers = Array.from({ length: pageDefaults.typeRows }, (_, i) => ({
    type: `many/t${i}`,
    schemaVersion: 1,
    effectSafety: 'pure',
  }));
  await garage.present('garage', { handlers });
  await garage.world.submit({ type: 'a/nobody-serves-it' });
  const first = await page('/task-types');
  expect(first.text).toContain('href="/task-types?cursor=50"');
  expect(first.words).toContain('a/nobody-serves-it@1');
  expect((await page('/task-types?cursor=50')).text).toContain('href="/task-types">First page');
  const chooser = await page('/submit');
  expect(chooser.words).not.toContain('a/nobody-serves-it@1');
  expect((await page('/submit?cursor=50')).words).toContain('a/nobody-serves-it@1');
});

it('that nobody has and nothing waits for say so, and who has gone', async () => {
  await garage.present('attic');
  const none = (await page('/task-type?type=a')).words;
  expect(none).toContain('No worker that is online serves a@1 , and no task of it waits or runs.');
  expect(none).toContain('Is the name as you meant it?');
  expect((await page('/task-type?type=demo/helo')).words).toContain('demo/hello@1');
  await garage.present('attic', { state: 'offline' });
  expect((await page('/task-type?type=demo/hello')).words).toContain('attic is offline');
});
