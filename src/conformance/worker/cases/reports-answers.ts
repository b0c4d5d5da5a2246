/** reports/…: what counts as an answer to a report, and what does not. */
import type { Fcp, FcpOptions, LoggedRequest, RequestHandler } from '../../../fcp/fcp.ts';
import { same } from '../../check.ts';
import type { WorkerCase } from '../worker-case.ts';
import { comeAgain } from './come-again.ts';
import { about, came, completed, echo, silence } from './steps.ts';

/** The answer as it is, with other words in it. */
const saying =
  (words: (request: LoggedRequest) => Record<string, unknown>): RequestHandler =>
  (request, ctl) =>
    ctl.pass((answer) => ({
      ...answer,
      body: bent(answer.body as Record<string, unknown>, words(request)),
    }));

function bent(body: Record<string, unknown>, words: Record<string, unknown>): unknown {
  if (!Array.isArray(body.results)) return { ...body, ...words };
  const results = body.results.map((item) => ({ ...item, body: { ...item.body, ...words } }));
  return { ...body, results };
}

/** FCP believes its own words of acceptance, whatever they name. */
const LIED: FcpOptions = { tolerate: ['report-after-end', 'second-start'] };

export const answers: readonly WorkerCase[] = [
  {
    name: 'reports/once',
    title: 'reports a result once, and nothing more once that was accepted, also after a restart',
    promises: ['5.25', '5.12', '1.7'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const worker = await world.worker();
      const task = fcp.offer(echo({ text: 'Grüße ☃', list: [1, null, true], ms: 300 }));
      const { body } = await task.ended();
      same(body.result, task.task.offer.input, 'the result');
      await silence(fcp, task, 'complete');
      await worker.kill();
      const before = task.reports().length;
      await world.worker();
      await fcp.quiet('reports', 2_000);
      same(
        task.reports().length - before,
        0,
        'how many reports of the answered task came after the restart',
      );
    },
  },
  {
    name: 'reports/lost-answer',
    title: 'sends a report again, as it was, when its answer was lost',
    promises: ['5.35', '5.2'],
    handlers: ['conformance/echo'],
    run: (world) =>
      comeAgain(world, {
        'a connection cut before': (_, ctl) => ctl.cutBefore('rst'),
        'a connection cut after': (_, ctl) => ctl.cutAfter('rst'),
        'an answer cut in its middle': (_, ctl) => ctl.cutMidway('rst'),
      }),
  },
  {
    name: 'reports/foreign-page',
    title: 'takes the page of a proxy for no answer, whatever its status',
    promises: ['5.35', '5.25'],
    handlers: ['conformance/echo'],
    run: (world) =>
      comeAgain(world, {
        'an HTML page with 200': (_, ctl) => ctl.html(200),
        'an HTML page with 502': (_, ctl) => ctl.html(502),
        'an HTML page with 400': (_, ctl) => ctl.html(400),
      }),
  },
  {
    name: 'reports/empty-answer',
    title: 'takes an answer that says nothing for none',
    promises: ['5.35', '5.25'],
    handlers: ['conformance/echo'],
    run: (world) =>
      comeAgain(world, {
        '200 {}': (_, ctl) => ctl.answer(200, {}),
        'an empty body': (_, ctl) => ctl.answer(200, ''),
        'no content': (_, ctl) => ctl.answer(204),
      }),
  },
  {
    name: 'reports/strange-answer',
    title: 'takes another success than 200, and what is no HTTP, for no answer',
    promises: ['5.35', '5.25'],
    handlers: ['conformance/echo'],
    run: (world) =>
      comeAgain(world, {
        'another 2xx': (_, ctl) => ctl.pass((answer) => ({ ...answer, status: 202 })),
        'bytes that are no HTTP': (_, ctl) => ctl.raw('SSH-2.0-OpenSSH_9.6\r\n'),
      }),
  },
  {
    name: 'reports/not-accepted',
    title: 'takes an answer without `accepted: true` for none',
    promises: ['5.25', '5.35'],
    handlers: ['conformance/echo'],
    run: (world) =>
      comeAgain(world, {
        'accepted missing': saying(() => ({ accepted: undefined })),
        'accepted false': saying(() => ({ accepted: false })),
        'accepted as a word': saying(() => ({ accepted: 'true' })),
      }),
  },
  {
    name: 'reports/other-acceptance',
    title: 'takes the acceptance of another report for none',
    promises: ['5.25', '5.35'],
    handlers: ['conformance/echo'],
    run: (world) =>
      comeAgain(
        world,
        {
          'another attempt': saying(() => ({ attemptId: 'att_other' })),
          'another fence': saying(() => ({ fence: 77 })),
          'another op': saying(() => ({ op: 'renew' })),
        },
        LIED,
      ),
  },
  {
    name: 'reports/doubled-answer',
    title: 'takes an answer that comes twice on one connection for its own report alone',
    promises: ['5.25'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      fcp.on('reports', (_, ctl) => ctl.twice());
      const tasks = [1, 2, 3, 4, 5, 6].map((n) => fcp.offer(echo({ n })));
      await world.worker({ slots: 3 });
      for (const task of tasks) await completed(task);
    },
  },
  {
    name: 'reports/replayed',
    title: 'takes `replayed: true` for an acceptance',
    promises: ['5.25'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(echo(1));
      fcp.on(about(task, 'complete'), (_, ctl) => ctl.cutAfter('rst'), { times: 1 });
      await world.worker();
      const [, again] = await came(fcp, task, 'complete', 2);
      await fcp.until(() => again?.request.answered, { what: 'the answer to the second report' });
      same(again?.answer?.body.replayed, true, '`replayed` in the answer to the second report');
      await silence(fcp, task, 'complete');
      await runsOn(fcp);
    },
  },
];

/** A worker that is content takes the next task. */
async function runsOn(fcp: Fcp): Promise<void> {
  await fcp.offer(echo('next')).ended();
}
