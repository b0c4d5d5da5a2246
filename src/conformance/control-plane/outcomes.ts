import { same } from '../check.ts';
import type { ControlPlaneCase } from './index.ts';
import {
  accepted,
  entries,
  failure,
  type GivenOptions,
  given,
  isNow,
  lost,
  oneLine,
} from './steps.ts';
import type { TaskShape } from './wire-shapes.ts';
import type { ControlPlaneWorld } from './world.ts';

/** The table of section 4: what follows from what happened, left and right. */
export const outcomes: readonly ControlPlaneCase[] = [
  {
    name: 'outcomes/complete',
    title: 'ends a task as succeeded on complete, left and right of the gate',
    promises: ['4.8', '6.20'],
    async run(world) {
      for (const side of ['left', 'right'] as const)
        for (const options of sides[side]) {
          const result = { of: options.word, list: [1, null, 'ü\u0000'] };
          const task = await after(world, options, 'complete', { result });
          same(task.status, 'succeeded', `the status, ${options.word}`);
          same(task.result, result, `the result, ${options.word}`);
        }
    },
  },
  {
    name: 'outcomes/complete-without-start',
    title:
      'takes an outcome without a start, and notes the skipped gate of a non-idempotent attempt',
    promises: ['3.4', '4.28'],
    async run(world) {
      const rows = { complete: [{ result: 1 }, 'succeeded'], fail: [failure(), 'failed'] } as const;
      for (const [op, [fields, kind]] of Object.entries(rows)) {
        const task = await after(world, { word: op }, op, fields);
        same([task.status, task.attempts], [kind, 1], 'status and attempts of the task');
        const [entry] = await entries(world, task, kind);
        same(entry?.data.gateSkipped, true, `\`data.gateSkipped\` of the ${kind} entry`);
      }
    },
  },
  {
    name: 'outcomes/retryable-failure-left',
    title: 'queues a task again on a retryable failure until its attempts are used up',
    promises: ['4.9', '4.36', '8.6', '4.31'],
    async run(world) {
      const error = { details: { asked: ['a', 1] } };
      for (const options of sides.left) {
        const { task, worker, attempt } = await given(world, {
          ...options,
          policy: { maxAttempts: 2 },
        });
        same(attempt.attempt, 1, 'the number of the first attempt');
        (await worker.report(attempt, 'fail', failure(true, error))).is(200);
        await isNow(world, task, 'queued');
        const { passed: _, task: __, ...claim } = options;
        const last = await worker.claimOne(task.type, claim);
        same(last.attempt, 2, 'the number of the second attempt');
        (await worker.report(last, 'fail', failure(true, error))).is(200);
        const ended = await isNow(world, task, 'failed');
        same(ended.attempts, 2, 'the attempts of the task');
        const { code, message, details, effect } = ended.error ?? {};
        const said = { code: 'KIT_SAID_SO', message: 'The case wants it so.', ...error };
        same({ code, message, details }, said, 'the error of the task');
        same(effect, undefined, '`error.effect`');
      }
    },
  },
  {
    name: 'outcomes/retryable-failure-right',
    title: 'repeats nothing after a failure past the gate, retryable or not',
    promises: ['4.10', '4.13'],
    async run(world) {
      for (const options of sides.right)
        for (const retryable of [true, false]) {
          const word = `${options.word}-${retryable}`;
          const task = await after(world, { ...options, word }, 'fail', failure(retryable));
          same(task.status, 'failed', `the status, ${word}`);
          same(task.error?.effect, 'begun', `\`error.effect\`, ${word}`);
          same(task.error?.code, 'KIT_SAID_SO', `the code, ${word}`);
        }
    },
  },
  {
    name: 'outcomes/failure-left',
    title: 'ends a task as failed on a failure that is not retryable, and says of no effect',
    promises: ['4.12'],
    async run(world) {
      for (const options of sides.left) {
        const task = await after(world, options, 'fail', failure(false));
        same(task.status, 'failed', `the status, ${options.word}`);
        same(task.error?.effect, undefined, `\`error.effect\`, ${options.word}`);
      }
    },
  },
  {
    name: 'outcomes/not-called',
    title:
      'takes a failure of a handler that was never called as one before the gate, and tells it',
    promises: ['4.42', '4.44'],
    async run(world) {
      const [pastStart] = sides.right as readonly [Side];
      for (const options of [...sides.left, pastStart]) {
        // What has made its effect known was called.
        if (options.passed === 'effect') continue;
        const said = { ...failure(false), begun: false };
        const task = await after(world, { ...options, word: `${options.word}-ends` }, 'fail', said);
        same(task.status, 'failed', `the status, ${options.word}`);
        const { effect, begun } = task.error ?? {};
        same(
          [effect, begun],
          [undefined, false],
          `what \`error\` says of an effect, ${options.word}`,
        );
        const [entry] = await entries(world, task, 'failed');
        same(entry?.data.begun, false, `\`data.begun\` of the failed entry, ${options.word}`);
        const again = { ...failure(true), begun: false };
        const later = await after(
          world,
          { ...options, word: `${options.word}-again` },
          'fail',
          again,
        );
        same(later.status, 'queued', `the status after a retryable one, ${options.word}`);
      }
      const right = { ...pastStart, word: 'other-words' };
      for (const begun of [true, null, 0, 'false'])
        same(
          (await after(world, right, 'fail', { ...failure(), begun })).error?.effect,
          'begun',
          `\`error.effect\` of a failure with \`begun: ${JSON.stringify(begun)}\``,
        );
    },
  },
  {
    name: 'outcomes/not-called-after-all',
    title:
      'does not believe that a handler was never called that made its effect or its progress known',
    promises: ['4.43'],
    async run(world) {
      for (const retryable of [true, false])
        for (const op of ['effect', 'progress']) {
          const word = `${op}-${retryable}`;
          const { task, worker, attempt } = await given(world, { word, passed: 'start' });
          accepted(await worker.report(attempt, op, { n: 1 }), attempt, op);
          const fields = { ...failure(retryable), begun: false };
          accepted(await worker.report(attempt, 'fail', fields), attempt, 'fail');
          const { status, error } = await world.task(task.id);
          const says = [status, error?.effect, error?.begun];
          const expected = ['failed', 'begun', undefined];
          same(says, expected, `the task whose handler was never called, after its ${op}`);
        }
    },
  },
  {
    name: 'outcomes/unknown',
    title: 'ends a task as outcome-unknown where its handler says so, left and right',
    promises: ['4.11'],
    async run(world) {
      for (const side of ['left', 'right'] as const)
        for (const options of sides[side]) {
          const task = await after(world, options, 'unknown', failure());
          same(task.status, 'outcome-unknown', `the status, ${options.word}`);
        }
    },
  },
  {
    name: 'outcomes/lost-left',
    title: 'queues a task again that was lost before its effect began, then fails it as exhausted',
    promises: ['4.14', '8.5', '4.36'],
    async run(world) {
      for (const options of sides.left) {
        const { task, worker, attempt } = await given(world, {
          ...options,
          policy: { maxAttempts: 2 },
        });
        (await worker.report(attempt, 'lost', lost('host-died'))).is(200);
        await isNow(world, task, 'queued');
        const { passed: _, task: __, ...claim } = options;
        const last = await worker.claimOne(task.type, claim);
        (await worker.report(last, 'lost', lost('timeout'))).is(200);
        const ended = await isNow(world, task, 'failed');
        same(ended.error?.code, 'ATTEMPTS_EXHAUSTED', `the code, ${options.word}`);
        same(ended.error?.details?.reason, 'timeout', `\`details.reason\`, ${options.word}`);
      }
    },
  },
  {
    name: 'outcomes/lost-right',
    title: 'ends a task as outcome-unknown that was lost past its gate, for whatever reason',
    promises: ['4.15', '8.5'],
    async run(world) {
      const reasons = ['worker-restarted', 'host-died', 'timeout', 'lease', 'drain'];
      for (const options of sides.right)
        for (const reason of reasons) {
          const word = `${options.word}-${reason}`;
          const task = await after(world, { ...options, word }, 'lost', lost(reason));
          same(task.status, 'outcome-unknown', `the status, ${word}`);
          same(task.error?.code, 'OUTCOME_UNKNOWN', `the code, ${word}`);
          same(task.error?.details?.reason, reason, `\`details.reason\`, ${word}`);
        }
    },
  },
  {
    name: 'outcomes/start-is-not-the-effect-gate',
    title: 'takes the start of an attempt whose gate is effect as no gate',
    promises: ['4.7', '4.14'],
    async run(world) {
      const options = { effectGate: 'effect', passed: 'start', word: 'gate' } as const;
      const task = await after(world, options, 'lost', lost());
      same(task.status, 'queued', 'the status after a loss between start and effect');
    },
  },
  {
    name: 'outcomes/effect-is-start-too',
    title: 'takes an accepted effect as the start',
    promises: ['4.6'],
    async run(world) {
      const { task, worker, attempt } = await given(world);
      accepted(await worker.report(attempt, 'effect'), attempt, 'effect');
      const start = accepted(await worker.report(attempt, 'start'), attempt, 'start');
      same(start.replayed, true, '`replayed` of a start after the effect');
      (await worker.report(attempt, 'release', { reason: 'drain' })).refuses(409, 'NOT_RELEASABLE');
      (await worker.report(attempt, 'lost', lost())).is(200);
      await isNow(world, task, 'outcome-unknown');
    },
  },
  {
    name: 'outcomes/counting',
    title:
      'counts an attempt from its first start, effect, progress, log or outcome, never by renewals',
    promises: ['4.28'],
    async run(world) {
      const worker = world.worker();
      for (const op of ['start', 'effect', 'progress', 'log', 'renew']) {
        const { task, attempt } = await given(world, { worker, word: op, effectSafety: 'pure' });
        for (const n of [1, 2])
          accepted(await worker.report(attempt, op, { n, lines: oneLine }), attempt, op);
        const counted = op === 'renew' ? 0 : 1;
        same((await world.task(task.id)).attempts, counted, `the attempts after two ${op}`);
      }
    },
  },
  {
    name: 'outcomes/counting-losses',
    title:
      'counts a loss that had begun, and takes one that had not, or was for drain, as undelivered',
    promises: ['4.28', '4.29', '4.31'],
    async run(world) {
      const worker = world.worker();
      const rows = [
        ['begun', lost('host-died', true), false, [1, 0]],
        ['not-begun', lost('host-died', false), false, [0, 1]],
        ['started', lost('host-died', false), true, [1, 0]],
        ['drain', lost('drain', true), true, [0, 1]],
      ] as const;
      for (const [word, fields, starts, expected] of rows) {
        const options = { worker, word, effectSafety: 'pure' } as const;
        const { task, attempt } = await given(world, { ...options, ...(starts && started) });
        (await worker.report(attempt, 'lost', fields)).is(200);
        const now = await world.task(task.id);
        const counts = [now.attempts, now.undelivered];
        same(counts, [...expected], `attempts and undelivered after a loss (${word})`);
        const next = await worker.claimOne(task.type);
        same(next.attempt, expected[0] + 1, `the number of the next attempt (${word})`);
      }
    },
  },
  {
    name: 'outcomes/max-attempts',
    title: 'gives a task no more counted attempts than maxAttempts',
    promises: ['4.36'],
    async run(world) {
      const policy = { maxAttempts: 3 };
      const options = { effectSafety: 'pure', policy } as const;
      const { task, worker, attempt } = await given(world, options);
      (await worker.report(attempt, 'lost', lost('drain'))).is(200);
      for (const number of [1, 2, 3]) {
        await isNow(world, task, 'queued');
        const next = await worker.claimOne(task.type, { effectSafety: 'pure' });
        same(next.attempt, number, 'the number of the attempt');
        const fields = number === 2 ? lost() : failure(true);
        (await worker.report(next, number === 2 ? 'lost' : 'fail', fields)).is(200);
      }
      same((await isNow(world, task, 'failed')).attempts, 3, 'the attempts of the task');
    },
  },
];

const started = { passed: 'start' } as const;

type Side = GivenOptions & { readonly word: string };

/** The two columns of the table. */
const sides: { readonly left: readonly Side[]; readonly right: readonly Side[] } = {
  left: [
    { word: 'pure', effectSafety: 'pure', passed: 'start' },
    { word: 'idempotent', effectSafety: 'idempotent', passed: 'effect' },
    { word: 'before-start', effectSafety: 'non-idempotent' },
    {
      word: 'before-effect',
      effectSafety: 'non-idempotent',
      effectGate: 'effect',
      passed: 'start',
    },
  ],
  right: [
    { word: 'past-start', effectSafety: 'non-idempotent', passed: 'start' },
    { word: 'past-effect', effectGate: 'effect', passed: 'effect' },
  ],
};

/** The task after one report of an attempt. */
async function after(
  world: ControlPlaneWorld,
  options: GivenOptions,
  op: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<TaskShape> {
  const { task, worker, attempt } = await given(world, options);
  accepted(await worker.report(attempt, op, fields), attempt, op);
  return world.task(task.id);
}
