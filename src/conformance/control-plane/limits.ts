import { NotApplicable } from '../case.ts';
import { same } from '../check.ts';
import { limitsOf } from './faults.ts';
import type { ControlPlaneCase } from './index.ts';
import { accepted, given, isNow } from './steps.ts';

/** A control plane may take larger heads than that; then it is not asked. */
const LARGE_HEAD_BYTES = 20_000;
const TIMEOUT_MS = 1_000;
/** What a renewal may come later than the timeout of the attempt, and how far from that edge the case looks. */
const PAST_MS = 60_000;
const EDGE_MS = 5_000;

/** Where a control plane takes no more: batches as a whole, heads of requests, renewals without end. */
export const limits: readonly ControlPlaneCase[] = [
  {
    name: 'limits/batch-of-reports',
    title:
      'refuses a batch of reports whole where it is no JSON, too many or too large, and only then',
    promises: ['6.35', '6.34'],
    async run(world) {
      const { batch, batchBytes } = await limitsOf(world);
      const { task, worker, attempt } = await given(world);
      const complete = worker.item(attempt, 'complete', { result: 1 });
      const path = '/attempts/batch';
      const call = { method: 'POST', path, key: world.keys.worker } as const;
      (await world.call({ ...call, text: '{"reports": [' })).refuses(400, 'INVALID_REQUEST');
      const many = Array.from({ length: batch + 1 }, () => complete);
      (await worker.batch(many)).is(400, 413);
      const large = { ...complete, result: 'x'.repeat(batchBytes) };
      (await worker.batch([large as typeof complete])).refuses(413, 'PAYLOAD_TOO_LARGE');
      await isNow(world, task, 'running');

      const ops = [{ toString: 1 }, [[]]].map((op) => ({ ...complete, op }));
      const odd = [7, null, { op: 'complete' }, ...ops, worker.item(attempt, 'renew'), complete];
      const seen = (await world.call({ ...call, body: { reports: odd } })).is(200);
      const { results } = seen.body<{ results: { status: number }[] }>();
      same(
        results.map(({ status }) => (status < 300 ? status : status < 500 ? 'refused' : status)),
        [...Array(5).fill('refused'), 200, 200],
        'the statuses of the items',
      );
      await isNow(world, task, 'succeeded');
    },
  },
  {
    name: 'limits/large-head',
    title: 'answers a head that is too large with 431, and goes on',
    promises: ['9.27'],
    async run(world) {
      const headers = { 'x-conformance': 'x'.repeat(LARGE_HEAD_BYTES) };
      const seen = await world.call({
        method: 'GET',
        path: '/tasks',
        headers,
        key: world.keys.producer,
      });
      if (seen.status < 400)
        throw new NotApplicable(`it takes a head of ${LARGE_HEAD_BYTES} bytes.`);
      seen.is(431);
      (await world.get('/tasks?limit=1')).is(200);
    },
  },
  {
    name: 'limits/renewed-for-ever',
    title: 'renews no attempt later than 60 s past its timeout',
    promises: ['4.41'],
    timeoutMs: 2 * PAST_MS,
    async run(world) {
      const { worker, attempt } = await given(world, {
        effectSafety: 'pure',
        leaseMs: 2 * PAST_MS,
        policy: { attemptTimeoutMs: TIMEOUT_MS, leaseMs: 2 * PAST_MS },
      });
      accepted(await worker.report(attempt, 'start'), attempt, 'start');
      await world.pause(TIMEOUT_MS + PAST_MS - EDGE_MS);
      accepted(await worker.report(attempt, 'renew'), attempt, 'renew');
      await world.pause(2 * EDGE_MS);
      (await worker.report(attempt, 'renew')).refuses(409, 'LEASE_EXPIRED');
    },
  },
];
