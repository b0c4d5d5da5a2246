import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Verdict } from '../../src/conformance/case.ts';
import { controlPlaneCases } from '../../src/conformance/control-plane/index.ts';
import { runControlPlaneKit } from '../../src/conformance/control-plane/kit.ts';
import { openPlane } from './plane.ts';

/** By the promise's own number they take a minute; `npm run conformance` plays them. */
const LONG = new Set(['limits/renewed-for-ever']);
const played = controlPlaneCases.filter(({ name }) => !LONG.has(name));

/** The kit, all cases at once, against our control plane over the memory store. */
describe('our control plane', () => {
  let plane: Awaited<ReturnType<typeof openPlane>>;
  const verdicts = new Map<string, Verdict>();
  const left: string[] = [];
  beforeAll(async () => {
    plane = await openPlane();
    await runControlPlaneKit({
      ...plane,
      serviceUrl: plane.url,
      cases: played,
      concurrency: 100,
      signal: new AbortController().signal,
      onVerdict: (verdict) => void verdicts.set(verdict.name, verdict),
      onLeft: (says) => void left.push(says),
    });
  }, 120_000);
  afterAll(() => plane.close());

  it.each(['producer', 'otherProducer'] as const)(
    'has no task of the run left that could run (%s)',
    async (whose) => {
      const { tasks } = await plane.read('/tasks?status=queued,running', plane.keys[whose]);
      expect([tasks, left]).toEqual([[], []]);
    },
  );

  it('has every worker of the run told offline', async () => {
    const { workers } = await plane.read('/workers?limit=500', plane.keys.producer);
    const states = workers.map(({ workerId, state }: Record<string, string>) => [workerId, state]);
    expect(states.filter(([, state]: string[]) => state !== 'offline')).toEqual([]);
  });

  it.each(played)('$name: $title', ({ name }) => {
    const { outcome, says, evidence = [] } = verdicts.get(name) as Verdict;
    expect(outcome, [says, ...evidence].join('\n')).not.toBe('failed');
  });
});
