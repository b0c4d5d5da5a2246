/** claims-waiting/…: claims that wait at the control plane for work, of a worker that lets them. */
import type { Fcp, LoggedRequest } from '../../../fcp/fcp.ts';
import { NotApplicable } from '../../case.ts';
import { expect, same } from '../../check.ts';
import type { WorkerCase } from '../worker-case.ts';
import { endedWith } from '../worker-process.ts';
import { endings } from './attempt-steps.ts';
import { echo, sleep } from './steps.ts';

const features = ['claim-wait'];

/** A worker whose claims wait lets one of the first ones do so. */
const WAITS_WITHIN_MS = 10_000;
/** Longer than the lease of what comes then. */
const WAITED_MS = 7_000;
const LEASE_MS = 6_000;
/** What a claim for nothing may take to come after the signal on a busy machine. */
const ENDED_WITHIN_MS = 5_000;

const waits = ({ body }: LoggedRequest) => (body?.waitMs ?? 0) > 0;

/** The first claim that waits. @throws NotApplicable where the worker lets none. */
async function waiting(fcp: Fcp): Promise<LoggedRequest> {
  const found = await fcp
    .until(() => fcp.requests('claim').find(waits), { timeoutMs: WAITS_WITHIN_MS })
    .catch(() => undefined);
  if (found === undefined) throw new NotApplicable('it lets no claim wait');
  return found;
}

export const claimsWaiting: readonly WorkerCase[] = [
  {
    name: 'claims-waiting/not-offered',
    title: 'lets no claim wait where that is no feature',
    promises: ['2.36'],
    handlers: [],
    async run(world) {
      const fcp = await world.controlPlane({ refuseHints: 503 });
      await world.worker();
      await fcp.until(() => fcp.requests('claim').length >= 3, { what: 'three claims' });
      same(fcp.requests('claim').filter(waits).length, 0, 'how many claims were to wait');
    },
  },
  {
    name: 'claims-waiting/idle',
    title: 'lets no claim wait while a handler runs',
    promises: ['2.36'],
    handlers: ['conformance/sleep'],
    async run(world) {
      const fcp = await world.controlPlane({ features });
      await world.worker({ slots: 2 });
      await waiting(fcp);
      const task = fcp.offer(sleep(4_000));
      const { t } = await task.accepted('start');
      await task.ended();
      const [end] = task.reports('complete');
      const busy = fcp
        .requests('claim')
        .filter((claim) => claim.t > t && claim.t < (end?.t ?? t) - 500);
      same(busy.filter(waits).length, 0, 'how many claims wait while a handler runs');
    },
  },
  {
    name: 'claims-waiting/ended',
    title: 'told to end, it ends the wait of its claim by the same claim for nothing',
    promises: ['2.37'],
    handlers: [],
    async run(world) {
      const fcp = await world.controlPlane({ features });
      const ended = fcp.until(
        () => fcp.requests('claim').find(({ body, answered }) => body?.max === 0 && answered),
        { timeoutMs: 120_000 },
      );
      ended.catch(() => {});
      fcp.on('claim', (request, ctl) => (waits(request) ? ctl.later(ended) : ctl.pass()));
      const worker = await world.worker();
      const claim = await waiting(fcp);
      const from = fcp.now;
      worker.signal('SIGTERM');
      const last = await fcp.until(
        () => fcp.requests('claim').find(({ n, body }) => n > claim.n && body?.max === 0),
        { timeoutMs: ENDED_WITHIN_MS, what: 'a claim with `max: 0` after SIGTERM' },
      );
      same(last.body?.requestId, claim.body?.requestId, 'the requestId of the claim for nothing');
      same(last.body?.waitMs, undefined, '`waitMs` of the claim for nothing');
      endedWith(await world.ending(worker, 30_000), 0);
      const more = fcp
        .requests('claim')
        .filter(({ t, body }) => t > from && body?.requestId !== claim.body?.requestId);
      same(more.length, 0, 'how many other claims came after SIGTERM');
    },
  },
  {
    name: 'claims-waiting/lease',
    title: 'counts a lease from the send of a claim that waited and what it had waited',
    promises: ['2.33'],
    handlers: ['conformance/echo'],
    async run(world) {
      const fcp = await world.controlPlane({ features, leaseMs: LEASE_MS });
      const rule = fcp.on('claim', async (request, ctl) => {
        if (!waits(request) || rule.seen.filter(waits).length > 1) return ctl.pass();
        await ctl.wait(WAITED_MS);
        return ctl.pass((answer) => ({
          ...answer,
          body: { ...(answer.body as object), waitedMs: WAITED_MS },
        }));
      });
      await world.worker();
      const claim = await waiting(fcp);
      await world.pause(WAITED_MS - 1_000);
      const task = fcp.offer(echo('late'));
      await task.ended();
      expect(
        claim.answered !== undefined || task.attemptIds.length > 0,
        'The claim that waited got no answer.',
      );
      same(endings(task), ['complete'], 'the reports that ended a task whose claim had waited');
      same(
        task.reports('renew').length,
        0,
        'how often its lease was renewed though a third of it had not passed',
      );
    },
  },
];
