import { createHash } from 'node:crypto';
import { expect, same, shown } from '../check.ts';
import type { Seen } from './caller.ts';
import { isInstant } from './faults.ts';
import type { ControlPlaneCase } from './index.ts';
import { entries, failure, given, isNow } from './steps.ts';
import type { KeyShape } from './wire-shapes.ts';
import type { ControlPlaneWorld } from './world.ts';

const needs = ['admin-key'] as const;

/** The key as the list shows it, with the text of its page. */
async function inList(world: ControlPlaneWorld, id: string): Promise<[KeyShape, string]> {
  let cursor = '';
  for (;;) {
    const seen = (await world.get(`/keys?limit=100${cursor}`, world.keys.admin)).is(200);
    const page = seen.body<{ keys: KeyShape[]; cursor?: string }>();
    const found = page.keys.find((key) => key.id === id);
    if (found !== undefined) return [found, seen.text];
    expect(page.cursor !== undefined, `Key ${id} is in no page of GET /keys.`);
    cursor = `&cursor=${encodeURIComponent(page.cursor)}`;
  }
}

const revoking = (world: ControlPlaneWorld, { id }: { readonly id: string }): Promise<Seen> =>
  world.call({ method: 'DELETE', path: `/keys/${id}`, key: world.keys.admin });

const submits = (world: ControlPlaneWorld, key: string, fields = {}): Promise<Seen> =>
  world.submitting(fields, { key });

const unauthenticated = (seen: Seen) => seen.refuses(401, 'UNAUTHENTICATED');

/** Keys from their making to their end. */
export const keys: readonly ControlPlaneCase[] = [
  {
    name: 'keys/make',
    title: 'makes a key that is shown once and works at once',
    promises: ['9.7', '9.12'],
    needs,
    async run(world) {
      const made = await world.newKey('task-producer');
      expect(/^il_\S{20,}$/.test(made.key), 'The key is not of the form il_….');
      same(made.kind, 'task-producer', 'the kind of the key');
      expect(isInstant(made.createdAt), `createdAt is ${shown(made.createdAt)}.`);
      (await submits(world, made.key)).is(201);
      const [listed] = await inList(world, made.id);
      same(listed.key, undefined, 'the member key in a list of keys');
    },
  },
  {
    name: 'keys/list',
    title: 'lists keys with what they are and when they were used, never themselves or a hash',
    promises: ['9.19', '9.12'],
    needs,
    async run(world) {
      const expiresAt = new Date((await world.serverNowMs()) + 3_600_000).toISOString();
      const limits = { pools: [world.pool] };
      const made = await world.newKey('task-worker', { expiresAt, limits });
      const worker = world.worker({ key: made.key });
      (await worker.claim([world.type()])).is(200);
      const [view, text] = await inList(world, made.id);
      same(
        [view.name, view.kind, view.createdAt, Date.parse(String(view.expiresAt)), view.limits],
        [made.name, 'task-worker', made.createdAt, Date.parse(expiresAt), limits],
        'name, kind, createdAt, expiresAt and limits of the key',
      );
      const usedMs = isInstant(view.lastUsedAt) ? Date.parse(String(view.lastUsedAt)) : Number.NaN;
      const [madeMs, nowMs] = [Date.parse(made.createdAt), await world.serverNowMs()];
      const words = `lastUsedAt is ${shown(view.lastUsedAt)} after a call; it was made ${made.createdAt}.`;
      expect(usedMs >= madeMs - 1_000 && usedMs <= nowMs + 1_000, words);
      same(view.state, 'usable', 'the state of the key');
      const { id: older } = made;
      const { id: newer } = await world.newKey('task-worker');
      const { keys } = (await world.get('/keys?limit=100', world.keys.admin)).is(200).body<{
        keys: KeyShape[];
      }>();
      const order = keys.map(({ id }) => id).filter((id) => id === older || id === newer);
      same(order, [newer, older], 'two keys in the list, which is newest first');
      const hash = createHash('sha256').update(made.key);
      const [hex, base64] = [hash.copy().digest('hex'), hash.digest('base64').slice(0, 40)];
      for (const [what, secret] of Object.entries({ key: made.key.slice(3), hex, base64 }))
        expect(!text.includes(secret), `The list shows the key (${what}).`);
    },
  },
  {
    name: 'keys/not-for-others',
    title: 'answers an id that it does not have with 404, and makes no key of an unknown kind',
    promises: ['8.4', '8.3'],
    needs,
    async run(world) {
      const seen = (await revoking(world, { id: world.id('key') })).refuses(404, 'NOT_FOUND');
      same(seen.body().kind, 'key', 'the kind of what was not found');
      const body = { name: world.fresh('x'), kind: 'emperor' };
      (await world.post('/keys', body, world.keys.admin)).refuses(400, 'INVALID_REQUEST');
    },
  },
  {
    name: 'keys/expiry',
    title: 'refuses a key from the instant on at which it expires',
    promises: ['9.14', '9.15'],
    needs,
    async run(world) {
      const asked = (await world.call({ method: 'GET', path: '/' })).is(200);
      const serverMs = Date.parse(String(asked.body().serverTime));
      const expiresAt = new Date(serverMs + EXPIRES_MS).toISOString();
      const made = await world.newKey('task-producer', { expiresAt });
      const first = await submits(world, made.key);
      // On a peer that is very slow the key may have ended before it was used.
      if (first.receivedAtMs < asked.sentAtMs + EXPIRES_MS) first.is(201);
      await world.pause(Math.max(0, asked.receivedAtMs + EXPIRES_MS + 100 - world.clock.now()));
      unauthenticated(await submits(world, made.key));
      unauthenticated(await world.get('/doctor', made.key));
      same((await inList(world, made.id))[0].state, 'expired', 'the state of the key');
    },
  },
  {
    name: 'keys/revoke',
    title: 'refuses a revoked key at once, for every call, and shows when it was revoked',
    promises: ['9.14', '9.19'],
    needs,
    async run(world) {
      const [producer, worker] = [
        await world.newKey('task-producer'),
        await world.newKey('task-worker'),
      ];
      const actor = world.worker({ key: worker.key });
      const { attempt } = await given(world, { worker: actor });
      (await submits(world, producer.key, { type: world.type('other') })).is(201);
      for (const one of [producer, worker]) {
        const { revokedAt } = (await revoking(world, one)).is(200).body();
        expect(isInstant(revokedAt), `revokedAt is ${shown(revokedAt)}.`);
        const [{ state, revokedAt: listed }] = await inList(world, one.id);
        same([listed, state], [revokedAt, 'revoked'], 'revokedAt and state in the list');
      }
      unauthenticated(await submits(world, producer.key));
      unauthenticated(await world.get('/tasks', producer.key));
      unauthenticated(await actor.claim([world.type()]));
      unauthenticated(await actor.present([world.type()]));
      unauthenticated(await actor.report(attempt, 'renew'));
      unauthenticated(await actor.batch([actor.item(attempt, 'renew')]));
      (await revoking(world, producer)).is(200);
    },
  },
  {
    name: 'keys/revoke-ends-streams',
    title: 'ends the open streams of a revoked key, and no others',
    promises: ['9.15', '9.16'],
    needs,
    timeoutMs: 120_000,
    async run(world) {
      const producer = await world.newKey('task-producer');
      const worker = await world.newKey('task-worker');
      const actor = world.worker({ key: worker.key });
      (await actor.present([world.type()])).is(200);
      const hints = `/hints?workerId=${actor.workerId}&sessionId=${actor.sessionId}`;
      const theirs = [
        await world.listen('/events', producer.key),
        await world.listen(hints, worker.key),
      ];
      const other = await world.listen('/events', world.keys.producer);
      for (const one of [producer, worker]) (await revoking(world, one)).is(200);
      for (const stream of theirs) await stream.end('its key was revoked', REVOKED_STREAM_MS);
      const { id } = await world.submit();
      await other.next(`task ${id}`, ({ data }) => data?.taskId === id);
      other.close();
    },
  },
  {
    name: 'keys/revoke-does-not-drain',
    title: "lets another key of the project report what a revoked key's worker runs",
    promises: ['9.17', '9.8'],
    needs,
    async run(world) {
      const made = await world.newKey('task-worker');
      const actor = world.worker({ key: made.key });
      const { task, attempt } = await given(world, { worker: actor, passed: 'start' });
      (await revoking(world, made)).is(200);
      unauthenticated(await actor.report(attempt, 'complete', { result: 1 }));
      await isNow(world, task, 'running');
      const next = world.worker({ workerId: actor.workerId });
      (await next.report(attempt, 'complete', { result: 2 })).is(200);
      same((await isNow(world, task, 'succeeded')).result, 2, 'the result of the task');
    },
  },
  {
    name: 'keys/change-without-restart',
    title:
      'lets a worker change its key in its session, and nobody else take its id while it is online',
    promises: ['9.18', '9.11'],
    needs,
    async run(world) {
      const worker = world.worker();
      (await worker.present([world.type()])).is(200);
      const { key } = await world.newKey('task-worker');
      const stranger = world.worker({ workerId: worker.workerId, key });
      (await stranger.present([world.type()])).refuses(409, 'CONFLICT');
      (await stranger.claim([world.type()])).refuses(409, 'CONFLICT');
      const changed = worker.withKey(key);
      (await changed.present([world.type()])).is(200);
      (await changed.claim([world.type()])).is(200);
      (await worker.claim([world.type()])).is(200);
    },
  },
  {
    name: 'keys/rate',
    title: 'answers a key above its rate with 429 and Retry-After, and other keys as before',
    promises: ['9.24'],
    needs,
    // As long as a peer may tell it to wait, and what comes before.
    timeoutMs: 120_000,
    async run(world) {
      const limits = { requestsPerMinute: 30 };
      const { key } = await world.newKey('task-producer', { limits });
      let refused: Seen | undefined;
      for (let i = 0; i < 40 && refused === undefined; i++) {
        const seen = await world.get('/doctor', key);
        if (seen.status !== 200) refused = seen.refuses(429, 'RATE_LIMITED');
      }
      expect(refused !== undefined, '40 calls at once are taken of a key with 30 calls a minute.');
      const after = refused.headers.get('retry-after') ?? '';
      const seconds = /^\d+$/.test(after) ? Number(after) : Number.NaN;
      expect(seconds > 0 && seconds <= 60, `Retry-After is ${shown(after)}; expected are seconds.`);
      (await world.get('/doctor')).is(200);
      await world.pause(seconds * 1_000 + 500);
      (await world.get('/doctor', key)).is(200);
    },
  },
  {
    name: 'keys/named-in-the-journal',
    title: "writes the name of an operator's key into the entries of what it does",
    promises: ['9.23', '9.22'],
    needs,
    async run(world) {
      const made = await world.newKey('task-operator');
      const { task, worker, attempt } = await given(world);
      (await worker.report(attempt, 'fail', failure())).is(200);
      const { seq: ifSeq } = await world.task(task.id);
      const body = { actionId: world.id('act'), ifSeq, reason: 'the case says so' };
      (await world.post(`/tasks/${task.id}/retry`, body, made.key)).is(200);
      (await world.post(`/tasks/${task.id}/cancel`, {}, made.key)).is(200);
      for (const kind of ['retried', 'cancelled'])
        for (const entry of await entries(world, task, kind)) {
          same(entry.data.keyName, made.name, `data.keyName of ${kind}`);
          expect(!JSON.stringify(entry).includes(made.key), `The entry ${kind} shows the key.`);
        }
    },
  },
];

/** Long enough for a first call before it. */
const EXPIRES_MS = 4_000;
/** The promise's 60 s, and what a slow peer adds. */
const REVOKED_STREAM_MS = 75_000;
