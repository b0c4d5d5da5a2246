import { expect, it } from 'vitest';
import type { Care } from '../../src/contract/care.ts';
import { lessCareful } from '../../src/contract/care.ts';
import type { Job } from '../../src/ports/carrier.ts';
import type { ServedHandler } from '../../src/worker/context.ts';
import { handler, SimWorld } from './sim-rig.ts';

/** A handler that is read again while the answer to a claim is on its way. */

type Facts = Partial<ServedHandler> & Pick<ServedHandler, 'effectSafety'>;

async function reloaded(before: Facts, after: Facts) {
  const world = new SimWorld();
  const jobs: Job[] = [];
  const served = ({ effectSafety, ...more }: Facts) => [handler('demo/hello', effectSafety, more)];
  world.transport.onCall(
    'claim',
    (_, byDefault) => {
      const answer = byDefault();
      world.worker.serve(served(after), []);
      return answer;
    },
    1,
  );
  const { effectSafety, effectGate = 'start' } = before;
  const task = world.transport.offer({ type: 'demo/hello', effectSafety, effectGate });
  await world.make({ handlers: served(before) });
  const start = world.carrier.start.bind(world.carrier);
  world.carrier.start = (job, listener) => {
    jobs.push(job);
    return start(job, listener);
  };
  await world.clock.time.until(world.worker.start(), 60_000);
  await world.until(() => task.ended, 60_000);
  return { world, task, jobs };
}

it.each([
  ['pure', 'start', 'non-idempotent', 'start'],
  ['idempotent', 'start', 'non-idempotent', 'effect'],
  ['pure', 'start', 'idempotent', 'start'],
  ['non-idempotent', 'effect', 'non-idempotent', 'start'],
] as const)(
  'gives back what was claimed as %s (%s) for a handler that is %s (%s) by now',
  async (claimedAs, gate, isNow, gateNow) => {
    const { world, task, jobs } = await reloaded(
      { effectSafety: claimedAs, effectGate: gate, file: '/old', host: 'shared' },
      { effectSafety: isNow, effectGate: gateNow, file: '/new' },
    );
    expect(task.ended).toMatchObject({ op: 'release', reason: 'handler-changed' });
    expect(jobs).toEqual([]);
    const [said] = world.log.of('attempt.handler-changed');
    expect(said?.text).toMatch(
      /is given back: it was claimed as .* read again since, is .* next claim/,
    );
    const more = { effectSafety: isNow, effectGate: gateNow };
    const next = world.transport.offer({ type: 'demo/hello', ...more });
    await world.until(() => next.ended, 60_000);
    expect(next.ended?.op).toBe('complete');
    expect(jobs).toMatchObject([{ effectSafety: isNow, effectGate: gateNow, file: '/new' }]);
    world.check();
  },
);

it('runs what was claimed for more care than its handler needs by now, with that care and alone', async () => {
  const { task, jobs } = await reloaded(
    { effectSafety: 'non-idempotent', file: '/old' },
    { effectSafety: 'idempotent', file: '/new', host: 'shared' },
  );
  expect(task.ended?.op).toBe('complete');
  expect(jobs).toMatchObject([{ effectSafety: 'non-idempotent', effectGate: 'start' }]);
  expect(jobs[0]?.sharesHost).toBeUndefined();
});

it('lets an attempt share its host where it was claimed as one that may run twice', async () => {
  const facts = { effectSafety: 'pure', file: '/same', host: 'shared' } as const;
  const { jobs } = await reloaded(facts, facts);
  expect(jobs).toMatchObject([{ sharesHost: true }]);
});

it('knows more care from less', () => {
  const all: Care[] = [
    { effectSafety: 'pure', effectGate: 'effect' },
    { effectSafety: 'pure', effectGate: 'start' },
    { effectSafety: 'idempotent', effectGate: 'start' },
    { effectSafety: 'non-idempotent', effectGate: 'effect' },
    { effectSafety: 'non-idempotent', effectGate: 'start' },
  ];
  const less = all.map((attempt) =>
    all.map((one) => (lessCareful(attempt, one) ? '<' : '.')).join(''),
  );
  expect(less).toEqual(['..<<<', '..<<<', '...<<', '....<', '.....']);
});
