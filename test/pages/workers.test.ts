import { beforeEach, describe, expect, it } from 'vitest';
import type { WorkerView } from '../../src/contract/index.ts';
import { html } from '../../src/pages/html.ts';
import { drainPage, workerPage } from '../../src/pages/worker-page.ts';
import { summary, workersList } from '../../src/pages/workers-list.ts';
import { Garage, SCRIPT, textOf } from './garage.ts';

let garage: Garage;
beforeEach(async () => {
  garage = await Garage.open();
});
const page = async (path: string) => {
  const shown = await garage.visitor.get(path);
  return { ...shown, words: textOf(shown.text) };
};

/** The word of a drain form for the session that it is about. */
const sessionIn = (text: string) => /name="session" value="([0-9a-f]+)"/.exec(text)?.[1] ?? '';
/** Sends the form of a page that asks. */
const drained = async (from: string) =>
  garage.visitor.post(from, { session: sessionIn((await page(from)).text) }, { from });

describe('workers', () => {
  it('say how to begin where there are none', async () => {
    expect((await page('/workers')).words).toContain('No worker has come here yet.');
  });

  it('tell in words how they are, what needs somebody first', async () => {
    await garage.present('attic');
    await garage.present('barn', { slots: { max: 4, busy: 4 } });
    await garage.present('cellar', { notClaiming: 'the disk is full' });
    await garage.present('den', { spool: { pending: 3, bytes: 900, oldestMs: 90_000, ok: true } });
    await garage.present('exit', { state: 'offline' });
    const { words, text } = await page('/workers');
    expect(words).toContain(
      'Workers ✕ 1 worker needs somebody; 1 more should be looked at. 3 ready, 1 full, 1 offline',
    );
    expect(words).toContain('full: all 4 slots are working; do not restart it');
    expect(words).toContain('claims nothing: the disk is full');
    expect(words).toContain(
      '3 reports could not be sent yet, the oldest for 1 min 30 s: they are safe on its disk',
    );
    const order = ['cellar', 'den', 'attic', 'barn', 'exit'].map((id) =>
      text.indexOf(`id="worker-${id}"`),
    );
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(text).toContain('<tr id="worker-cellar" class="row-bad">');
    expect(text).toContain('<tr id="worker-den" class="row-warn">');
  });

  it('tell of a type as it is written, with one stop at the end', async () => {
    const why = 'it has no run. Mend it, and make the worker read its handlers again.';
    const since = new Date(0).toISOString();
    await garage.present('attic', {
      keptHandlers: [{ type: 'order/price', schemaVersion: 1, why, since }],
    });
    const { text } = await page('/workers/attic');
    expect(text).toContain('<bdi>order/price@1 is served with its older code');
    expect(text).toContain('read its handlers again.</bdi>');
  });

  it('are well where none needs anybody, and none is enough where all are offline', async () => {
    await garage.present('attic');
    expect((await page('/workers')).words).toContain('✓ All workers are well. 1 ready');
    await garage.present('attic', { state: 'offline' });
    expect((await page('/workers')).words).toContain('▲ No worker is online. 1 offline');
  });

  it('go first whose key has ended, also when they are silent since', async () => {
    await garage.present('attic');
    await garage.present('zoo');
    const { keys } = (await garage.world.call('GET', '/keys')).body;
    const own = keys.find(({ kind }: { kind: string }) => kind === 'task-worker');
    await garage.world.call('DELETE', `/keys/${own.id}`);
    const { text, words } = await page('/workers');
    expect(words).toContain('it was last heard with the key "task-worker", which was revoked');
    expect(text.match(/<tr id="worker-\w+" class="row-bad">/g)).toHaveLength(2);
    expect((await page('/task-type?type=demo/hello')).words).toContain(
      'None of its 2 workers claims it: attic speaks with a key that has ended.',
    );
    await garage.world.clock.advance(60_000);
    expect((await page('/workers')).text).toContain('<tr id="worker-attic" class="row-bad">');
  });

  it('are doubted when they are late, before they count as offline, and then missed where they alone serve what waits', async () => {
    await garage.present('attic');
    expect((await page('/workers/attic')).text).toContain('good');
    await garage.world.clock.advance(31_000);
    const late = await page('/workers');
    expect(late.words).toContain('not heard from for 31 s');
    expect(late.words).toContain('▲ 1 worker should be looked at.');
    expect(late.text).toContain('<tr id="worker-attic" class="row-warn">');
    await garage.world.clock.advance(31_000);
    expect((await page('/workers')).text).toContain('<tr id="worker-attic">');
    await garage.world.submit();
    const missed = '1 task waits for what it alone serves: start it again';
    expect((await page('/workers')).words).toContain(missed);
    expect((await page('/workers/attic')).words).toContain(missed);
    await garage.present('barn');
    expect((await page('/workers')).words).not.toContain(missed);
  });

  it('that were asked to drain have no good badge', async () => {
    await garage.present('attic');
    expect((await page('/workers/attic')).text).toMatch(/✓/);
    await drained('/workers/attic/drain');
    await page('/workers/attic');
    expect((await page('/workers/attic')).text).not.toMatch(/✓/);
  });

  it('of interlock dev are told to end alone', async () => {
    await garage.present('dev');
    expect((await page('/workers/dev/drain')).words).toContain(
      'the control plane and these pages go on',
    );
  });

  it('have their whole reasons on their own page, the beginning in the list', async () => {
    const why = `first${' and again'.repeat(100)} last`;
    await garage.present('attic', { notClaiming: why });
    const list = (await page('/workers')).words;
    expect(list).toContain('claims nothing: first and again');
    expect(list).not.toContain(' last');
    expect((await page('/workers/attic')).words).toContain(`Claims nothing: ${why}.`);
  });

  it('have a page each: what they work on, what they ended, what they serve', async () => {
    await garage.present('attic');
    const ended = await garage.run('attic', { waitMs: 1_000, runMs: 5_000 });
    await garage.present('attic');
    const open = await garage.world.submit();
    const [attempt] = await garage.claim('attic');
    if (attempt) await garage.report(attempt, 'attic', 'start');
    const { words, text } = await page('/workers/attic');
    expect(words).toContain(`${open.id} demo/hello@1 just now`);
    expect(words).toContain(`${ended.taskId} demo/hello@1 ✓ succeeded 5 s`);
    expect(words).toContain('demo/hello@1 pure');
    expect(words).toContain('worker 0.1.0');
    expect(text).toContain('href="/task-type?type=demo%2Fhello&amp;schemaVersion=1"');
    expect((await page('/workers/nobody')).status).toBe(404);
  });

  it('are drained from here after a page that says what will happen', async () => {
    await garage.present('attic');
    await garage.world.submit();
    await garage.claim('attic');
    const asked = await page('/workers/attic/drain');
    expect(asked.words).toContain(
      'It finishes 1 task first, claims nothing more, and its process ends.',
    );
    expect(asked.words).toContain('Nobody else that is online serves: demo/hello@1');
    // Looking at it does nothing.
    expect((await garage.world.call('GET', '/workers/attic')).body.drainRequested).toBeUndefined();
    const done = await drained('/workers/attic/drain');
    expect(done).toMatchObject({ status: 303, location: '/workers/attic' });
    expect((await garage.world.call('GET', '/workers/attic')).body.drainRequested).toBe(true);
    const after = await page('/workers/attic');
    expect(after.words).toContain('attic was asked to drain: it finishes 1 task and ends.');
    expect(after.text).not.toContain('href="/workers/attic/drain"');
  });

  it('are drained by no form that was about the session before: the page says so and asks again', async () => {
    await garage.present('attic');
    const from = '/workers/attic/drain';
    const asked = await page(from);
    const session = sessionIn(asked.text);
    expect(session).toHaveLength(16);
    expect(asked.text).not.toContain('ses-');
    // The same process tells of itself again.
    await garage.present('attic');
    expect((await page(from)).text).toContain(`value="${session}"`);
    await garage.present('attic', { sessionId: 'ses-next', earlierSessions: ['ses-attic'] });
    for (const sent of [session, '']) {
      const refused = await garage.visitor.post(from, { session: sent }, { from });
      expect(refused.status).toBe(409);
      expect(refused.text).toContain('Nothing was done: read what will happen, then decide.');
      expect(refused.text).not.toContain(`value="${session}"`);
    }
    expect((await garage.world.call('GET', '/workers/attic')).body.drainRequested).toBeUndefined();
    expect((await drained(from)).status).toBe(303);
    expect((await garage.world.call('GET', '/workers/attic')).body.drainRequested).toBe(true);
    expect((await garage.visitor.post('/workers/none/drain', {}, { from })).status).toBe(404);
  });

  it('are drained by no form of another page, and not by who may not', async () => {
    await garage.present('attic');
    const forged = await garage.visitor.post('/workers/attic/drain', {}, { token: 'x' });
    expect(forged.status).toBe(403);
    const key = await garage.world.key('task-producer');
    await garage.visitor.signIn(key);
    expect((await page('/workers/attic')).text).not.toContain('/drain');
    const asked = await page('/workers/attic/drain');
    expect(asked.status).toBe(403);
    expect(asked.words).toContain('is of kind task-producer');
    const refused = await garage.visitor.post(
      '/workers/attic/drain',
      {},
      { from: '/workers/attic' },
    );
    expect(refused.status).toBe(403);
    expect((await garage.world.call('GET', '/workers/attic')).body.drainRequested).toBeUndefined();
  });
});

describe('what a worker says of itself', () => {
  const hostile: WorkerView = {
    workerId: SCRIPT,
    state: SCRIPT,
    words: SCRIPT,
    slots: { max: 1, busy: 1 },
    pools: [SCRIPT],
    handlers: [{ type: SCRIPT, schemaVersion: 1, effectSafety: SCRIPT, effectGate: SCRIPT }],
    versions: { [SCRIPT]: SCRIPT },
    spool: { pending: 1, bytes: 3_000, oldestMs: 70_000, ok: false },
    notClaiming: SCRIPT,
    pausedTypes: [{ type: SCRIPT, schemaVersion: 1, why: SCRIPT, forMs: 1, failures: 2 }],
    keptHandlers: [{ type: SCRIPT, schemaVersion: 1, why: SCRIPT, since: SCRIPT }],
    stuck: [{ type: SCRIPT, schemaVersion: 1, taskId: SCRIPT, attemptId: SCRIPT, pids: [1] }],
    lastSeenAt: SCRIPT,
    clockOffsetMs: -7_000,
    attempts: [{ taskId: SCRIPT, attemptId: SCRIPT, type: SCRIPT, schemaVersion: 1 }],
  };

  it('stays text wherever it stands', () => {
    const pages = [
      workersList({ workers: [hostile], nowMs: 0 }),
      workerPage({
        worker: hostile,
        ended: [
          {
            id: SCRIPT,
            taskId: SCRIPT,
            type: SCRIPT,
            schemaVersion: 1,
            workerId: SCRIPT,
            state: 'lost',
          },
        ],
        nowMs: 0,
        mayDrain: true,
      }),
      drainPage({
        worker: hostile,
        alone: [{ type: SCRIPT, schemaVersion: 1, queued: 1 }],
        csrf: html``,
        sessionMark: SCRIPT,
        problem: SCRIPT,
      }),
    ];
    for (const shown of pages) {
      expect(shown.toString()).not.toMatch(/<script|<img/);
      expect(shown.toString()).toContain('&lt;script&gt;');
    }
  });

  it('is told with what to do about it', () => {
    const words = textOf(
      workerPage({ worker: hostile, ended: [], nowMs: 0, mayDrain: true }).toString(),
    );
    expect(words).toContain('Its disk takes no reports: make room on it or mend it');
    expect(words).toContain('Its clock is 7 s behind.');
    expect(words).toContain('was killed and does not go (process 1); it keeps its slot');
    expect(words).toContain('2.9 KiB');
  });

  it('is past where it is offline: only its tasks and reports need somebody', () => {
    const gone = {
      ...hostile,
      state: 'offline',
      words: 'offline: last seen 5 min ago',
      workerId: 'w',
    };
    const words = textOf(
      workerPage({ worker: gone, ended: [], nowMs: 0, mayDrain: true }).toString(),
    );
    expect(words).toContain('It has not said how 1 task went that it had');
    expect(words).not.toContain('claims nothing');
    expect(words).not.toContain('Drain it');
  });
});

it('counts states, also one that is not known', () => {
  const of = (...states: string[]) => states.map((state) => ({ state }) as WorkerView);
  expect(summary(of('full', 'ready', 'odd', 'ready'))).toBe('2 ready, 1 full, 1 odd');
});
