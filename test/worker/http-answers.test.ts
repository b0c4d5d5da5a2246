/** What a control plane, or something between it and the worker, may answer to a report, on real sockets. */
import { describe, it } from 'vitest';
import { returned } from '../../sim/carrier.ts';
import { carrying } from '../../src/fcp/fcp.ts';
import type { RequestHandler } from '../../src/fcp/options.ts';
import { Field } from './harness.ts';

const noAnswers: Record<string, RequestHandler> = {
  'an HTML page with 200': (_, ctl) => ctl.html(200),
  'an HTML page with 502': (_, ctl) => ctl.html(502),
  'an HTML page with 403': (_, ctl) => ctl.html(403),
  'an HTML page with 404': (_, ctl) => ctl.html(404),
  '200 {}': (_, ctl) => ctl.answer(200, {}),
  'an empty body': (_, ctl) => ctl.answer(200, ''),
  '204': (_, ctl) => ctl.answer(204),
  '201': (_, ctl) => ctl.pass((answer) => ({ ...answer, status: 201 })),
  'a redirect with 302': (request, ctl) => ctl.redirect(302, request.path),
  'a redirect with 301': (request, ctl) => ctl.redirect(301, request.path),
  'a redirect to another origin': (request, ctl) =>
    ctl.redirect(307, `http://127.0.0.2:9${request.path}`),
  'a cut before': (_, ctl) => ctl.cutBefore('rst'),
  'a cut after': (_, ctl) => ctl.cutAfter('fin'),
  'a cut in the middle of the answer': (_, ctl) => ctl.cutMidway('rst'),
  'bytes that are no HTTP': (_, ctl) => ctl.raw('SSH-2.0-OpenSSH_9.6\r\n'),
  'the acceptance of another report': (request, ctl) =>
    ctl.pass((answer) => ({
      ...answer,
      body: JSON.parse(
        JSON.stringify(answer.body).replaceAll(request.reports[0]?.attemptId ?? '', 'att_other'),
      ),
    })),
};

describe.concurrent('a report is sent again, as it was, after', () => {
  it.each(Object.entries(noAnswers))('%s', async (name, bend) => {
    // FCP takes its own words for an acceptance, whomever they name.
    const lied = name === 'the acceptance of another report';
    await using field = await Field.open({
      tolerate: lied ? ['report-after-end', 'second-start'] : [],
    });
    const { fcp } = field;
    const task = fcp.offer({ type: 'demo/hello', effectSafety: 'pure' });
    fcp.on(carrying('complete'), bend, { times: 1 });
    const one = await field.start({ scripts: { 'demo/hello': () => returned({ n: 1 }) } });
    await fcp.until(() => fcp.reports.filter(({ op }) => op === 'complete').length >= 2);
    await task.ended();
    await fcp.until(() => one.worker.status().unanswered === 0);
    await one.spool.idle();
    const bodies = fcp.reports
      .filter(({ op }) => op === 'complete')
      .map(({ body }) => JSON.stringify(body));
    if (new Set(bodies).size !== 1) throw new Error(`another body: ${bodies.join('\n')}`);
    const { setAside, pending } = one.spool.stats();
    if (setAside.refused + setAside.stale + pending > 0) throw new Error('it was set aside');
    if (one.carrier.started.length !== 1) throw new Error('its handler ran again');
  });
});

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toUTCString();

describe.concurrent('Retry-After', () => {
  it.each([
    ['in seconds', () => '2', 2_000, 3_600],
    ['as a date', () => inSeconds(3), 1_800, 4_600],
    ['as junk', () => 'soon', 0, 1_500],
    ['as a negative number', () => '-5', 0, 1_500],
  ])('%s holds for its report and no other', async (_, header, least, most) => {
    await using field = await Field.open();
    const { fcp } = field;
    const first = fcp.offer({ type: 'demo/hello', effectSafety: 'pure', input: 1 });
    fcp.on(
      carrying('complete'),
      (_, ctl) => ctl.problem(429, 'RATE_LIMITED', { 'retry-after': header() }),
      { times: 1 },
    );
    await field.start({ scripts: { 'demo/hello': () => returned(1) } });
    await fcp.until(() => first.reports('complete').length === 1);
    const others = [2, 3].map((input) =>
      fcp.offer({ type: 'demo/hello', effectSafety: 'pure', input }),
    );
    for (const other of others) await other.ended({ timeoutMs: 1_900 });
    await first.ended();
    const [one, two] = first.reports('complete');
    const gap = (two?.t ?? 0) - (one?.t ?? 0);
    if (gap < least || gap > most) throw new Error(`it came again after ${gap} ms`);
  });
});

it('follows a redirect within its origin, with the same method and body', async () => {
  await using field = await Field.open();
  const { fcp } = field;
  const task = fcp.offer({ type: 'demo/hello', effectSafety: 'pure' });
  fcp.on('any', (request, ctl) => ctl.redirect(307, request.path), { times: 3 });
  await field.start();
  await task.ended();
});

it('takes 413 of a proxy for a refusal in any shape: the result is set aside, RESULT_REFUSED follows', async ({
  expect,
}) => {
  await using field = await Field.open();
  const { fcp } = field;
  const task = fcp.offer({ type: 'demo/hello', effectSafety: 'pure' });
  fcp.on(carrying('complete'), (_, ctl) => ctl.html(413));
  const one = await field.start({ scripts: { 'demo/hello': () => returned('x'.repeat(1_000)) } });
  expect(await task.ended()).toMatchObject({
    op: 'fail',
    body: { error: { code: 'RESULT_REFUSED', details: { handlerReturned: true } } },
  });
  expect(one.spool.stats().setAside.refused).toBe(1);
});

it('reports a result that is too large for the control plane as refused, and its neighbour as done', async ({
  expect,
}) => {
  await using field = await Field.open({ inlineBytes: 2_000 });
  const { fcp } = field;
  const [large, small] = [5_000, 10].map((input) =>
    fcp.offer({ type: 'demo/hello', effectSafety: 'pure', input }),
  );
  await field.start({
    scripts: { 'demo/hello': ({ job }) => returned('x'.repeat(Number(job.input))) },
  });
  expect((await small?.ended())?.op).toBe('complete');
  expect((await large?.ended())?.body.error).toMatchObject({ code: 'RESULT_REFUSED' });
});

it('notes a late report that the control plane keeps', async ({ expect }) => {
  await using field = await Field.open();
  const { fcp } = field;
  const task = fcp.offer({ type: 'demo/hello', effectSafety: 'pure' });
  let finish: () => void = () => {};
  const one = await field.start({
    scripts: {
      'demo/hello': () =>
        new Promise((resolve) => {
          finish = () => resolve(returned('late'));
        }),
    },
  });
  await fcp.until(() => one.carrier.running === 1);
  fcp.expire(task.attemptIds[0] ?? '');
  finish();
  await fcp.until(() => task.latest?.late);
  await fcp.until(() => one.worker.status().attempts.length === 0);
  await fcp.until(() => one.spool.stats().setAside.stale === 1);
  expect(one.log.of('report.stale')[0]?.text).toMatch(/kept it as a late report/);
  await fcp.quiet('reports', 1_500);
});
