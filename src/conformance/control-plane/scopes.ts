import { NotApplicable } from '../case.ts';
import { expect, same } from '../check.ts';
import type { Seen, Sent } from './caller.ts';
import type { ControlPlaneCase } from './index.ts';
import type { ControlPlaneWorld } from './world.ts';

type Kind = 'task-producer' | 'task-worker' | 'task-operator' | 'admin' | 'metrics' | 'sdk';
type Called = Pick<Sent, 'method' | 'path' | 'body'>;

const READERS: readonly Kind[] = ['task-producer', 'task-operator', 'admin'];
const PRODUCERS: readonly Kind[] = ['task-producer', 'admin'];
const OPERATORS: readonly Kind[] = ['task-operator', 'admin'];
const WORKERS: readonly Kind[] = ['task-worker'];
const ADMINS: readonly Kind[] = ['admin'];
const ANY: readonly Kind[] = [...READERS, 'task-worker', 'metrics'];

/** What calls are about. */
export interface CalledIds {
  readonly task: string;
  readonly attempt: string;
  readonly worker: string;
  readonly session: string;
}

/**
 * Every call that needs a key, by who may make it. None of them changes anything: bodies are empty, and ids of nobody
 * where none are given.
 */
export function calls(
  world: ControlPlaneWorld,
  ids: Partial<CalledIds> = {},
): readonly (readonly [Called, readonly Kind[]])[] {
  const get = (path: string): Called => ({ method: 'GET', path });
  const post = (path: string): Called => ({ method: 'POST', path, body: {} });
  const { task = world.id('tsk'), attempt = world.id('att') } = ids;
  const { worker = world.fresh('nobody'), session = world.id('ses') } = ids;
  return [
    [post('/tasks'), PRODUCERS],
    [post('/tasks/batch'), PRODUCERS],
    [get(`/tasks?type=${world.type()}`), READERS],
    [get(`/tasks/${task}`), READERS],
    [get(`/tasks/${task}/events`), READERS],
    [get(`/tasks/${task}/logs`), READERS],
    [post(`/tasks/${task}/cancel`), READERS],
    [get('/events'), READERS],
    [get('/workers'), READERS],
    [get(`/workers/${worker}`), READERS],
    [get('/types'), READERS],
    [post(`/tasks/${task}/retry`), OPERATORS],
    [post(`/tasks/${task}/resolve`), OPERATORS],
    [post(`/workers/${worker}/drain`), OPERATORS],
    [{ method: 'PUT', path: `/workers/${worker}`, body: {} }, WORKERS],
    [post('/claims'), WORKERS],
    [post('/attempts/batch'), WORKERS],
    [post(`/attempts/${attempt}/renew`), WORKERS],
    [get(`/hints?workerId=${worker}&sessionId=${session}`), WORKERS],
    [post('/keys'), ADMINS],
    [get('/keys'), ADMINS],
    [{ method: 'DELETE', path: `/keys/${world.id('key')}` }, ADMINS],
    [get('/doctor'), ANY],
  ];
}

/** The answer; of a stream that opens only its status. */
export async function answered(world: ControlPlaneWorld, sent: Sent): Promise<Seen | undefined> {
  if (!/^\/(events|hints)/.test(sent.path)) return world.call(sent);
  const over = new AbortController();
  try {
    const { status } = await world.open({ ...sent, signal: over.signal });
    // What refuses is short, and ends.
    return status === 200 ? undefined : await world.call(sent);
  } finally {
    over.abort();
  }
}

/** The key may make the calls of its kind and is told of all others which kind they need. */
async function holdsTo(world: ControlPlaneWorld, kind: Kind, key: string): Promise<void> {
  for (const [sent, kinds] of calls(world)) {
    const seen = await answered(world, { ...sent, key });
    if (kinds.includes(kind)) {
      const refused = seen !== undefined && (seen.status === 401 || seen.status === 403);
      expect(!refused, `A key of kind ${kind} may not make ${sent.method} ${sent.path}.`);
      continue;
    }
    expect(seen !== undefined, `A key of kind ${kind} is let into the stream ${sent.path}.`);
    seen.refuses(403, 'SCOPE_DENIED');
    expect(
      kinds.some((needed) => seen.text.includes(needed)),
      `The refusal of ${seen.what} does not say which kind of key is needed: ${seen.text.slice(0, 300)}`,
    );
  }
}

/** All calls that need a key are refused as without one. */
async function unknownEverywhere(world: ControlPlaneWorld, more: Partial<Sent>): Promise<void> {
  for (const [sent] of calls(world)) {
    const seen = await answered(world, { ...sent, ...more });
    expect(seen !== undefined, `${sent.method} ${sent.path} opened a stream without a key.`);
    seen.refuses(401, 'UNAUTHENTICATED');
  }
}

/** Which key may do what. */
export const scopes: readonly ControlPlaneCase[] = [
  {
    name: 'scopes/no-key',
    title: 'refuses each call without a key as unauthenticated, discovery aside',
    promises: ['9.1', '6.5', '6.6'],
    async run(world) {
      await unknownEverywhere(world, {});
      for (const path of ['/', '/openapi.json'])
        (await world.call({ method: 'GET', path })).is(200);
    },
  },
  {
    name: 'scopes/unknown-key',
    title: 'refuses each call with a key that it does not know as unauthenticated',
    promises: ['9.1'],
    run: (world) => unknownEverywhere(world, { key: `il_${world.id('x').slice(2)}` }),
  },
  {
    name: 'scopes/malformed-key',
    title: 'takes nothing for a key that is not one',
    promises: ['9.1', '6.4'],
    async run(world) {
      const { producer } = world.keys;
      const basic = Buffer.from(`key:${producer}`).toString('base64');
      for (const authorization of [
        producer,
        `Basic ${basic}`,
        'Bearer',
        'Bearer il_',
        `Bearer ${producer}x`,
        `Bearer ${producer.slice(0, -1)}`,
        `Bearer x${producer}`,
        `Bearer ${'x'.repeat(2_000)}`,
      ]) {
        const headers = { authorization };
        const seen = await world.call({ method: 'GET', path: '/doctor', headers });
        seen.refuses(401, 'UNAUTHENTICATED');
      }
    },
  },
  {
    name: 'scopes/key-in-the-address',
    title: 'takes no key from an address, a cookie or a body',
    promises: ['6.4'],
    needs: ['admin-key'],
    async run(world) {
      // What stands in an address stands in the logs of every proxy: one that is made for this and revoked after it.
      const { key: made } = await world.newKey('task-producer');
      const of = (name: string) => `/tasks?type=${world.type()}&${name}=${made}`;
      for (const name of ['key', 'api_key', 'access_token', 'token', 'authorization'])
        (await world.call({ method: 'GET', path: of(name) })).refuses(401, 'UNAUTHENTICATED');
      const headers = { cookie: `key=${made}; token=${made}`, 'x-api-key': made };
      const cookie = await world.call({ method: 'GET', path: '/doctor', headers });
      cookie.refuses(401, 'UNAUTHENTICATED');
      const body = { ...world.submission(), key: made };
      (await world.submitting({}, { key: undefined, body })).refuses(401, 'UNAUTHENTICATED');
      (await world.get('/doctor', made)).is(200);
    },
  },
  {
    name: 'scopes/producer',
    title: 'lets a producer submit, read and cancel, and nothing else',
    promises: ['9.3', '9.4', '9.5', '9.6', '9.7', '9.2'],
    run: (world) => holdsTo(world, 'task-producer', world.keys.producer),
  },
  {
    name: 'scopes/worker',
    title: "lets a worker's key make the worker's calls and doctor, and nothing else",
    promises: ['9.3', '9.4', '9.5', '9.6', '9.7', '9.2'],
    run: (world) => holdsTo(world, 'task-worker', world.keys.worker),
  },
  {
    name: 'scopes/operator',
    title: 'lets an operator read, cancel, retry, resolve and drain, and nothing else',
    promises: ['9.3', '9.4', '9.5', '9.6', '9.7', '9.2'],
    needs: ['operator-key'],
    async run(world) {
      const { operator } = world.keys;
      if (operator === undefined)
        throw new NotApplicable('there is an admin key, but none of kind task-operator.');
      await holdsTo(world, 'task-operator', operator);
    },
  },
  {
    name: 'scopes/admin',
    title: "lets an admin do all but the worker's calls",
    promises: ['9.3', '9.4', '9.5', '9.6', '9.7', '9.2'],
    needs: ['admin-key'],
    run: (world) => holdsTo(world, 'admin', world.keys.admin as string),
  },
  {
    name: 'scopes/no-authority',
    title: 'lets a key of kind sdk do nothing, and one of kind metrics ask doctor only',
    promises: ['9.2', '9.5'],
    needs: ['admin-key'],
    async run(world) {
      await holdsTo(world, 'sdk', (await world.newKey('sdk')).key);
      await holdsTo(world, 'metrics', (await world.newKey('metrics')).key);
    },
  },
  {
    name: 'scopes/any-worker-key',
    title: 'takes reports with another worker key of the project and the token',
    promises: ['9.8', '2.9'],
    needs: ['admin-key'],
    async run(world) {
      const task = await world.submit();
      const worker = world.worker();
      const attempt = await worker.claimOne(task.type);
      const { key } = await world.newKey('task-worker');
      const other = world.worker({ workerId: worker.workerId, key });
      (await other.report(attempt, 'renew')).is(200);
      (await other.report(attempt, 'complete', { result: 5 })).is(200);
      same((await world.task(task.id)).result, 5, 'the result of the task');
    },
  },
];
