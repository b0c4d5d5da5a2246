import { beforeEach, describe, expect, it } from 'vitest';
import { World } from '../control-plane/world.ts';
import { textOf } from './garage.ts';
import { Visitor } from './visitor.ts';

/** One task whole, and what people do to it. */

const place = { loopback: true, behindProxy: false, secure: false };
const elsewhere = { peer: { address: '10.0.0.9', loopback: false } };
let world: World;
let visitor: Visitor;
beforeEach(async () => {
  world = await World.start({ pages: { place } });
  visitor = new Visitor(world);
});

const main = (text: string) => text.slice(text.indexOf('<main'), text.indexOf('</main>'));
const shown = async (path: string) => textOf(main((await visitor.get(path)).text));
const hidden = (text: string, name: string) =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? '';
const failure = (code: string, message: string, more = {}) => ({
  error: { code, message, retryable: false, ...more },
});

async function unknown() {
  const { task, attempt } = await world.running({ effectSafety: 'non-idempotent' });
  await world.gate(attempt);
  await world.report(attempt, 'unknown', failure('SENT', 'The printer said nothing'));
  return world.task(task.id);
}
async function failed(more = {}) {
  const { task, attempt } = await world.running(more);
  await world.gate(attempt);
  await world.report(attempt, 'fail', failure('BROKE', 'paper jam'));
  return world.task(task.id);
}

describe('one task', () => {
  it('tells its status, worker, attempts with durations, error and what to do', async () => {
    const { task, attempt } = await world.running({}, { policy: { maxAttempts: 2 } });
    await world.clock.advance(1_000);
    await world.gate(attempt);
    await world.clock.advance(3_000);
    await world.report(attempt, 'fail', failure('BROKE', 'paper jam', { retryable: true }));
    await world.clock.advance(20_000);
    const [second] = await world.claim('w2');
    await world.gate(second, 'start', 'w2');
    await world.report(second, 'fail', failure('BROKE', 'no ink', { details: { tray: 2 } }));
    const text = await shown(`/tasks/${task.id}`);
    expect(text).toContain(
      '✕ failed It ended 24 s after submit, 23 s after its start, 2 of 2 attempts.',
    );
    expect(text).toMatch(
      /Attempt 1 on w1 ✕ failed.* began after 1 s ran 3 s pure fence 1 BROKE: paper jam Queued again/,
    );
    expect(text).toMatch(/Attempt 2 on w2 ✕ failed/);
    expect(text).toContain(
      'Error BROKE said by the handler of demo/hello@1 just now no ink tray 2',
    );
    expect(text).toContain('Mend the cause, then run it again .');
    expect(text).toContain('BROKE said by the handler of demo/hello@1');
    expect((await visitor.get(`/tasks/${task.id}`)).text).not.toContain('/failures#BROKE');
  });

  it('says why a failure was not tried again, and leads to the catalogue for a code that is in it', async () => {
    const { task, attempt } = await world.running({}, { policy: { maxAttempts: 5 } });
    await world.report(attempt, 'fail', failure('HANDLER_ERROR', 'paper jam'));
    expect(await shown(`/tasks/${task.id}`)).toContain(
      'The handler did not call it retryable, so it was not tried again.',
    );
    expect((await visitor.get(`/tasks/${task.id}`)).text).toContain(
      'href="/failures#HANDLER_ERROR"',
    );
  });

  it('leads from an input that does not fit to the form with this input, not to a repeat', async () => {
    const { task, attempt } = await world.running();
    await world.report(attempt, 'fail', failure('INPUT_INVALID', 'input.name must be a text'));
    const { text } = await visitor.get(`/tasks/${task.id}`);
    expect(textOf(text)).toContain(
      'Its input does not fit: correct the fields named in the message and submit it again',
    );
    expect(text).toContain('href="/failures#INPUT_INVALID"');
    const href = /href="(\/submit[^"]*from=[^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect((await visitor.get(href)).text).toContain('&quot;name&quot;: &quot;Ada&quot;');
  });

  it('leads from a name that is a slip to the form of the name that is served', async () => {
    await world.claim('w1');
    const task = await world.submit({ type: 'demo/helo', labels: { who: 'ada' } });
    const { text } = await visitor.get(`/tasks/${task.id}`);
    expect(textOf(text)).toContain('served there under a name like it: demo/hello@1');
    expect(textOf(text)).toContain('Submit it again as demo/hello@1 in pool default');
    const at = text.indexOf('Submit it again as');
    const href = /href="([^"]*)">$/.exec(text.slice(0, at))?.[1]?.replaceAll('&amp;', '&') ?? '';
    const form = await visitor.get(href);
    expect(textOf(form.text)).toContain('Submit demo/hello@1');
    expect(form.text).toContain('who=ada');
  });

  it('says who resolved an unknown outcome as failed and why, and alarms nobody any more', async () => {
    const { id, seq } = await unknown();
    const body = { actionId: 'a', ifSeq: seq, resolution: 'failed', reason: 'The tray is empty' };
    await world.call('POST', `/tasks/${id}/resolve`, { body });
    const { text } = await visitor.get(`/tasks/${id}`);
    expect(textOf(text)).toMatch(/Resolved by \S.*: no effect\. .*The tray is empty/);
    expect(text).not.toContain('id="next"');
    expect(textOf(text)).not.toMatch(/may have taken place/);
  });

  it('shows input and result folded, large ones cut, with the very text as a file', async () => {
    const big = 'x'.repeat(20_000);
    const { task, attempt } = await world.running({}, { input: { big } });
    await world.report(attempt, 'complete', { result: { 'a<b': '</pre><script>' } });
    const { text } = await visitor.get(`/tasks/${task.id}`);
    expect(text).toContain('Only its beginning is shown.');
    for (const id of ['input-text', 'result-text']) {
      expect(text).toContain(`data-copy="${id}"`);
      expect(text).toContain(` id="${id}"`);
    }
    expect(text.length).toBeLessThan(40_000);
    // A short one stands open.
    expect(text).toContain('<details id="input">');
    expect(text).toContain('<section id="result"><h3>Result');
    expect(text).toContain('&quot;a&lt;b&quot;: &quot;&lt;/pre&gt;&lt;script&gt;&quot;');
    const file = await visitor.get(`/tasks/${task.id}/input.json`);
    expect(JSON.parse(file.text)).toEqual({ big });
    expect(file.headers.get('content-disposition')).toContain(`${task.id}-input.json`);
    expect((await visitor.get(`/tasks/${task.id}/result.json`)).text).toBe(
      '{"a<b":"</pre><script>"}',
    );
  });

  it('names the key that submitted it; its id shows on hover', async () => {
    const task = await world.submit();
    const { text } = await visitor.get(`/tasks/${task.id}`);
    expect(text).toMatch(/by <span title="key:key_\w+"><bdi>task-producer<\/bdi><\/span>/);
    expect(textOf(text)).not.toContain('key:key_');
  });

  it('shows the end of the log, leads to what is before it, and to a file with all of it', async () => {
    const { task, attempt } = await world.running();
    for (let n = 1; n <= 3; n++)
      await world.report(attempt, 'log', {
        n,
        lines: Array.from({ length: 150 }, (_, i) => ({
          at: '2026-01-01T00:00:00.000Z',
          level: i === 0 ? 'error' : 'info',
          text: `<b>line ${(n - 1) * 150 + i + 1}.\u001b[31m`,
        })),
      });
    const { text } = await visitor.get(`/tasks/${task.id}`);
    expect(text.match(/id="log-\d+"/g)).toHaveLength(200);
    expect(text).toContain('&lt;b&gt;line 450.');
    expect(text).not.toContain('line 250.');
    const earlier = /href="([^"]*log=\d+[^"]*)"/.exec(text)?.[1] ?? '';
    const before = await visitor.get(earlier);
    expect(before.text).toContain('line 250.');
    expect(before.text).toContain('line 51.');
    expect(before.text).toContain('The newest lines');
    const file = await visitor.get(`/tasks/${task.id}/log.txt`);
    expect(file.text.split('\n')).toHaveLength(451);
  });

  it('compares what it asks for with what is online above all else, where nobody serves it', async () => {
    await world.claim('w1');
    const task = await world.submit({ type: 'Demo/Hello' });
    const { text } = await visitor.get(`/tasks/${task.id}`);
    expect(text.indexOf('id="compare"')).toBeGreaterThan(0);
    expect(text.indexOf('id="compare"')).toBeLessThan(text.indexOf('id="facts"'));
    expect(textOf(text)).toContain(
      'Names are literal: w1 serves demo/hello, the task asks for Demo/Hello.',
    );
  });

  it('shows progress of one that runs, and is read again soon', async () => {
    const { task, attempt } = await world.running();
    await world.report(attempt, 'progress', { n: 1, percent: 12, message: 'page 1' });
    const { text } = await visitor.get(`/tasks/${task.id}`);
    expect(text).toContain('<progress max="100" value="12"');
    expect(text).toContain('data-refresh="2000"');
    expect((await visitor.get('/workers')).text).toContain('data-refresh="15000"');
  });

  it('tells the trace, the keys and the labels', async () => {
    const trace = 'a'.repeat(32);
    const task = await world.submit({
      traceparent: `00-${trace}-${'b'.repeat(16)}-01`,
      idempotencyKey: 'order "7" <x>',
      effectKey: 'order-7',
      labels: { ключ: '😀'.repeat(1_000) },
    });
    expect((await world.task(task.id)).traceparent).toBe(`00-${trace}-${'b'.repeat(16)}-01`);
    const text = await shown(`/tasks/${task.id}`);
    for (const part of [trace, 'order "7" <x>', 'order-7', 'ключ', '😀'.repeat(1_000)])
      expect(text).toContain(part);
  });

  it('says in which project it is to who may switch there, and leads there', async () => {
    const task = await world.submit();
    await world.key('task-operator', 'other');
    const one = new Visitor(world);
    await one.post('/project', { project: 'other', to: '/tasks' }, { from: '/tasks' });
    const { status, text } = await one.get(`/tasks/${task.id}`);
    expect(status).toBe(404);
    expect(textOf(text)).toContain(`Task ${task.id} is in project default`);
    const to = `/tasks/${task.id}`;
    const there = await one.post(
      '/project',
      { project: 'default', show: 'this', to },
      { from: to },
    );
    expect(there.headers.get('location')).toBe(to);
    expect((await one.get(`/tasks/${task.id}`)).status).toBe(200);
  });

  it('says of a reason that it is needed before it is missing', async () => {
    const { id } = await failed();
    expect(await shown(`/tasks/${id}/retry`)).toContain('Why (needed)');
  });

  it('is claimed and not begun before its worker says so', async () => {
    await world.submit();
    const [attempt] = await world.claim('w1');
    expect(await shown(`/tasks/${attempt.taskId}`)).toContain(
      'It is claimed by w1 and has not begun',
    );
  });

  it('is no page for a task of another project, or none', async () => {
    const task = await world.submit();
    const other = new Visitor(world, elsewhere);
    await other.signIn(await world.key('task-operator', 'other'));
    for (const path of [
      task.id,
      `${task.id}/input.json`,
      `${task.id}/log.txt`,
      `${task.id}/journal.json`,
      `${task.id}/cancel`,
    ])
      expect((await other.get(`/tasks/${path}`)).status).toBe(404);
    expect((await visitor.get('/tasks/tsk_none')).status).toBe(404);
    expect((await visitor.get('/tasks/%3Cscript%3E')).text).not.toContain('<script>');
  });

  it('keeps what others wrote as text', async () => {
    const evil = `"><img src=x onerror=alert(1)>'&\u202e😀`;
    const { task, attempt } = await world.running(
      {},
      { input: { [evil]: evil, isEscaped: true }, labels: { [evil]: evil }, idempotencyKey: evil },
    );
    await world.report(attempt, 'log', {
      n: 1,
      lines: [{ at: evil, level: 'info', text: evil }],
    });
    await world.report(attempt, 'progress', { n: 1, message: evil });
    await world.report(attempt, 'fail', {
      error: {
        code: 'BROKE',
        message: evil,
        retryable: false,
        details: { [evil]: { isEscaped: true, toString: evil } },
      },
    });
    const retried = await world.call('POST', `/tasks/${task.id}/retry`, {
      body: { actionId: evil, ifSeq: (await world.task(task.id)).seq, reason: evil },
    });
    expect(retried.status).toBe(200);
    const { status, text } = await visitor.get(`/tasks/${task.id}`);
    expect(status).toBe(200);
    expect(text).not.toContain('<img');
    expect(text.match(/&lt;img src=x/g)?.length).toBeGreaterThan(5);
    // In JSON what turns the direction is written out.
    expect(text).toContain('\\u202e');
  });
});

describe('cancel', () => {
  it('says what will happen, then does it, with the reason in the journal', async () => {
    const task = await world.submit();
    const page = await visitor.get(`/tasks/${task.id}/cancel`);
    expect(textOf(page.text)).toContain('It ends at once as cancelled, and no worker will run it.');
    expect((await world.task(task.id)).status).toBe('queued');
    const sent = await visitor.post(`/tasks/${task.id}/cancel`, {
      actionId: hidden(page.text, 'actionId'),
      ifSeq: hidden(page.text, 'ifSeq'),
      spoke: hidden(page.text, 'spoke'),
      reason: ' ordered\r\ntwice ',
    });
    expect(sent).toMatchObject({ status: 303, location: `/tasks/${task.id}` });
    expect((await world.task(task.id)).status).toBe('cancelled');
    const text = await shown(`/tasks/${task.id}`);
    expect(text).toContain('The task is cancelled.');
    expect(text).toContain('ordered twice');
  });

  it('warns where the effect may have begun', async () => {
    const { task, attempt } = await world.running({ effectSafety: 'non-idempotent' });
    expect(await shown(`/tasks/${task.id}/cancel`)).toContain(
      'If it is stopped, the task ends as cancelled.',
    );
    await world.gate(attempt);
    expect(await shown(`/tasks/${task.id}/cancel`)).toContain(
      'past its gate: its effect may have begun',
    );
  });

  it('tells where the handler was never called, and asks nobody to accept a second effect', async () => {
    const { task, attempt } = await world.running({ effectSafety: 'non-idempotent' });
    await world.gate(attempt);
    const error = { code: 'INPUT_INVALID', message: 'amount is no number.' };
    await world.report(attempt, 'fail', { error, begun: false });
    const page = await shown(`/tasks/${task.id}`);
    expect(page).toContain('The handler was not called, so no effect of it took place.');
    expect(page).toContain('handler not called');
    expect(page).not.toContain('past its gate');
    const retry = await shown(`/tasks/${task.id}/retry`);
    expect(retry).toContain('So a repeat repeats none.');
    expect(retry).not.toContain('takes place a second time');
  });

  it('tells where only a later handler was never called, and asks again to accept a second effect', async () => {
    const wants = { effectSafety: 'non-idempotent' };
    const { task, attempt } = await world.running(wants);
    await world.gate(attempt);
    await world.report(attempt, 'fail', failure('BROKE', 'paper jam'));
    const { seq } = await world.task(task.id);
    const body = { actionId: 'a', ifSeq: seq, reason: 'x', acceptRepeatedEffect: true };
    expect((await world.call('POST', `/tasks/${task.id}/retry`, { body })).status).toBe(200);
    const want = [{ type: task.type, schemaVersion: 1, slots: 1, ...wants }];
    const [second] = await world.claim('w1', { want });
    await world.gate(second);
    await world.report(second, 'fail', { ...failure('INPUT_INVALID', 'no'), begun: false });
    const page = await shown(`/tasks/${task.id}`);
    expect(page).toContain(
      'In this attempt the handler was not called. An attempt was past its gate',
    );
    const retry = await shown(`/tasks/${task.id}/retry`);
    expect(retry).not.toContain('So a repeat repeats none.');
    expect(retry).toContain('An attempt was past its gate');
  });

  it('of a task that ended meanwhile says so', async () => {
    const { task, attempt } = await world.running();
    const page = await visitor.get(`/tasks/${task.id}/cancel`);
    await world.report(attempt, 'complete', { result: 1 });
    const sent = await visitor.post(`/tasks/${task.id}/cancel`, {
      actionId: hidden(page.text, 'actionId'),
      ifSeq: hidden(page.text, 'ifSeq'),
      spoke: hidden(page.text, 'spoke'),
      reason: 'too late',
    });
    expect(sent.status).toBe(409);
    expect(textOf(sent.text)).toContain('has already ended: succeeded.');
    expect(textOf(sent.text)).toContain('There is nothing to cancel');
  });

  it('does nothing that its page has not said, where the task began meanwhile', async () => {
    const task = await world.submit();
    const send = (page: string) =>
      visitor.post(`/tasks/${task.id}/cancel`, {
        actionId: hidden(page, 'actionId'),
        ifSeq: hidden(page, 'ifSeq'),
        spoke: hidden(page, 'spoke'),
        reason: 'typed before',
      });
    const first = await visitor.get(`/tasks/${task.id}/cancel`);
    const [attempt] = await world.claim();
    if (attempt === undefined) throw new Error('nothing was claimed');
    const begun = await send(first.text);
    expect(begun.status).toBe(409);
    expect(textOf(begun.text)).toContain('It was queued when you were asked. It is running now');
    expect(textOf(begun.text)).toContain('is asked to stop it');
    expect(begun.text).toContain('typed before');
    expect((await world.task(task.id)).cancelRequested).toBeUndefined();
    expect((await send(begun.text)).status).toBe(303);
    expect((await world.task(task.id)).cancelRequested).toBe(true);
  });

  it('says which state of the task it is about', async () => {
    const task = await world.submit();
    const fields = { actionId: 'a', ifSeq: '', spoke: 'queued' };
    const sent = await visitor.post(`/tasks/${task.id}/cancel`, fields);
    expect(sent.status).toBe(400);
    expect((await world.task(task.id)).status).toBe('queued');
  });

  it('needs the token of the session', async () => {
    const task = await world.submit();
    const sent = await visitor.post(
      `/tasks/${task.id}/cancel`,
      { ifSeq: '1', actionId: 'a' },
      { token: 'x' },
    );
    expect(sent.status).toBe(403);
    expect((await world.task(task.id)).status).toBe('queued');
  });
});

describe('run again', () => {
  const retry = (id: string, page: string, fields: Record<string, string>) =>
    visitor.post(`/tasks/${id}/retry`, {
      actionId: hidden(page, 'actionId'),
      ifSeq: hidden(page, 'ifSeq'),
      reason: 'printer is back',
      attempts: '2',
      ...fields,
    });

  it('sent twice by one form is one action', async () => {
    const task = await failed();
    const { text } = await visitor.get(`/tasks/${task.id}/retry`);
    for (let i = 0; i < 2; i++) expect((await retry(task.id, text, {})).status).toBe(303);
    const kinds = await world.kinds(task.id);
    expect(kinds.filter((kind) => kind === 'retried')).toHaveLength(1);
    // Another form is another action.
    const other = await visitor.get(`/tasks/${task.id}/retry`);
    expect(hidden(other.text, 'actionId')).not.toBe(hidden(text, 'actionId'));
  });

  it('asks for a word where the effect may take place twice', async () => {
    const task = await failed({ effectSafety: 'non-idempotent' });
    const { text } = await visitor.get(`/tasks/${task.id}/retry`);
    expect(textOf(text)).toContain(
      'the effect may have taken place, and may take place once more.',
    );
    const refused = await retry(task.id, text, {});
    expect(refused.status).toBe(409);
    expect(textOf(refused.text)).toContain('a retry may repeat the effect');
    expect(refused.text).toContain('>printer is back</textarea>');
    expect((await retry(task.id, refused.text, { accept: 'yes' })).status).toBe(303);
    expect((await world.task(task.id)).status).toBe('queued');
  });

  it('shows what was typed again, with what is wrong where it stands', async () => {
    const task = await failed();
    const { text } = await visitor.get(`/tasks/${task.id}/retry`);
    const wrong = await retry(task.id, text, { reason: '  ', attempts: '5000' });
    expect(wrong.status).toBe(400);
    expect(wrong.text).toMatch(/name="attempts"[^>]* value="5000"[^>]* aria-invalid="true"/);
    expect(textOf(wrong.text)).toContain('Say why: whoever reads the journal wants to know.');
    expect(hidden(wrong.text, 'actionId')).toBe(hidden(text, 'actionId'));
    const long = await retry(task.id, text, { reason: 'y'.repeat(4_097) });
    expect(textOf(long.text)).toContain('It has 4097 characters; at most 4096 are kept.');
  });

  it('of a task that changed meanwhile shows how it is now', async () => {
    const task = await failed();
    const { text } = await visitor.get(`/tasks/${task.id}/retry`);
    await world.call('POST', `/tasks/${task.id}/retry`, {
      body: { actionId: 'x', ifSeq: task.seq, reason: 'somebody was first' },
    });
    const sent = await retry(task.id, text, {});
    expect(sent.status).toBe(409);
    expect(textOf(sent.text)).toContain('it changed since you looked');
    expect(textOf(sent.text)).toContain('this one is queued');
  });

  it('is neither offered nor done for a key that may not', async () => {
    const task = await failed();
    const producer = new Visitor(world, elsewhere);
    await producer.signIn(await world.key('task-producer'));
    const { text } = await producer.get(`/tasks/${task.id}`);
    expect(text).not.toContain(`/tasks/${task.id}/retry`);
    expect((await producer.get(`/tasks/${task.id}/retry`)).status).toBe(403);
    const token = await producer.token('/sign-in');
    const sent = await producer.post(
      `/tasks/${task.id}/retry`,
      { actionId: 'a', ifSeq: String(task.seq), reason: 'r' },
      { token },
    );
    expect(sent.status).toBe(403);
    expect((await world.task(task.id)).status).toBe('failed');
    const queued = await world.submit();
    expect((await producer.get(`/tasks/${queued.id}`)).text).toContain(
      `/tasks/${queued.id}/cancel`,
    );
  });
});

describe('resolve', () => {
  const resolve = (id: string, page: string, fields: Record<string, string>) =>
    visitor.post(`/tasks/${id}/resolve`, {
      actionId: hidden(page, 'actionId'),
      ifSeq: hidden(page, 'ifSeq'),
      reason: 'seen at the printer',
      ...fields,
    });

  it('shows what is known, and takes what was found with a result', async () => {
    const task = await unknown();
    const { text } = await visitor.get(`/tasks/${task.id}/resolve`);
    expect(textOf(text)).toMatch(
      /What is known SENT The printer said nothing .*Effect key, to look for outside/,
    );
    const none = await resolve(task.id, text, {});
    expect(none.status).toBe(400);
    expect(textOf(none.text)).toContain('Say what you found.');
    const broken = await resolve(task.id, text, {
      resolution: 'succeeded',
      result: '{"n":12345678901234567890}',
    });
    expect(textOf(broken.text)).toContain('an integer beyond 2^53');
    const mixed = await resolve(task.id, text, { resolution: 'failed', result: '1' });
    expect(textOf(mixed.text)).toContain('A result goes with an effect that took place.');
    const sent = await resolve(task.id, text, { resolution: 'succeeded', result: '{"pages":3}' });
    expect(sent.status).toBe(303);
    expect(await world.task(task.id)).toMatchObject({ status: 'succeeded', result: { pages: 3 } });
    expect(await shown(`/tasks/${task.id}`)).toContain('The task is resolved: it is succeeded.');
  });

  it.each([
    ['failed', 'failed'],
    ['retry', 'queued'],
  ])('as %s makes it %s', async (resolution, status) => {
    const task = await unknown();
    const { text } = await visitor.get(`/tasks/${task.id}/resolve`);
    expect((await resolve(task.id, text, { resolution })).status).toBe(303);
    expect((await world.task(task.id)).status).toBe(status);
  });

  it('offers a late report of a task that failed, and only that', async () => {
    const { task, attempt } = await world.running({}, { policy: { maxAttempts: 1 } });
    await world.gate(attempt);
    await world.clock.advance(600_000);
    await world.report(attempt, 'complete', { result: 7 });
    const { text } = await visitor.get(`/tasks/${task.id}/resolve`);
    expect(
      [...text.matchAll(/name="resolution" value="([^"]+)"/g)].map(([, value]) => value),
    ).toEqual(['late-report']);
    expect(text).toMatch(/value="late-report" required checked/);
    expect((await resolve(task.id, text, { resolution: 'late-report' })).status).toBe(303);
    expect(await world.task(task.id)).toMatchObject({ status: 'succeeded', result: 7 });
  });

  it('is not offered for a task that needs none', async () => {
    const task = await world.submit();
    expect(await shown(`/tasks/${task.id}/resolve`)).toContain('Only a task with unknown outcome');
  });
});
