import { beforeEach, describe, expect, it } from 'vitest';
import { type KeyKind, keyKinds, operations } from '../../src/contract/index.ts';
import { makeKey } from '../../src/control-plane/keys.ts';
import { leaseToken, sha256 } from '../../src/control-plane/lease-token.ts';
import { World } from './world.ts';

let world: World;
beforeEach(async () => {
  world = await World.start();
});

describe('a key', () => {
  it('is needed, in the right form, and known', async () => {
    for (const headers of [
      {},
      { authorization: 'Basic abc' },
      { authorization: 'Bearer nokey' },
      { authorization: `Bearer il_${'x'.repeat(43)}` },
    ] as Record<string, string>[]) {
      const reply = await world.call('GET', '/tasks', { key: undefined, headers });
      expect(reply).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
      expect(reply.headers.get('www-authenticate')).toBe('Bearer');
    }
    const key = await world.key('task-producer');
    const headers = { authorization: `bearer  ${key}` };
    expect((await world.call('GET', '/tasks', { key: undefined, headers })).status).toBe(200);
  });

  it('is in no address', async () => {
    const key = await world.key('task-producer');
    expect((await world.call('GET', `/tasks?key=${key}`, { key: undefined })).status).toBe(401);
  });

  it('is shown once and kept as a hash', async () => {
    const reply = await world.call('POST', '/keys', {
      body: { name: 'garage', kind: 'task-worker' },
    });
    expect(reply.status).toBe(201);
    expect(reply.body).toMatchObject({ name: 'garage', kind: 'task-worker', project: 'default' });
    expect(reply.body.key).toMatch(/^il_[0-9A-Za-z]{43}$/);
    const row = await world.store.keyById(reply.body.id);
    expect(row?.hash).toBe(sha256(reply.body.key));
    expect(JSON.stringify(row)).not.toContain(reply.body.key);
    expect(
      (await world.call('POST', '/claims', { key: reply.body.key, body: world.claimBody() }))
        .status,
    ).toBe(200);
    expect(JSON.stringify(world.log)).not.toContain(reply.body.key);
    for (const body of [
      { name: '', kind: 'admin' },
      { name: 'x', kind: 'root' },
      { name: 'x' },
      {},
    ])
      expect((await world.call('POST', '/keys', { body })).status).toBe(400);
  });

  it('is not made with a limit that would bind nothing', async () => {
    for (const [kind, limit, value] of [
      ['task-producer', 'workerIdPrefix', 'garage-'],
      ['metrics', 'pools', ['x']],
      ['admin', 'types', ['x']],
    ] as const) {
      const limits = { requestsPerMinute: 6, [limit]: value };
      const reply = await world.call('POST', '/keys', { body: { name: 'bad', kind, limits } });
      expect(reply).toMatchObject({
        status: 400,
        body: { code: 'INVALID_REQUEST', issues: [{ path: `limits.${limit}` }] },
      });
    }
  });

  it('is for one of the known kinds, in a project with a plain name', async () => {
    await expect(
      makeKey(world, { kind: 'root' as KeyKind, project: 'p', name: 'x' }),
    ).rejects.toMatchObject({ code: 'USAGE' });
    await expect(
      makeKey(world, { kind: 'admin', project: 'a b', name: 'x' }),
    ).rejects.toMatchObject({
      code: 'USAGE',
    });
  });
});

it('lets each kind of key call what the table of operations says, and nothing else', async () => {
  const path = (text: string) =>
    text
      .replace('{id}', 'tsk_none')
      .replace('{workerId}', 'none')
      .replace('{attemptId}', 'att_none')
      .replace('{op}', 'renew');
  for (const operation of operations) {
    if (operation.keys === 'open' || operation.id === 'taskHints' || operation.id === 'workerHints')
      continue;
    for (const kind of keyKinds) {
      const reply = await world.call(operation.method, path(operation.path), {
        key: await world.key(kind),
        ...(operation.method === 'GET' ? {} : { body: {} }),
      });
      const allowed = (operation.keys as readonly KeyKind[]).includes(kind);
      expect(reply.status === 403, `${kind} ${operation.id}: ${reply.text}`).toBe(!allowed);
      if (allowed) continue;
      expect(reply.body).toMatchObject({
        code: 'SCOPE_DENIED',
        needed: operation.keys,
        present: kind,
      });
      for (const needed of operation.keys) expect(reply.body.detail).toContain(needed);
      expect(reply.body.detail).toContain(kind);
    }
  }
});

it('keeps two projects apart: what is of the other is not there', async () => {
  const { task, attempt } = await world.running();
  const theirs = {
    producer: await world.key('task-producer', 'other'),
    worker: await world.key('task-worker', 'other'),
    operator: await world.key('task-operator', 'other'),
    admin: await world.key('admin', 'other'),
  };
  const action = { actionId: 'a', ifSeq: 2, reason: 'x' };
  for (const [method, path, key, body] of [
    ['GET', `/tasks/${task.id}`, theirs.producer],
    ['GET', `/tasks/${task.id}/events`, theirs.producer],
    ['GET', `/tasks/${task.id}/logs`, theirs.producer],
    ['POST', `/tasks/${task.id}/cancel`, theirs.producer, {}],
    ['POST', `/tasks/${task.id}/retry`, theirs.operator, action],
    ['POST', `/tasks/${task.id}/resolve`, theirs.operator, { ...action, resolution: 'failed' }],
    ['GET', '/workers/w1', theirs.admin],
    ['POST', '/workers/w1/drain', theirs.admin],
    ['POST', `/attempts/${attempt.attemptId}/renew`, theirs.worker, attempt],
    ['POST', `/attempts/${attempt.attemptId}/complete`, theirs.worker, { ...attempt, result: 1 }],
  ] as [string, string, string, unknown][]) {
    const { leaseToken: token, taskId, fence, attemptId } = attempt;
    const reply = await world.call(method, path, {
      key,
      body: path.startsWith('/attempts')
        ? { leaseToken: token, taskId, fence, attemptId, result: 1 }
        : body,
    });
    expect(reply, `${method} ${path}`).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND', project: 'other' },
    });
  }
  for (const [path, empty] of [
    ['/tasks', { tasks: [] }],
    ['/workers', { workers: [] }],
    ['/types', { types: [] }],
  ] as const)
    expect((await world.call('GET', path, { key: theirs.producer })).body).toEqual(empty);
  expect((await world.call('GET', '/doctor', { key: theirs.admin })).body).toMatchObject({
    project: 'other',
    queueDepth: 0,
    workers: { ready: 0, full: 0, draining: 0, offline: 0 },
  });
  const claimed = await world.call('POST', '/claims', {
    key: theirs.worker,
    body: world.claimBody(),
  });
  expect(claimed.body.attempts).toEqual([]);
  expect((await world.report(attempt, 'complete', { result: 1 })).status).toBe(200);
});

it('signs a token for one store, project, attempt and fence', () => {
  const secret = new Uint8Array(32).fill(1);
  const holder = { project: 'p', attemptId: 'att_1', fence: 1 };
  const token = leaseToken(secret, 'epoch', holder);
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  const others = [
    leaseToken(new Uint8Array(32), 'epoch', holder),
    leaseToken(secret, 'epoch2', holder),
    leaseToken(secret, 'epoch', { ...holder, project: 'q' }),
    leaseToken(secret, 'epoch', { ...holder, attemptId: 'att_11' }),
    leaseToken(secret, 'epoch', { ...holder, fence: 11 }),
  ];
  expect(new Set([token, ...others]).size).toBe(6);
});
