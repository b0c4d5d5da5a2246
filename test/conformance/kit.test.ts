/** What a run of the kit for control planes leaves behind, and how much it asks for at a time. */
import { expect, it } from 'vitest';
import type { Verdict } from '../../src/conformance/case.ts';
import type { ControlPlaneCase } from '../../src/conformance/control-plane/index.ts';
import { controlPlaneCases } from '../../src/conformance/control-plane/index.ts';
import { runControlPlaneKit } from '../../src/conformance/control-plane/kit.ts';
import type { ControlPlaneWorld } from '../../src/conformance/control-plane/world.ts';
import type { WireFetch } from '../../src/wire/fetch.ts';
import { openPlane } from './plane.ts';

type Plane = Awaited<ReturnType<typeof openPlane>>;

async function play(plane: Plane, cases: readonly ControlPlaneCase[], more = {}) {
  const verdicts: Verdict[] = [];
  const signal = new AbortController().signal;
  const onVerdict = (verdict: Verdict) => void verdicts.push(verdict);
  await runControlPlaneKit({ ...plane, serviceUrl: plane.url, cases, signal, onVerdict, ...more });
  return verdicts;
}

/** The answers to the first claims of such types never come. */
const deafTo = (type: RegExp, fetch: WireFetch): WireFetch => {
  let first = true;
  return async (url, init) => {
    const answer = await fetch(url, init);
    if (!first || !url.endsWith('/claims') || !type.test(String(init.body ?? ''))) return answer;
    first = false;
    return new Promise((_, reject) =>
      init.signal.addEventListener('abort', () => reject(init.signal.reason)),
    );
  };
};

const one = (run: ControlPlaneCase['run']): ControlPlaneCase => ({
  name: 'a/case',
  title: 'does something',
  promises: ['1.1'],
  run,
});

it('cancels what a case submitted, also in other words and unanswered, and revokes its keys, when the run is stopped', async () => {
  const plane = await openPlane();
  const over = new AbortController();
  const made = Promise.withResolvers<void>();
  const stopped = play(
    plane,
    [
      one(async (world) => {
        await world.submit();
        await world.post('/tasks/batch', [world.submission(), world.submission({ input: 2 })]);
        await world.newKey('task-producer');
        made.resolve();
        await world.pause(60_000);
      }),
    ],
    { signal: over.signal },
  );
  await made.promise;
  over.abort();
  const [verdict] = await stopped;
  expect(verdict).toMatchObject({ outcome: 'stopped', says: 'the run was stopped.' });
  const { tasks } = await plane.read('/tasks');
  expect(tasks.map(({ status }: { status: string }) => status)).toEqual(Array(3).fill('cancelled'));
  const { keys } = await plane.read('/keys', plane.keys.admin);
  expect(keys[0]).toMatchObject({ kind: 'task-producer', state: 'revoked' });
  await plane.close();
});

it('ends what its workers hold, answered or not, also past a gate', async () => {
  const plane = await openPlane();
  const left: string[] = [];
  const policy = { leaseMs: 600_000, lostGraceMs: 3_600_000, maxAttempts: 1 };
  const submit = (world: ControlPlaneWorld, word: string) =>
    world.submit({ type: world.type(word), policy });
  const verdicts = await play(
    plane,
    [
      one(async (world) => {
        for (const op of ['none', 'start']) {
          const { type } = await submit(world, op);
          const worker = world.worker();
          const attempt = await worker.claimOne(type);
          if (op === 'start') (await worker.report(attempt, op)).is(200);
        }
        const { type } = await submit(world, 'unanswered');
        const worker = world.worker();
        const cut = new AbortController();
        const sent = { ...worker.claiming([type]), signal: cut.signal };
        // As when the case ends between a claim and its answer.
        const going = world.call(sent);
        await world.until('an attempt', async () =>
          (await world.get(`/tasks?type=${type}`)).text.includes('running') ? true : undefined,
        );
        cut.abort();
        await going.catch(() => {});
      }),
    ],
    { fetch: deafTo(/unanswered/, plane.fetch), onLeft: (says: string) => void left.push(says) },
  );
  expect([verdicts[0]?.says, left]).toEqual([undefined, []]);
  const { tasks } = await plane.read('/tasks');
  const ends = tasks.map(({ type, status }: Record<string, string>) => [
    type?.split('/').at(-1),
    status,
  ]);
  expect(Object.fromEntries(ends)).toEqual({
    none: 'cancelled',
    start: 'succeeded',
    unanswered: 'cancelled',
  });
  await plane.close();
});

it('tells the tasks that nobody can end', async () => {
  const plane = await openPlane();
  const left: string[] = [];
  const hold = one(async (world) => {
    const { type } = await world.submit({ policy: { leaseMs: 600_000 } });
    const claim = { ...world.worker().claiming([type]), below: 'base' as const };
    // Its requestId is known to nobody who clears.
    await plane.fetch(`${plane.url}/api/tasks/v1/claims`, {
      method: 'POST',
      headers: { authorization: `Bearer ${claim.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(claim.body),
      signal: world.signal,
      redirect: 'manual',
    });
  });
  await play(plane, [hold], { onLeft: (says: string) => void left.push(says) });
  const { tasks } = await plane.read('/tasks');
  expect(left).toEqual([expect.stringMatching(`^Left behind.*${tasks[0].id}.*within 10 min\\.$`)]);
  await plane.close();
});

it('uses the names of few workers, one case after the other, and tells them offline', async () => {
  const plane = await openPlane();
  const cases = Array.from({ length: 30 }, (_, i) => ({
    ...one(async (world: ControlPlaneWorld) => {
      const { type } = await world.submit();
      const [first, second] = [world.worker(), world.worker()];
      (await second.claim([world.type('nothing')])).is(200);
      await first.claimOne(type);
    }),
    name: `a/case-${i}`,
  }));
  const verdicts = await play(plane, cases, { concurrency: 3 });
  expect(verdicts.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
  const { workers } = await plane.read('/workers');
  const states = workers.map(({ state }: { state: string }) => state);
  expect(states).toEqual(Array(6).fill('offline'));
  await plane.close();
});

it('revokes a key whose answer came too late, and makes none that lives for ever', async () => {
  const plane = await openPlane();
  const over = new AbortController();
  const fetch: WireFetch = async (url, init) => {
    const response = await plane.fetch(url, init);
    if (!url.endsWith('/keys') || init.method !== 'POST') return response;
    // It is made; nobody hears of it.
    over.abort();
    throw init.signal.reason;
  };
  const makes = one(async (world) => void (await world.newKey('task-producer')));
  await play(plane, [makes], { fetch, signal: over.signal });
  const { keys } = await plane.read('/keys', plane.keys.admin);
  expect(keys[0]).toMatchObject({ kind: 'task-producer', state: 'revoked' });
  expect(keys[0].name).toMatch(/^conformance-\w+-a-case-task-producer-/);
  expect(Date.parse(keys[0].expiresAt) - Date.parse(keys[0].createdAt)).toBe(3_600_000);
  await plane.close();
});

it('shows no key and no lease token in what it says of a case', async () => {
  const plane = await openPlane();
  const verdicts = await play(plane, [
    one(async (world) => {
      const { type } = await world.submit();
      await world.worker().claimOne(type);
      (await world.post('/keys', { name: 'k', kind: 'sdk' }, world.keys.admin)).is(500);
    }),
    one(async (world) => {
      const { type } = await world.submit();
      (await world.worker().claim([type])).is(500);
    }),
  ]);
  const text = JSON.stringify(verdicts);
  expect(text).toContain('il_…');
  expect(text).not.toMatch(/il_\w/);
  expect(text).toContain('leaseToken');
  expect(text.replaceAll('\\', '')).not.toMatch(/leaseToken":"[^…]/);
  await plane.close();
});

it('asks for no more than four answers a case at the same time', async () => {
  const plane = await openPlane();
  let open = 0;
  let most = 0;
  const fetch: WireFetch = async (url, init) => {
    most = Math.max(most, ++open);
    return plane.fetch(url, init).finally(() => open--);
  };
  const cases = controlPlaneCases.filter(({ name }) => name === 'idempotency/at-the-same-time');
  const [verdict] = await play(plane, cases, { fetch, concurrency: 2 });
  expect([verdict?.outcome, most]).toEqual(['passed', 8]);
  await plane.close();
});

it('gives every case a name of its own', () => {
  const names = controlPlaneCases.map(({ name }) => name);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});
