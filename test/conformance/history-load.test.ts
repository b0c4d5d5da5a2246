import { describe, expect, it } from 'vitest';
import { WorkerIds } from '../../src/conformance/control-plane/worker-ids.ts';
import { ControlPlaneWorld } from '../../src/conformance/control-plane/world.ts';
import { enough, judgeLoad } from '../../src/conformance/history/judge-load.ts';
import { loadPolicy, recordLoad } from '../../src/conformance/history/load.ts';
import type { WireFetch } from '../../src/wire/fetch.ts';
import { openPlane } from './plane.ts';

const LEASE_MS = 300;

/** A load against our control plane with something before it that alters calls. */
async function played(
  before: (fetch: WireFetch) => WireFetch = (fetch) => fetch,
  leaseMs = LEASE_MS,
) {
  const plane = await openPlane(LEASE_MS);
  try {
    const world = new ControlPlaneWorld({
      ...plane,
      fetch: before(plane.fetch),
      serviceUrl: plane.url,
      run: 'test',
      workerIds: new WorkerIds('test'),
      caseName: 'history/load',
      signal: new AbortController().signal,
      leaseMinMs: leaseMs,
    });
    const records = await recordLoad(world, { tasks: 60, workers: 6, forMs: 1_500, calls: 500 });
    const { maxAttempts, lostGraceMs } = loadPolicy(leaseMs);
    const { clock, signal } = world;
    return await judgeLoad(records, { maxAttempts, lostGraceMs, clock, signal });
  } finally {
    await plane.close();
  }
}

type Body = Record<string, unknown>;

/** Alters the bodies of calls whose address ends so. */
const altering =
  (path: RegExp, alter: (body: Body) => Body) =>
  (fetch: WireFetch): WireFetch =>
  (url, init) => {
    if (!path.test(url) || typeof init.body !== 'string') return fetch(url, init);
    return fetch(url, { ...init, body: JSON.stringify(alter(JSON.parse(init.body))) });
  };

/** Corrects what makes a report stale. */
function forgiving(fetch: WireFetch): WireFetch {
  const identities = new Map<string, Body>();
  return async (url, init) => {
    if (url.endsWith('/claims')) {
      const response = await fetch(url, init);
      const text = await new Response(response.body).text();
      for (const attempt of (JSON.parse(text).attempts ?? []) as Body[]) {
        const { attemptId, fence, leaseToken } = attempt;
        identities.set(String(attemptId), { fence, leaseToken });
      }
      const headers = { 'content-type': 'application/json' };
      return new Response(text, { status: response.status, headers });
    }
    const attemptId = /attempts\/([^/]+)\//.exec(url)?.[1];
    const right = identities.get(attemptId ?? '');
    return altering(/./, (body) => ({ ...body, ...right }))(fetch)(url, init);
  };
}

/** It is chance: what one load misses, one of three finds. */
async function caught(before: (fetch: WireFetch) => WireFetch, leaseMs?: number): Promise<string> {
  for (let load = 1; load <= 3; load++) {
    const says = await played(before, leaseMs).then(
      () => '',
      (error: Error) => error.message,
    );
    if (says !== '') return says;
  }
  return 'nothing';
}

let count = 0;

describe.concurrent('a random load', () => {
  it('is allowed by the contract against our control plane', async () => {
    const judged = await played();
    expect(judged.undecided).toBe(0);
    expect(judged.tasks).toBeGreaterThan(10);
    expect(judged.calls).toBeGreaterThan(100);
  }, 60_000);

  it('shows nothing, where a control plane answers no submission', async () => {
    const busy =
      (fetch: WireFetch): WireFetch =>
      async (url, init) =>
        /\/tasks$/.test(url) ? new Response('{}', { status: 503 }) : fetch(url, init);
    const judged = await played(busy);
    expect(judged).toMatchObject({ tasks: 0, answered: {} });
    expect(() => enough(judged, { tasks: 1, answered: {} })).toThrow('could not be judged');
  }, 60_000);

  it('is not, where a control plane stops giving tasks out', async () => {
    let claims = 0;
    const stingy = altering(/\/claims$/, (body) => ({
      ...body,
      ...(++claims > 40 && { pools: ['elsewhere'] }),
    }));
    await expect(played(stingy)).rejects.toThrow(/have no order[\s\S]*claim req_/);
  }, 60_000);

  it.each([
    ['takes stale reports', forgiving],
    [
      'makes a task of every submission',
      altering(/\/tasks$/, ({ idempotencyKey: _, ...body }) => body),
    ],
    [
      'takes every claim as a new one',
      altering(/\/claims$/, (body) => ({ ...body, requestId: `${body.requestId}${++count}` })),
    ],
    [
      'takes no report as a replay',
      altering(/\/complete$/, (body) => ({ ...body, note: ++count })),
    ],
    [
      'repeats what is past its gate',
      altering(/\/claims$/, (body) => ({
        ...body,
        want: (body.want as Body[]).map((want) => ({ ...want, effectSafety: 'idempotent' })),
      })),
    ],
  ])(
    'is not, where a control plane %s',
    async (_, before) => {
      expect(await caught(before)).toContain('have no order that the contract allows');
    },
    60_000,
  );

  it('is not, where a control plane ends leases after half their time', async () => {
    const halved = altering(/\/tasks$/, (body) => ({
      ...body,
      policy: { ...(body.policy as Body), leaseMs: LEASE_MS },
    }));
    expect(await caught(halved, 2 * LEASE_MS)).toContain('have no order');
  }, 60_000);
});
