/** claims/…: what is asked for, how often, and what becomes of an answer. */
import type { Exchange } from '../../../fcp/exchange.ts';
import type { LoggedRequest, TaskHandle } from '../../../fcp/fcp.ts';
import { NotApplicable } from '../../case.ts';
import { expect, same } from '../../check.ts';
import type { WorkerCase } from '../worker-case.ts';
import { effectsStay, endings, endWords, runsOn } from './attempt-steps.ts';
import { echo, effect, oneAttempt, QUIET_MS, sleep, taskWords } from './steps.ts';

type Wire = Record<string, unknown>;

/** Answers to a claim in which attempts stand as this makes them. */
const attemptsAs =
  (change: (attempts: unknown[]) => unknown) => (answer: { status: number; body?: unknown }) => {
    const body = answer.body as { attempts: unknown[] };
    return { ...answer, body: { ...body, attempts: change(body.attempts) } };
  };

const requestIds = (claims: readonly LoggedRequest[]) => claims.map(({ body }) => body?.requestId);

/** Never begun: neither a start nor a word of a handler. */
function untouched(task: TaskHandle): void {
  const ops = task.reports().map(({ op }) => op);
  const begun = ops.filter((op) => op === 'start' || op === 'complete');
  expect(
    begun.length === 0,
    `The worker sent ${begun.join(', ')} for ${taskWords(task)}, which it had to leave unbegun.`,
  );
}

export const claims: readonly WorkerCase[] = [
  {
    name: 'claims/repeated',
    title: 'repeats a claim without an answer with its requestId, and loses and doubles nothing',
    promises: ['2.11', '1.3'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const tasks = [fcp.offer(effect('a')), fcp.offer(effect('b'))];
      fcp.on('claim', (_, ctl) => ctl.cutAfter('rst'), { times: 1 });
      fcp.on('claim', (_, ctl) => ctl.html(502), { times: 1 });
      fcp.on('claim', (_, ctl) => ctl.html(200), { times: 1 });
      await world.worker();
      for (const task of tasks) await task.ended();
      const ids = requestIds(fcp.requests('claim').slice(0, 4));
      same(
        new Set(ids).size,
        1,
        'how many different request ids stood in a claim that got no answer and was sent four times',
      );
      for (const task of tasks) oneAttempt(task);
      same((await world.effects()).length, 2, 'how many lines handlers wrote to effects.jsonl');
    },
  },
  {
    name: 'claims/fresh-request-ids',
    title: 'makes a fresh, long requestId for each claim',
    promises: ['2.10'],
    handlers: [],
    async run(world) {
      const fcp = await world.controlPlane({ refuseHints: 503 });
      await world.worker();
      const seen = await fcp.until(
        () => fcp.requests('claim').filter(({ answered }) => answered).length >= 4,
        { what: 'four claims' },
      );
      expect(seen, 'Four claims did not come.');
      const ids = requestIds(fcp.requests('claim'));
      same(new Set(ids).size, ids.length, 'how many request ids were different, of all claims');
      const short = ids.find((id) => (id ?? '').length < 20);
      expect(
        short === undefined,
        `The requestId ${short} is too short to hold 128 bits of chance.`,
      );
    },
  },
  {
    name: 'claims/garbage',
    title: 'goes on claiming after answers that are none',
    promises: ['2.11', '1.2'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      fcp.on('claim', (_, ctl) => ctl.answer(200, { attempts: 'many' }), { times: 1 });
      fcp.on('claim', (_, ctl) => ctl.answer(200, ''), { times: 1 });
      fcp.on('claim', (_, ctl) => ctl.raw('no HTTP\r\n\r\n'), { times: 1 });
      fcp.on('claim', (_, ctl) => ctl.problem(500, 'INTERNAL'), { times: 1 });
      await world.worker();
      await runsOn(fcp, echo());
    },
  },
  {
    name: 'claims/beyond-slots',
    title: 'runs no more than it has slots for, and releases what an answer brings beyond',
    promises: ['2.15', '2.28'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const tasks = [1, 2, 3].map((n) => fcp.offer(effect(`${n}`, 3_000, { unasked: true })));
      fcp.on('claim', (_, ctl) => ctl.cutAfter('rst'), { times: 1 });
      await world.worker({ slots: 1 });
      const ends = await Promise.all(tasks.map((task) => task.ended()));
      same(
        ends.map(({ op }) => op).sort(),
        ['complete', 'release', 'release'],
        'the reports that ended three attempts, given to a worker with one slot',
      );
      for (const task of tasks) if (endings(task)[0] === 'release') untouched(task);
      same((await world.effects()).length, 1, 'how many lines handlers wrote to effects.jsonl');
    },
  },
  {
    name: 'claims/free-slots',
    title: 'claims for its free slots alone, and not at all while none is free',
    promises: ['2.28'],
    handlers: ['conformance/sleep'],
    async run(world) {
      const fcp = await world.controlPlane();
      const first = fcp.offer(sleep(9_000));
      await world.worker({ slots: 2 });
      await first.accepted('start');
      const from = fcp.log.length;
      await fcp.until(() => fcp.log.slice(from).some(({ route }) => route === 'claim'), {
        what: 'a claim for the other slot',
      });
      const much = fcp.log
        .slice(from)
        .find(({ route, body }) => route === 'claim' && (body?.max ?? 0) > 1);
      same(
        much?.body?.max,
        undefined,
        'the `max` of a claim of a worker with one free slot of two',
      );
      const second = fcp.offer(sleep(7_000));
      await second.accepted('start');
      await world.pause(500);
      await fcp.quiet('claim', 2_000);
      await Promise.all([first.ended(), second.ended()]);
    },
  },
  {
    name: 'claims/told-max',
    title: 'asks in one claim for no more than `limits.claimMax` says',
    promises: ['2.39'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane({ claimMax: 2 });
      const tasks = [1, 2, 3, 4, 5].map((n) => fcp.offer(echo(n)));
      await world.worker({ slots: 4 });
      for (const task of tasks) same((await task.ended()).op, 'complete', 'the end of a task');
      const most = Math.max(...fcp.requests('claim').map(({ body }) => body?.max ?? 0));
      expect(most <= 2, `A claim of a worker that was told 2 asked for ${most}.`);
    },
  },
  {
    name: 'claims/refused-max',
    title: 'claims on, for 100 at most, where a claim for more is refused',
    promises: ['2.39'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane({ claimMax: 200 });
      const large = ({ route, body }: LoggedRequest) => route === 'claim' && (body?.max ?? 0) > 100;
      fcp.on(large, (_, ctl) => ctl.problem(400, 'INVALID_REQUEST'));
      await world.worker({ slots: 150 });
      const first = await fcp.until(() => fcp.requests('claim').find(({ answered }) => answered), {
        what: 'a claim (POST /claims)',
      });
      if (!large(first)) throw new NotApplicable('it asks for no more than 100 at once');
      await runsOn(fcp, echo());
      const again = fcp.requests('claim').filter(large).length;
      expect(again <= 2, `${again} claims for more than 100 came while such claims were refused.`);
    },
  },
  {
    name: 'claims/known-attempt',
    title: 'begins no attempt twice, also where it comes again while it runs or after its end',
    promises: ['2.14'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(effect('once', 2_500));
      await world.worker();
      await world.done(1);
      task.again();
      await fcp.until(() => !task.queued, { what: 'that it was given out again' });
      await task.ended();
      task.again();
      await fcp.until(() => !task.queued, { what: 'that it was given out once more' });
      await effectsStay(world, 1);
    },
  },
  {
    name: 'claims/doubled-attempt',
    title: 'begins an attempt once that stands twice in an answer',
    promises: ['2.14'],
    handlers: ['conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const task = fcp.offer(effect('once', 1_000));
      fcp.on('claim', (_, ctl) => ctl.pass(attemptsAs((all) => [...all, ...all])));
      await world.worker();
      same((await task.ended()).op, 'complete', 'the end of the task');
      await effectsStay(world, 1);
    },
  },
  {
    name: 'claims/no-handler',
    title: 'releases an attempt for whose type it has no handler, and runs the others',
    promises: ['2.23'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const strange = [
        fcp.offer({ type: 'conformance/nothing', unasked: true }),
        fcp.offer(echo(1, { schemaVersion: 77, unasked: true })),
      ];
      const task = fcp.offer(echo());
      await world.worker({ slots: 4 });
      for (const one of strange) {
        const { op, body } = await one.ended();
        same(
          [op, body.reason],
          ['release', 'no-handler'],
          'op and reason of what ended a task for which the worker has no handler',
        );
      }
      same((await task.ended()).op, 'complete', 'the end of the other task');
    },
  },
  {
    name: 'claims/undecodable',
    title: 'releases an attempt that it cannot decode, and runs the others of the answer',
    promises: ['2.22'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      const wire = (attempt: Wire) => ({ ...attempt, schemaVersion: 'one' });
      const strange = fcp.offer(echo(1, { wire }));
      const task = fcp.offer(echo(2));
      // What has not even an id is nobody's.
      const junk = [null, 7, 'attempt', [], { attemptId: 7 }];
      fcp.on('claim', (_, ctl) => ctl.pass(attemptsAs((all) => [...junk, ...all])), { times: 1 });
      await world.worker({ slots: 4 });
      const { op, body } = await strange.ended();
      same(
        [op, body.reason],
        ['release', 'undecodable'],
        'op and reason of what ended an attempt whose schemaVersion is no number',
      );
      same((await task.ended()).op, 'complete', 'the end of the other task');
      untouched(strange);
    },
  },
  {
    name: 'claims/cancel-requested',
    title: 'starts no attempt that comes with a cancel requested, and answers `cancelled`',
    promises: ['2.24'],
    handlers: ['conformance/sleep', 'conformance/effect'],
    async run(world) {
      const fcp = await world.controlPlane();
      const tasks = [
        fcp.offer(effect('no', 0, { cancelRequested: true })),
        fcp.offer(sleep(5_000, { cancelRequested: true })),
      ];
      await world.worker();
      for (const task of tasks) {
        same(endWords(await task.ended()), 'cancelled', 'the end of a task to be cancelled');
        untouched(task);
      }
      await effectsStay(world, 0);
    },
  },
  {
    name: 'claims/poll-after',
    title: 'waits as long as `pollAfterMs` says before it asks again',
    promises: ['2.25'],
    handlers: [],
    async run(world) {
      const pollAfterMs = 4_000;
      const fcp = await world.controlPlane({ pollAfterMs, refuseHints: 503 });
      await world.worker();
      const three = () => fcp.requests('claim').length >= 3 && fcp.requests('claim');
      const seen = await fcp.until(three, { what: 'three claims' });
      for (const [i, { t }] of seen.entries()) {
        const gap = Math.round(t - (seen[i - 1]?.answered?.t ?? Number.NEGATIVE_INFINITY));
        const says = `A claim came ${gap} ms after an answer that said pollAfterMs ${pollAfterMs}.`;
        expect(gap >= pollAfterMs - 50, says);
      }
    },
  },
  {
    name: 'claims/retry-after',
    title: 'keeps to the Retry-After of a claim, which no hint cuts short, and ignores junk in it',
    promises: ['5.36', '5.37'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane();
      await world.worker();
      const soon = () => new Date(world.clock.wall() + 4_000).toUTCString();
      const answers = [
        [() => '3', 3_000],
        [soon, 2_000],
        [() => 'soon', 0],
      ] as const;
      for (const [words, leastMs] of answers) {
        let said = '';
        const busy = (_: LoggedRequest, ctl: Exchange) => {
          said = words();
          return ctl.problem(429, 'RATE_LIMITED', { 'retry-after': said });
        };
        const rule = fcp.on('claim', busy, { times: 1 });
        const told = await fcp.until(() => rule.seen[0]?.answered, {
          what: 'a claim (POST /claims)',
        });
        fcp.hints.wake('conformance/echo@1');
        const { t } = await fcp.next('claim');
        const says = `The next claim came ${Math.round(t - told.t)} ms after Retry-After: ${said}.`;
        expect(t - told.t >= leastMs - 50, says);
      }
      await runsOn(fcp, echo());
    },
  },
  {
    name: 'claims/pace',
    title: 'does not claim in a loop while answers bring nothing',
    promises: ['2.26', '2.25'],
    handlers: [],
    async run(world) {
      // Its own judge counts: not more than one in 200 ms.
      const fcp = await world.controlPlane({ pollAfterMs: 0 });
      await world.worker();
      for (let n = 0; n < 30; n++) {
        fcp.hints.wake('conformance/echo@1');
        await world.pause(100);
      }
      const count = fcp.requests('claim').length;
      expect(count <= 22, `${count} claims that brought nothing came in 3 s.`);
      await world.pause(QUIET_MS);
    },
  },
];
