import { expect, same, shown } from '../check.ts';
import { isInstant, limitsOf, listed, refusesAt } from './faults.ts';
import type { ControlPlaneCase } from './index.ts';
import { soon } from './steps.ts';

/** Fields of section 4 that a submission need not give, and what they then are. */
const DEFAULTS = {
  maxAttempts: 5,
  backoff: { initialMs: 5_000, factor: 2, maxMs: 120_000, jitter: 0.2 },
  attemptTimeoutMs: 3_600_000,
  lostGraceMs: 300_000,
};

/** What a task is made of: its fields, their defaults and their bounds. */
export const submission: readonly ControlPlaneCase[] = [
  {
    name: 'submission/view',
    title: 'answers a submission with 201 and the task, its defaults filled in',
    promises: ['6.9', '6.1', '1.4'],
    async run(world) {
      const body = { type: world.type(), schemaVersion: 1, input: { a: 1 } };
      const task = (await world.submitting({}, { body })).is(201).body();
      expect(
        /^[a-z]+_[A-Za-z0-9]+$/.test(String(task.id)),
        `the id is ${shown(task.id)}; expected is an id such as tsk_….`,
      );
      const { type, schemaVersion, status, pool, priority, attempts, undelivered, seq } = task;
      same(
        { type, schemaVersion, status, pool, priority, attempts, undelivered, seq },
        {
          type: body.type,
          schemaVersion: 1,
          status: 'queued',
          pool: 'default',
          priority: 0,
          attempts: 0,
          undelivered: 0,
          seq: 1,
        },
        'the task',
      );
      same(task.effectKey, task.id, 'the effectKey of a task that gave none');
      expect(
        isInstant(task.createdAt),
        `createdAt is ${shown(task.createdAt)}; expected is an instant in UTC.`,
      );
      const read = await world.task(String(task.id));
      same(read.id, task.id, 'the id of the task when it is read');
      same(read.input, { a: 1 }, 'the input of the task when it is read');
    },
  },
  {
    name: 'submission/policy-defaults',
    title: 'fills a policy that is not given with the defaults of the contract and shows it',
    promises: ['4.35'],
    async run(world) {
      const { leaseMs } = await limitsOf(world);
      const { policy } = await world.submit();
      const { maxAttempts, backoff, attemptTimeoutMs, lostGraceMs, ...rest } = policy as Record<
        string,
        unknown
      >;
      same({ maxAttempts, backoff, attemptTimeoutMs, lostGraceMs }, DEFAULTS, 'the policy');
      same(rest.leaseMs, leaseMs.default, 'policy.leaseMs');
      same(rest.queueTimeoutMs ?? null, null, 'policy.queueTimeoutMs');
      same(rest.deadlineAt ?? null, null, 'policy.deadlineAt');
    },
  },
  {
    name: 'submission/policy-in-part',
    title: 'keeps what a policy gives and fills the rest of it',
    promises: ['4.35'],
    async run(world) {
      const given = { maxAttempts: 2, backoff: { initialMs: 7 }, attemptTimeoutMs: null };
      const { policy } = await world.submit({ policy: given });
      const { maxAttempts, backoff, attemptTimeoutMs, lostGraceMs } = policy as Record<
        string,
        unknown
      >;
      same(
        { maxAttempts, backoff, attemptTimeoutMs: attemptTimeoutMs ?? null, lostGraceMs },
        {
          ...DEFAULTS,
          maxAttempts: 2,
          backoff: { ...DEFAULTS.backoff, initialMs: 7 },
          attemptTimeoutMs: null,
        },
        'the policy',
      );
    },
  },
  {
    name: 'submission/values-come-back',
    title: 'gives input, labels and result back as the JSON values they were',
    promises: ['6.20', '6.3'],
    async run(world) {
      const value = {
        text: 'a\u0000b \u{1f680} é e\u0301 \u2028 </script> "\\',
        numbers: [0, -1, 0.1, -1.5e-7, 1e-300, 9007199254740991, -9007199254740991],
        nothing: null,
        '': [[], {}, '', false, true],
        constructor: 'is a name like any other',
      };
      const labels = { conformance: 'ü\u0000\u{1f680}', 'a b': '' };
      const task = await world.submit({ input: value, labels });
      const worker = world.worker();
      const attempt = await worker.claimOne(task.type);
      same(attempt.input, value, 'the input of the attempt');
      same(attempt.labels, labels, 'the labels of the attempt');
      (await worker.report(attempt, 'complete', { result: value })).is(200);
      const done = await world.task(task.id);
      same(done.input, value, 'the input of the task');
      same(done.labels, labels, 'the labels of the task');
      same(done.result, value, 'the result of the task');
    },
  },
  {
    name: 'submission/names',
    title: 'refuses names of another form, with the path',
    promises: ['6.8', '8.3'],
    async run(world) {
      const wrong: Record<string, unknown>[] = [
        ...[
          '',
          'a//b',
          '/a',
          'a/',
          'a b',
          'ä',
          'a/-b',
          `${world.type()}/${'x'.repeat(200)}`,
          7,
        ].map((type) => ({ type })),
        ...[0, -1, 1.5, '1', null].map((schemaVersion) => ({ schemaVersion })),
        ...['', 'a b', 'a//b', 'ä', 7].map((pool) => ({ pool })),
      ];
      for (const fields of wrong)
        refusesAt(await world.submitting(fields), Object.keys(fields)[0] ?? '');
    },
  },
  {
    name: 'submission/longest-names',
    title: 'takes a type of 200 characters and a pool with colons',
    promises: ['6.8'],
    async run(world) {
      const type = `${world.type()}/`.padEnd(200, 'x');
      const task = await world.submit({ type, pool: `${world.pool}:a/b:c` });
      same(task.type, type, 'the type of the task');
      same(task.pool, `${world.pool}:a/b:c`, 'the pool of the task');
    },
  },
  {
    name: 'submission/version-in-type',
    title: 'says of a type with a version in it to use schemaVersion',
    promises: ['6.8'],
    async run(world) {
      const seen = await world.submitting({ type: `${world.type()}@1` });
      refusesAt(seen, 'type');
      expect(
        seen.text.includes('schemaVersion'),
        `The refusal does not name schemaVersion: ${seen.text.slice(0, 300)}`,
      );
    },
  },
  {
    name: 'submission/unknown-fields',
    title: 'refuses unknown fields with their path, and makes no task',
    promises: ['6.10'],
    async run(world) {
      refusesAt(await world.submitting({ maxAttempts: 3 }), 'maxAttempts');
      refusesAt(await world.submitting({ policy: { retries: 3 } }), 'policy.retries');
      refusesAt(await world.submitting({ policy: { backoff: { ms: 3 } } }), 'policy.backoff.ms');
      same((await listed(world, world.type())).length, 0, 'the number of tasks that were made');
    },
  },
  {
    name: 'submission/missing-fields',
    title: 'tells each field that is missing or wrong, not only the first',
    promises: ['8.3'],
    async run(world) {
      refusesAt(await world.submitting({}, { body: {} }), 'type', 'schemaVersion', 'input');
      const wrong = { priority: 'high', policy: { maxAttempts: 'many' }, labels: { a: 1 } };
      refusesAt(await world.submitting(wrong), 'priority', 'policy.maxAttempts', 'labels.a');
    },
  },
  {
    name: 'submission/priority',
    title: 'takes priorities from −100 to 100 and no others',
    promises: ['8.3'],
    async run(world) {
      for (const priority of [-100, 100])
        same((await world.submit({ priority })).priority, priority, 'the priority of the task');
      for (const priority of [-101, 101, 0.5, '5'])
        refusesAt(await world.submitting({ priority }), 'priority');
    },
  },
  {
    name: 'submission/durations-and-instants',
    title: 'refuses a duration that is no integer and an instant that is none, with the path',
    promises: ['6.1', '8.3'],
    async run(world) {
      for (const [name, value] of [
        ['leaseMs', 1_500.5],
        ['leaseMs', '30000'],
        ['queueTimeoutMs', 0.5],
        ['attemptTimeoutMs', 'PT1H'],
        ['lostGraceMs', -1],
        ['deadlineAt', 'tomorrow'],
        ['deadlineAt', 1_900_000_000_000],
      ] as const)
        refusesAt(await world.submitting({ policy: { [name]: value } }), `policy.${name}`);
      refusesAt(await world.submitting({ notBeforeAt: '2031-02-30' }), 'notBeforeAt');
    },
  },
  {
    name: 'submission/labels',
    title: 'takes 64 labels with values of 4,096 characters and no more, strings only',
    promises: ['6.8'],
    async run(world) {
      const many = (count: number, chars: number) =>
        Object.fromEntries(Array.from({ length: count }, (_, n) => [`l${n}`, 'ü'.repeat(chars)]));
      const most = many(64, 1);
      same((await world.submit({ labels: most })).labels, most, 'the labels of the task');
      const longest = many(1, 4_096);
      same((await world.submit({ labels: longest })).labels, longest, 'the labels of the task');
      refusesAt(await world.submitting({ labels: many(65, 1) }), 'labels');
      refusesAt(await world.submitting({ labels: many(1, 4_097) }), 'labels.l0');
      refusesAt(await world.submitting({ labels: { a: ['b'] } }), 'labels.a');
    },
  },
  {
    name: 'submission/inline-limit',
    title: 'takes an input of exactly inlineBytes, counted in UTF-8, and answers 413 above',
    promises: ['6.42'],
    async run(world) {
      const { inlineBytes } = await limitsOf(world);
      // Two quotes and characters of two bytes each, so that characters and bytes differ.
      const text = 'ü'.repeat(Math.floor((inlineBytes - 2) / 2)) + 'x'.repeat(inlineBytes % 2);
      (await world.submitting({ input: text })).is(201);
      (await world.submitting({ input: `${text}x` })).refuses(413, 'PAYLOAD_TOO_LARGE');
      same((await listed(world, world.type())).length, 1, 'the number of tasks that were made');
    },
  },
  {
    name: 'submission/effect-key',
    title: 'gives each attempt the effectKey of the submission',
    promises: ['1.4'],
    async run(world) {
      const effectKey = `order 4711 ${world.id('key')}`;
      const task = await world.submit({ effectKey, policy: { backoff: soon } });
      same(task.effectKey, effectKey, 'the effectKey of the task');
      const worker = world.worker();
      for (const what of ['first', 'second']) {
        const attempt = await worker.claimOne(task.type);
        same(attempt.effectKey, effectKey, `the effectKey of the ${what} attempt`);
        (await worker.report(attempt, 'release', { reason: 'no-handler' })).is(200);
      }
    },
  },
];
