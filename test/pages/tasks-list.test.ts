import { beforeEach, describe, expect, it } from 'vitest';
import { attentionSections } from '../../src/pages/tasks/attention.ts';
import { World } from '../control-plane/world.ts';
import { textOf } from './garage.ts';
import { Visitor } from './visitor.ts';

/** The list of tasks: what needs a person, what runs, the rest with its filters. */

const DAY_MS = 24 * 3_600_000;
const place = { loopback: true, behindProxy: false, secure: false };
let world: World;
let visitor: Visitor;
beforeEach(async () => {
  world = await World.start({ pages: { place } });
  visitor = new Visitor(world);
});

/** The text of a part of the page, by its id, without marks. */
async function words(path: string, id = 'main'): Promise<string> {
  const { text } = await visitor.get(path);
  const at = text.indexOf(`id="${id}"`);
  if (at < 0) return '';
  const from = text.indexOf('>', at) + 1;
  const to = text.indexOf(id === 'main' ? '</main>' : '</section>', at);
  return textOf(text.slice(from, to));
}
const failure = (code: string, message: string, more = {}) => ({
  error: { code, message, retryable: false, ...more },
});
const present = (workerId: string, more: Record<string, unknown> = {}) =>
  world.call('PUT', `/workers/${workerId}`, {
    body: {
      sessionId: `ses-${workerId}`,
      state: 'ready',
      slots: { max: 2, busy: 0 },
      pools: ['default'],
      handlersHash: JSON.stringify(more),
      handlers: [
        {
          type: 'demo/hello',
          schemaVersion: 1,
          effectSafety: 'pure',
          effectGate: 'start',
          ...(more.handler as object),
        },
      ],
      versions: {},
      spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
      ...more,
    },
  });

describe('what needs a person', () => {
  it('is nothing where all goes well, also with tasks that wait for a worker that is busy', async () => {
    await present('w1', { state: 'full', slots: { max: 1, busy: 1 } });
    await world.submit();
    expect(await words('/tasks', 'attention')).toContain('Nothing needs a person.');
  });

  it('is counted in the first sentence, with what runs and waits, and its columns are named once', async () => {
    for (const code of ['BROKE', 'TORN']) {
      const { attempt } = await world.running();
      await world.report(attempt, 'fail', failure(code, 'paper jam'));
    }
    await world.running();
    await world.submit({ pool: 'gpu' });
    const { text } = await visitor.get('/tasks');
    expect(textOf(text)).toContain(
      'Tasks Submit a task ✕ 3 things need a person. 1 running , 1 queued',
    );
    expect(text.match(/<th scope="col">Why<\/th>/g)).toHaveLength(1);
    // Counts and filters are of the list, below.
    expect(text.indexOf('id="attention"')).toBeLessThan(text.indexOf('Tasks by status'));
  });

  it('names an outcome that is not known, why, and the page where it is resolved', async () => {
    const { task, attempt } = await world.running({ effectSafety: 'non-idempotent' });
    await world.gate(attempt);
    await world.report(attempt, 'unknown', failure('SENT', 'The printer said nothing'));
    expect(await words('/tasks', 'attention-unknown')).toMatch(
      /Outcome unknown.*demo\/hello@1.*The printer said nothing\..*Look outside, then resolve/,
    );
    expect((await visitor.get('/tasks')).text).toContain(`href="/tasks/${task.id}/resolve"`);
  });

  it('names a failure past the gate and a late report as decisions', async () => {
    const begun = await world.running({ effectSafety: 'non-idempotent' });
    await world.gate(begun.attempt);
    await world.report(begun.attempt, 'fail', failure('BROKE', 'paper jam'));
    const late = await world.running({}, { policy: { maxAttempts: 1 } });
    await world.gate(late.attempt);
    await world.clock.advance(600_000);
    await world.report(late.attempt, 'complete', { result: 1 });
    const text = await words('/tasks', 'attention-undecided');
    expect(text).toContain(
      'BROKE: paper jam. An attempt was past its gate: its effect may have taken place.',
    );
    expect(text).toContain(
      'Its worker reported "complete" after the attempt had ended as lost. ATTEMPTS_EXHAUSTED',
    );
    // Once is enough.
    expect(await words('/tasks', 'attention-failed')).toBe('');
  });

  it('groups failures by type and code, and tells refused results apart', async () => {
    for (const code of ['BROKE', 'BROKE', 'RESULT_REFUSED']) {
      const { attempt } = await world.running();
      await world.report(attempt, 'fail', failure(code, `of ${code}`));
    }
    expect(await words('/tasks', 'attention-failed')).toMatch(
      /demo\/hello@1 2 tasks BROKE: of BROKE\./,
    );
    expect(await words('/tasks', 'attention-refused')).toMatch(
      /1 task RESULT_REFUSED \(The control plane refused the result for good\): of RESULT_REFUSED/,
    );
  });

  it('has no failure any more after a day, and none that was resolved: then nothing needs a person', async () => {
    const { attempt } = await world.running();
    await world.report(attempt, 'fail', failure('BROKE', 'for good'));
    expect(await words('/tasks', 'attention-failed')).toContain('Failed in the last 24 h');
    // It sleeps for a day, which costs the test nothing.
    world.clock.suspend(DAY_MS);
    await world.clock.advance(DAY_MS + 1_000);
    const other = await world.running({ effectSafety: 'non-idempotent' });
    await world.gate(other.attempt);
    await world.report(other.attempt, 'unknown', failure('SENT', 'no answer'));
    const { seq } = await world.task(other.task.id);
    const body = { actionId: 'a', ifSeq: seq, resolution: 'failed', reason: 'not there' };
    expect((await world.call('POST', `/tasks/${other.task.id}/resolve`, { body })).status).toBe(
      200,
    );
    expect(await words('/tasks', 'attention')).toContain('Nothing needs a person.');
    expect(await words('/tasks?status=failed')).toContain('BROKE: for good');
  });

  it('says once that an input does not fit, where the message begins as the title of its code does', async () => {
    const { attempt } = await world.running();
    const message = 'The input does not fit its schema: name must be a text';
    await world.report(attempt, 'fail', failure('INPUT_INVALID', message));
    expect(await words('/tasks', 'attention-failed')).toContain(`INPUT_INVALID: ${message}`);
  });

  it('names a task whose worker is lost again and again, and how the last time went', async () => {
    const { task } = await world.running();
    for (let i = 0; i < 2; i++) {
      if (i > 0) await world.claim();
      await world.clock.advance(31_000);
    }
    const text = await words('/tasks', 'attention-losing');
    expect(text).toContain(task.id);
    expect(text).toMatch(
      /lost 2 times; it is queued, last on w1\. The last time: no word came before its lease/,
    );
  });

  it('names each place of the queue that nobody serves once, whatever waits there', async () => {
    for (let i = 0; i < 3; i++) await world.submit({ type: 'demo/Hello' });
    await world.submit({ pool: 'gpu' });
    await present('w1');
    const text = await words('/tasks', 'attention-waiting');
    expect(text).toContain(
      'demo/Hello@1 3 tasks in pool default No worker for demo/Hello@1 in pool default; served there under another case: demo/hello@1.',
    );
    expect(text).toContain(
      'demo/hello@1 1 task in pool gpu No worker for demo/hello@1 in pool gpu;',
    );
  });

  it('counts a place whose workers claim nothing', async () => {
    await present('w1', { notClaiming: 'its disk is full' });
    await world.submit();
    expect(await words('/tasks', 'attention-waiting')).toMatch(
      /1 worker, not claiming \(w1: its disk is full\)\..*See its workers/,
    );
  });
});

describe('a place of the queue that nobody serves', () => {
  const place = (type: string, more = '') =>
    `/tasks?type=${encodeURIComponent(type)}&pool=default${more}`;

  it('shows what its tasks ask for beside what comes near, letter by letter, above the list', async () => {
    await present('w1', { handler: { type: 'Demo/hello', schemaVersion: 2 } });
    const { text } = await visitor.get(place('demo/hello', '&version=1&status=queued'));
    expect(text).toContain(
      '<td data-head="Type"><mark><code><bdi>Demo/hello@2</bdi></code></mark></td>',
    );
    expect(textOf(text)).toContain('upper and lower case, version');
    expect(text.indexOf('id="compare"')).toBeLessThan(text.indexOf('id="list"'));
  });

  it('names workers of another project only to who may switch to it', async () => {
    await world.submit();
    const key = await world.key('task-worker', 'other');
    await world.call('POST', '/claims', { key, body: world.claimBody('secret-worker') });
    expect(await words(place('demo/hello@1'), 'compare')).toContain(
      'secret-worker works for project other',
    );
    const signedIn = new Visitor(world, { peer: { address: '10.0.0.9', loopback: false } });
    await signedIn.signIn(await world.key('task-operator'));
    const { status, text } = await signedIn.get(place('demo/hello@1'));
    expect(status).toBe(200);
    expect(text).toContain('id="compare"');
    expect(text).not.toContain('secret-worker');
  });

  it('is not told of one that somebody serves', async () => {
    await present('w1');
    expect(await words(place('demo/hello@1'), 'compare')).toBe('');
  });
});

describe('what runs', () => {
  it('shows how far it is, in words and as a bar, with its worker', async () => {
    const { task, attempt } = await world.running();
    await world.report(attempt, 'progress', { n: 1, percent: 41.6, message: 'page 4 of 10' });
    const text = await words('/tasks', 'running');
    expect(text).toContain('Running 1');
    expect(text).toMatch(/42 % page 4 of 10/);
    expect((await visitor.get('/tasks')).text).toContain(
      `<progress max="100" value="41.6" aria-label="Progress of ${task.id}">`,
    );
  });
});

describe('filters', () => {
  it('stand in the address, and the form and the links show them again', async () => {
    await world.submit({ pool: 'a', labels: { 'customer id': 'Ä & <b>' } });
    await world.submit({ pool: 'b' });
    const query = new URLSearchParams([
      ['status', 'queued'],
      ['status', 'failed'],
      ['type', 'demo/hello@1'],
      ['pool', 'a'],
      ['label', 'customer id=Ä & <b>'],
      ['since', '2h'],
      ['until', '2099-01-01T00:00:00Z'],
    ]);
    const { status, text } = await visitor.get(`/tasks?${query}`);
    expect(status).toBe(200);
    expect(text.match(/id="task-tsk_/g)).toHaveLength(1);
    expect(text).toContain('value="customer id=Ä &amp; &lt;b&gt;"');
    expect(text).toContain('name="since" value="2h"');
    expect(text).toMatch(/name="status" value="failed" checked/);
    // What needs a person is another page.
    expect(text).not.toContain('id="attention"');
  });

  it('lead from page to page without gap or repetition, and keep to the filters', async () => {
    const all = new Set<string>();
    for (let i = 0; i < 120; i++) all.add((await world.submit({ pool: i % 2 ? 'a' : 'b' })).id);
    const seen: string[] = [];
    let at: string | undefined = '/tasks?pool=a';
    let pages = 0;
    while (at !== undefined) {
      const { text } = await visitor.get(at);
      seen.push(...[...text.matchAll(/id="task-(tsk_\w+)"/g)].map(([, id]) => id as string));
      at = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
      pages++;
    }
    expect(pages).toBe(2);
    expect(seen).toHaveLength(60);
    expect(new Set(seen).size).toBe(60);
    expect(seen).toEqual([...seen].sort().reverse());
  });

  it('lead back to the page before, step by step', async () => {
    for (let i = 0; i < 160; i++) await world.submit({ pool: 'a' });
    const link = (text: string, rel: string) =>
      new RegExp(`rel="${rel}" href="([^"]+)"`).exec(text)?.[1]?.replaceAll('&amp;', '&') as string;
    const first = '/tasks?pool=a';
    const second = link((await visitor.get(first)).text, 'next');
    const third = link((await visitor.get(second)).text, 'next');
    const fourth = link((await visitor.get(third)).text, 'next');
    expect(link((await visitor.get(fourth)).text, 'prev')).toBe(third);
    expect(link((await visitor.get(third)).text, 'prev')).toBe(second);
    expect((await visitor.get(second)).text).toContain('>First page</a>');
    expect(link((await visitor.get(second)).text, 'prev')).toBeUndefined();
  });

  it.each([
    ['status=lost', 'is no status; those are queued'],
    ['type=demo//x', 'is no type of tasks'],
    ['type=demo/x&version=0', 'is no version'],
    ['pool=%3Cscript%3E', 'is no name of a pool'],
    ['since=yesterday', 'is neither a time such as'],
    [`until=${'9'.repeat(300)}`, 'is neither a time such as'],
  ])('that mean nothing list nothing and say so where they were typed: %s', async (query, says) => {
    await world.submit();
    const { status, text } = await visitor.get(`/tasks?${query}`);
    expect(status).toBe(400);
    expect(textOf(text)).toContain(says);
    expect(text).not.toContain('id="task-tsk_');
    expect(text).not.toContain('<script>');
  });

  it('are addresses without what was left empty', async () => {
    const { status, headers } = await visitor.get('/tasks?type=&status=failed&label=&since=');
    expect([status, headers.get('location')]).toEqual([303, '/tasks?status=failed']);
  });

  it('say that no time lies between them, and that a place in the list is none', async () => {
    const { status, text } = await visitor.get('/tasks?since=1h&until=2h');
    expect(status).toBe(400);
    expect(textOf(text)).toContain('It is not after "submitted since"');
    expect(textOf((await visitor.get('/tasks?cursor=nonsense')).text)).toContain(
      'No such page of the list',
    );
  });

  it('say that nobody serves a type, also where version or pool is left open', async () => {
    await present('w1');
    expect(await words('/tasks?type=demo/helo')).toContain(
      'No worker that is online serves demo/helo; served under a name like it: demo/hello@1.',
    );
    expect(await words('/tasks?type=demo/hello&pool=gpu')).toContain(
      'No worker that is online serves demo/hello in pool gpu; it is served in pool default.',
    );
    expect(await words('/tasks?type=demo/hello')).not.toContain('No worker that is online');
  });

  it('say where nothing fits, and where there is nothing yet', async () => {
    expect(await words('/tasks', 'list')).toContain('There is no task yet.');
    expect(await words('/tasks?status=failed', 'list')).toContain('No task fits.');
  });
});

it('leads from status to status within the same search, which it does not count', async () => {
  await world.submit({ labels: { job: 'a' } });
  const bar = async (query: string) => {
    const { text } = await visitor.get(`/tasks${query}`);
    const [, list = ''] = /aria-label="Tasks by status"><ul[^>]*>(.*?)<\/ul>/s.exec(text) ?? [];
    return { list, words: textOf(list) };
  };
  const { list, words: said } = await bar(
    '?type=demo/hello&label=job%3Da&since=1h&needs=attention&status=failed&cursor=tsk_1',
  );
  const rest = 'type=demo%2Fhello&amp;label=job%3Da&amp;since=1h&amp;needs=attention';
  expect(list).toContain(`href="/tasks?status=running&amp;${rest}"`);
  expect(list).toContain(`href="/tasks?${rest}"`);
  expect(list.match(/aria-current/g)).toHaveLength(1);
  expect(list).toContain(`href="/tasks?status=failed&amp;${rest}" aria-current="true"`);
  expect(said).not.toMatch(/\d/);
  // Without other filters the numbers are those of what is found.
  const plain = await bar('?status=queued');
  expect(plain.words).toContain('queued 1');
  expect(plain.list).toContain('href="/tasks?status=running"');
  expect((await bar('?label=job%3Da')).list).toContain(
    'href="/tasks?label=job%3Da" aria-current="true"',
  );
});

it('counts what there is of each status, up to a bound', async () => {
  for (let i = 0; i < 3; i++) await world.submit();
  const { attempt } = await world.running({}, { priority: 50 });
  await world.report(attempt, 'complete', { result: null });
  expect(textOf((await visitor.get('/tasks')).text)).toContain(
    'all queued 3 running 0 succeeded 1 failed 0 outcome unknown 0 cancelled 0 expired 0',
  );
});

it('keeps what others wrote as text in every row', async () => {
  const evil = `<img src=x onerror=alert(1)>"'&\u202e ${'ع'.repeat(20)} 😀`;
  await world.submit({ labels: { [evil]: evil.repeat(40), __proto: 'x' } });
  const { attempt } = await world.running(
    { type: 'demo/evil' },
    { type: 'demo/evil', labels: { toString: '{"isEscaped":true}' } },
  );
  await world.report(attempt, 'progress', { n: 1, percent: 5, message: evil.repeat(50) });
  const failed = await world.running({ type: 'demo/fail' }, { type: 'demo/fail' });
  await world.report(failed.attempt, 'fail', failure('BROKE', evil));
  const { text } = await visitor.get('/tasks');
  expect(text).not.toContain('<img');
  expect(
    text.match(/&lt;img src=x onerror=alert\(1\)&gt;&quot;&#39;&amp;/g)?.length,
  ).toBeGreaterThan(3);
});

it('rows of two things have two ids, whatever dashes are in their names', () => {
  const place = { schemaVersion: 1, queued: 1, running: 0 };
  const [waiting] = attentionSections({
    nowMs: 0,
    unknown: [],
    undecided: [],
    queue: [
      { ...place, pool: 'a-b', type: 'c' },
      { ...place, pool: 'a', type: 'b-c' },
    ],
    workers: [],
    losing: [],
    failures: [],
    among: 1,
  });
  expect(new Set(waiting?.items.map(({ id }) => id)).size).toBe(2);
});
