import { beforeEach, describe, expect, it } from 'vitest';
import type { KeyKind } from '../../src/contract/index.ts';
import { revokeKey } from '../../src/control-plane/keys.ts';
import { World } from './world.ts';

/** How keys are made, limited, listed and ended. */

let world: World;
beforeEach(async () => {
  world = await World.start();
});

interface Made {
  readonly id: string;
  readonly key: string;
}

async function made(kind: KeyKind, more: object = {}): Promise<Made> {
  const reply = await world.call('POST', '/keys', { body: { name: `my ${kind}`, kind, ...more } });
  expect(reply.status, reply.text).toBe(201);
  return reply.body;
}

const revoke = (id: string, key?: string) =>
  world.call('DELETE', `/keys/${id}`, key === undefined ? {} : { key });

/** The response itself, for streams. */
async function opened(path: string, key: string) {
  const response = await world.app.fetch(
    new Request(`http://cp.test/api/tasks/v1${path}`, {
      headers: { authorization: `Bearer ${key}` },
    }),
  );
  expect(response.status).toBe(200);
  return response;
}

describe('a key that expires', () => {
  it('is refused from that instant on, and who holds it is told when', async () => {
    const { id, key } = await made('task-producer', { expiresInMs: 60_000 });
    expect((await world.call('GET', '/tasks', { key })).status).toBe(200);
    await world.clock.advance(59_999);
    expect((await world.call('GET', '/tasks', { key })).status).toBe(200);
    await world.clock.advance(1);
    const reply = await world.call('GET', '/tasks', { key });
    expect(reply).toMatchObject({
      status: 401,
      body: {
        code: 'UNAUTHENTICATED',
        keyId: id,
        expiredAt: '2026-01-01T00:01:00.000Z',
        detail: `The key ${id} ("my task-producer") has expired (2026-01-01T00:01:00.000Z).`,
      },
    });
    expect(reply.headers.get('www-authenticate')).toBe('Bearer');
    expect(reply.text).not.toContain(key);
  });

  it('may be given an instant, that lies ahead', async () => {
    const { key } = await made('task-producer', { expiresAt: '2026-01-01T00:00:10Z' });
    await world.clock.advance(10_000);
    expect((await world.call('GET', '/tasks', { key })).status).toBe(401);
    const past = { name: 'x', kind: 'admin', expiresAt: '2025-12-31T00:00:00Z' };
    expect(await world.call('POST', '/keys', { body: past })).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'expiresAt', message: expect.stringMatching(/past.*2026-01-01/) }] },
    });
  });

  it('ends its streams and long polls at that instant', async () => {
    const task = await world.submit();
    const { key } = await made('task-producer', { expiresInMs: 5_000 });
    const worker = await made('task-worker', { expiresInMs: 5_000 });
    const bodies = [
      (await opened('/events', key)).text(),
      (await opened('/hints?workerId=w1&sessionId=s', worker.key)).text(),
    ];
    const poll = world.call('GET', `/tasks/${task.id}/events?after=1&waitMs=30000`, { key });
    await world.clock.advance(5_000);
    for (const body of bodies) expect(await body).toContain('event: ping');
    expect(await poll).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
  });
});

describe('a key that is revoked', () => {
  it('is refused at once by every call, with its id and when; others hear nothing of it', async () => {
    const { id, key } = await made('task-worker');
    const claimed = await world.call('POST', '/claims', { key, body: world.claimBody() });
    expect(claimed.status).toBe(200);
    await world.clock.advance(1_000);
    expect(await revoke(id)).toMatchObject({
      status: 200,
      body: { id, state: 'revoked', revokedAt: '2026-01-01T00:00:01.000Z' },
    });
    for (const [method, path, body] of [
      ['POST', '/claims', world.claimBody()],
      ['POST', '/attempts/batch', { reports: [] }],
      ['POST', '/attempts/att_x/renew', {}],
      ['PUT', '/workers/w1', {}],
      ['GET', '/hints?workerId=w1&sessionId=s', undefined],
      ['GET', '/doctor', undefined],
    ] as const) {
      const reply = await world.call(method, path, { key, ...(body && { body }) });
      expect(reply, path).toMatchObject({
        status: 401,
        body: { keyId: id, revokedAt: '2026-01-01T00:00:01.000Z' },
      });
      expect(reply.body.detail).toContain('was revoked');
    }
    const other = await world.call('GET', '/doctor', { key: `${key}x` });
    expect(other.body).toMatchObject({ detail: 'The key is not one of this control plane.' });
    expect(other.text).not.toContain(id);
  });

  it('ends its streams and long polls at once, and nobody else’s', async () => {
    const task = await world.submit();
    const mine = await made('task-producer');
    const worker = await made('task-worker');
    const bodies = [
      (await opened('/events', mine.key)).text(),
      (await opened('/hints?workerId=w1&sessionId=s', worker.key)).text(),
    ];
    const path = `/tasks/${task.id}/events?after=1&waitMs=30000`;
    const poll = world.call('GET', path, { key: mine.key });
    const theirs = world.call('GET', path);
    const stays = await opened('/events', await world.key('task-producer'));
    // Let the polls begin to wait.
    await world.clock.advance(10);
    await revoke(mine.id);
    await revoke(worker.id);
    // No time has passed: it is the revocation itself that ends them.
    for (const body of bodies) expect(await body).toContain('event: ping');
    expect(await poll).toMatchObject({ status: 401, body: { keyId: mine.id } });
    await world.call('POST', `/tasks/${task.id}/cancel`, { body: {} });
    expect((await theirs).body.events).toHaveLength(1);
    const reader = stays.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('ping');
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('event: task');
    await reader?.cancel();
  });

  it('by another process ends its streams within a second', async () => {
    const { id, key } = await made('task-producer');
    const body = (await opened('/events', key)).text();
    // As `keys revoke --data` does it: without a note that reaches this process.
    await world.store.write((tx) => tx.revokeKey(id));
    await world.clock.advance(1_000);
    expect(await body).toContain('event: ping');
    expect(world.log.map(({ event }) => event)).toContain('key.found-ended');
  });

  it('does nothing with a body that was still coming in', async () => {
    const { id, key } = await made('task-producer');
    const body = new TransformStream<Uint8Array, Uint8Array>();
    const writer = body.writable.getWriter();
    const text = JSON.stringify({ type: 'demo/hello', schemaVersion: 1, input: 1 });
    const reply = world.app.fetch(
      new Request('http://cp.test/api/tasks/v1/tasks', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: body.readable,
        duplex: 'half',
      } as RequestInit),
    );
    await writer.write(new TextEncoder().encode(text.slice(0, 10)));
    await revoke(id);
    await writer.write(new TextEncoder().encode(text.slice(10)));
    await writer.close();
    expect((await reply).status).toBe(401);
    expect((await world.call('GET', '/tasks')).body.tasks).toEqual([]);
  });

  it('holds no worker id: the next key takes it over at once', async () => {
    const old = await made('task-worker');
    const next = await made('task-worker', { name: 'next' });
    const claim = (key: string, sessionId: string) =>
      world.call('POST', '/claims', { key, body: { ...world.claimBody(), sessionId } });
    expect((await claim(old.key, 'ses-1')).status).toBe(200);
    expect((await claim(next.key, 'ses-2')).status).toBe(409);
    await revoke(old.id);
    expect((await claim(next.key, 'ses-2')).status).toBe(200);
  });

  it('once more gets the same answer', async () => {
    const { id } = await made('task-producer');
    const first = await revoke(id);
    await world.clock.advance(5_000);
    expect((await revoke(id)).text).toBe(first.text);
  });

  it('is of the own project; another’s is not there, like one that never was', async () => {
    const theirs = await world.key('admin', 'other');
    await world.key('admin');
    // Ids of one millisecond are in no order.
    await world.clock.advance(1);
    const { id } = await made('task-producer');
    const foreign = await revoke(id, theirs);
    const unknown = await revoke(id.replace(/.$/, '0'), theirs);
    expect(foreign).toMatchObject({ status: 404, body: { kind: 'key', project: 'other' } });
    expect(shape(foreign.body)).toEqual(shape(unknown.body));
    expect((await world.call('GET', '/keys')).body.keys[0]).toMatchObject({ id, state: 'usable' });
  });

  it('is not the last usable admin key, unless that is done on the machine itself', async () => {
    const admin = await world.key('admin');
    const { id } = await world.store
      .keyById(await idOf(admin))
      .then((row) => row as { id: string });
    await made('admin', { name: 'gone soon', expiresInMs: 1_000 });
    await world.clock.advance(1_000);
    const refused = await revoke(id);
    expect(refused).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
    expect(refused.body.detail).toMatch(/last usable admin key.*Make another admin key first/);
    expect(refused.body.hint).toMatch(/^Make another first: interlock keys new/);
    const second = await made('admin', { name: 'second' });
    expect((await revoke(id, second.key)).status).toBe(200);
    expect((await world.call('GET', '/keys', { key: admin })).status).toBe(401);
    expect((await revoke(second.id, second.key)).status).toBe(409);
    expect(await revokeKey(world.store, second.id, { lastAdmin: true })).toMatchObject({
      before: false,
    });
  });

  it('leaves one admin where two revoke each other at the same moment', async () => {
    const [a, b] = [await made('admin', { name: 'a' }), await made('admin', { name: 'b' })];
    await revoke(await idOf(await world.key('admin')), a.key);
    const replies = await Promise.all([revoke(b.id, a.key), revoke(a.id, b.key)]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409]);
  });
});

async function idOf(key: string): Promise<string> {
  const { body } = await world.call('GET', '/keys', { key });
  const { sha256 } = await import('../../src/control-plane/lease-token.ts');
  const row = await world.store.keyByHash(sha256(key));
  expect(body.keys.map(({ id }: { id: string }) => id)).toContain(row?.id);
  return row?.id ?? '';
}

const shape = ({ requestId: _, detail, ...body }: Record<string, unknown>) => ({
  ...body,
  detail: String(detail).replace(/key_\w+/g, 'key_…'),
});

describe('the list of keys', () => {
  it('has all of the project, newest first, page by page, and never a key or its hash', async () => {
    const key = await world.key('admin');
    const all: Made[] = [];
    for (let i = 0; i < 7; i++) {
      await world.clock.advance(1);
      all.push(await made('task-worker', { name: `w${i}`, limits: { workerIdPrefix: 'w' } }));
    }
    await world.key('admin', 'other');
    const ids: string[] = [];
    let cursor = '';
    do {
      const { body, text } = await world.call('GET', `/keys?limit=3${cursor}`, { key });
      expect(body.keys.length).toBeLessThanOrEqual(3);
      expect(text).not.toMatch(/hash|il_/);
      for (const one of [...all.map((one) => one.key), key]) expect(text).not.toContain(one);
      ids.push(...body.keys.map((row: { id: string }) => row.id));
      cursor = body.cursor === undefined ? '' : `&cursor=${body.cursor}`;
    } while (cursor !== '');
    expect(ids.slice(0, 7)).toEqual(all.map(({ id }) => id).reverse());
    expect(ids).toHaveLength(8);
    expect((await world.call('GET', '/keys')).body.keys[0]).toEqual({
      id: all[6]?.id,
      name: 'w6',
      kind: 'task-worker',
      project: 'default',
      createdAt: '2026-01-01T00:00:00.007Z',
      state: 'usable',
      limits: { workerIdPrefix: 'w' },
    });
    expect((await world.call('GET', '/keys?limit=501')).status).toBe(400);
  });

  it('tells when each was used last, without a write for each use', async () => {
    const { id, key } = await made('task-producer');
    const commits = () => world.store.stats.commits;
    const told = async () =>
      (await world.call('GET', '/keys')).body.keys.find((row: Made) => row.id === id).lastUsedAt;
    expect(await told()).toBeUndefined();
    const before = commits();
    for (let i = 0; i < 20; i++) await world.call('GET', '/tasks', { key });
    expect(await told()).toBe('2026-01-01T00:00:00.000Z');
    expect(commits()).toBe(before);
    expect((await world.store.keyById(id))?.lastUsedAtMs).toBeUndefined();
    await world.clock.advance(59_000);
    await world.call('GET', '/tasks', { key });
    expect((await world.store.keyById(id))?.lastUsedAtMs).toBeUndefined();
    await world.clock.advance(1_000);
    expect((await world.store.keyById(id))?.lastUsedAtMs).toBe(Date.UTC(2026, 0, 1, 0, 0, 59));
    // What was not written yet is written at a stop.
    await world.clock.advance(1_000);
    await world.call('GET', '/tasks', { key });
    await world.restart();
    expect(await told()).toBe('2026-01-01T00:01:01.000Z');
  });

  it('does not count what was refused as a use', async () => {
    await world.key('admin');
    await world.clock.advance(1);
    const { id, key } = await made('task-producer');
    await revoke(id);
    await world.call('GET', '/tasks', { key });
    expect((await world.call('GET', '/keys')).body.keys[0]).toMatchObject({ id, state: 'revoked' });
    expect((await world.call('GET', '/keys')).body.keys[0].lastUsedAt).toBeUndefined();
  });

  it('is for admins, and so is revoking', async () => {
    for (const kind of ['task-producer', 'task-operator', 'task-worker'] as const) {
      const key = await world.key(kind);
      expect((await world.call('GET', '/keys', { key })).status).toBe(403);
      expect((await revoke('key_x', key)).status).toBe(403);
    }
  });
});

describe('the log', () => {
  it('tells who made and who revoked which key, never the key', async () => {
    const { id, key } = await made('task-worker');
    await revoke(id);
    await revoke(id);
    const lines = world.log.filter(({ event }) => event.startsWith('key.'));
    expect(lines.map(({ event }) => event)).toEqual(['key.made', 'key.revoked']);
    for (const { text } of lines)
      expect(text).toMatch(
        /^Key key_\w+ \("my task-worker", task-worker\) was (made|revoked) by key_\w+ \("admin"\)\.$/,
      );
    expect(JSON.stringify(world.log)).not.toContain(key);
  });

  it('tells who asked a worker to drain', async () => {
    await world.claim('w1');
    await world.call('POST', '/workers/w1/drain', { body: {} });
    expect(world.log.at(-1)).toMatchObject({
      event: 'worker.drain-asked',
      text: expect.stringMatching(
        /^Worker w1 was asked to drain by key_\w+ \("task-operator"\)\.$/,
      ),
    });
  });
});

it('names the key beside its id in the journal entries of what people did', async () => {
  const task = await world.submit();
  const operator = await made('task-operator', { name: 'Ada on call' });
  await world.call('POST', `/tasks/${task.id}/cancel`, { key: operator.key, body: {} });
  await world.call('POST', `/tasks/${task.id}/retry`, {
    key: operator.key,
    body: { actionId: 'a', ifSeq: 2, reason: 'again' },
  });
  const { events } = (await world.call('GET', `/tasks/${task.id}/events`)).body;
  expect(events.slice(1)).toMatchObject([
    { kind: 'cancelled', by: `key:${operator.id}`, data: { keyName: 'Ada on call' } },
    {
      kind: 'retried',
      by: `key:${operator.id}`,
      data: { keyName: 'Ada on call', reason: 'again' },
    },
  ]);
});

describe('a key that is limited', () => {
  const limits = { pools: ['a'], types: ['demo/hello', 'demo/sum@2'], workerIdPrefix: 'garage-' };
  const denied = (limit: string, field: string) => ({
    status: 403,
    body: { code: 'SCOPE_DENIED', limit, field },
  });

  it('submits into its pools and types only', async () => {
    const { id, key } = await made('task-producer', {
      limits: { pools: ['a'], types: ['demo/hello', 'demo/sum@2'] },
    });
    const submit = (more: object) =>
      world.call('POST', '/tasks', {
        key,
        body: { type: 'demo/hello', schemaVersion: 1, input: 1, pool: 'a', ...more },
      });
    expect((await submit({})).status).toBe(201);
    expect((await submit({ schemaVersion: 9 })).status).toBe(201);
    expect((await submit({ type: 'demo/sum', schemaVersion: 2 })).status).toBe(201);
    expect(await submit({ type: 'demo/sum' })).toMatchObject(denied('types', 'type'));
    expect(await submit({ pool: 'b' })).toMatchObject(denied('pools', 'pool'));
    const unnamed = await submit({ pool: undefined });
    expect(unnamed).toMatchObject(denied('pools', 'pool'));
    expect(unnamed.body.detail).toBe(
      `pool is default; the key ${id} ("my task-producer") is limited to pools a.`,
    );
    const batch = await world.call('POST', '/tasks/batch', {
      key,
      body: ['a', 'b'].map((pool) => ({ type: 'demo/hello', schemaVersion: 1, input: 1, pool })),
    });
    expect(batch.body.map(({ status }: { status: number }) => status)).toEqual([201, 403]);
  });

  it('claims, presents and listens within them only', async () => {
    const { key } = await made('task-worker', { limits });
    const claim = (more: object) =>
      world.call('POST', '/claims', {
        key,
        body: { ...world.claimBody('garage-1'), pools: ['a'], ...more },
      });
    expect((await claim({})).status).toBe(200);
    expect(await claim({ workerId: 'shed-1' })).toMatchObject(denied('workerIdPrefix', 'workerId'));
    expect(await claim({ pools: ['a', 'b'] })).toMatchObject(denied('pools', 'pools[1]'));
    const want = (type: string, schemaVersion: number) => ({ type, schemaVersion, slots: 1 });
    expect(await claim({ want: [want('demo/hello', 3), want('demo/sum', 1)] })).toMatchObject(
      denied('types', 'want[1].type'),
    );
    const present = (worker: string, more: object = {}) =>
      world.call('PUT', `/workers/${worker}`, {
        key,
        body: {
          sessionId: 'ses-garage-1',
          state: 'ready',
          slots: { max: 1, busy: 0 },
          pools: ['a'],
          handlersHash: 'h',
          versions: {},
          spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
          ...more,
        },
      });
    expect((await present('garage-1')).status).toBe(200);
    expect(await present('shed-1')).toMatchObject(denied('workerIdPrefix', 'workerId'));
    expect(await present('garage-1', { pools: ['b'] })).toMatchObject(denied('pools', 'pools[0]'));
    expect(
      await present('garage-1', { handlers: [{ type: 'other', schemaVersion: 1 }] }),
    ).toMatchObject(denied('types', 'handlers[0].type'));
    expect(await world.call('GET', '/hints?workerId=shed-1&sessionId=s', { key })).toMatchObject(
      denied('workerIdPrefix', 'workerId'),
    );
  });

  it('decides about tasks and workers within them only', async () => {
    const task = await world.submit({ pool: 'b' });
    const { key } = await made('task-operator', { limits });
    expect(await world.call('POST', `/tasks/${task.id}/cancel`, { key, body: {} })).toMatchObject(
      denied('pools', 'the pool of the task'),
    );
    expect((await world.task(task.id)).status).toBe('queued');
    await world.claim('shed-1');
    expect(await world.call('POST', '/workers/shed-1/drain', { key, body: {} })).toMatchObject(
      denied('workerIdPrefix', 'workerId'),
    );
  });

  it('reports on what it holds, whatever it may claim', async () => {
    const { attempt } = await world.running();
    const { key } = await made('task-worker', { limits });
    const { taskId, attemptId, fence, leaseToken } = attempt;
    const reply = await world.call('POST', `/attempts/${attemptId}/complete`, {
      key,
      body: { taskId, attemptId, fence, leaseToken, result: 1 },
    });
    expect(reply.status).toBe(200);
  });
});

describe('a rate', () => {
  it('answers 429 with Retry-After beyond it, and goes on when that is over', async () => {
    const { id, key } = await made('task-producer', { limits: { requestsPerMinute: 30 } });
    const call = () => world.call('GET', '/tasks', { key });
    for (let i = 0; i < 5; i++) expect((await call()).status).toBe(200);
    await world.clock.advance(500);
    const refused = await call();
    expect(refused).toMatchObject({
      status: 429,
      body: { code: 'RATE_LIMITED', retryAfterMs: 1_500, requestsPerMinute: 30 },
    });
    expect(refused.headers.get('retry-after')).toBe('2');
    expect(refused.headers.get('content-type')).toContain('problem+json');
    expect(refused.body.detail).toContain(id);
    await world.clock.advance(1_499);
    expect((await call()).status).toBe(429);
    await world.clock.advance(1);
    expect((await call()).status).toBe(200);
  });

  it('counts each key for itself, and none that has no rate', async () => {
    const one = await made('task-producer', { limits: { requestsPerMinute: 1 } });
    const two = await made('task-producer', { limits: { requestsPerMinute: 1 } });
    const statuses = [];
    for (const { key } of [one, two, one, two])
      statuses.push((await world.call('GET', '/tasks', { key })).status);
    expect(statuses).toEqual([200, 200, 429, 429]);
    for (let i = 0; i < 300; i++) expect((await world.call('GET', '/tasks')).status).toBe(200);
  });

  it('counts calls of the wrong kind too, and none that it does not know', async () => {
    const { key } = await made('task-producer', { limits: { requestsPerMinute: 1 } });
    expect((await world.call('GET', '/keys', { key })).status).toBe(403);
    expect((await world.call('GET', '/keys', { key })).status).toBe(429);
  });

  it('never keeps a report from being taken: no lease ends by it', async () => {
    await world.submit();
    const { key } = await made('task-worker', { limits: { requestsPerMinute: 1 } });
    const claimed = await world.call('POST', '/claims', { key, body: world.claimBody() });
    const [{ taskId, attemptId, fence, leaseToken }] = claimed.body.attempts;
    const body = { taskId, attemptId, fence, leaseToken };
    expect((await world.call('POST', '/claims', { key, body: world.claimBody() })).status).toBe(
      429,
    );
    for (let i = 0; i < 100; i++)
      expect((await world.call('POST', `/attempts/${attemptId}/renew`, { key, body })).status).toBe(
        200,
      );
    const batch = await world.call('POST', '/attempts/batch', {
      key,
      body: { reports: [{ op: 'complete', ...body, result: 1 }] },
    });
    expect(batch).toMatchObject({ status: 200, body: { results: [{ status: 200 }] } });
  });
});
