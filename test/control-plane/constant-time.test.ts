import { beforeEach, expect, it, vi } from 'vitest';

/** No secret is compared character by character. */

const compared = vi.hoisted(() => [] as string[][]);
vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof import('node:crypto')>();
  return {
    ...crypto,
    timingSafeEqual(a: Buffer, b: Buffer) {
      compared.push([a.toString(), b.toString()]);
      return crypto.timingSafeEqual(a, b);
    },
  };
});

const { World } = await import('./world.ts');
const { sha256 } = await import('../../src/control-plane/lease-token.ts');

beforeEach(() => compared.splice(0));

it('compares a lease token in constant time, also a wrong one', async () => {
  const world = await World.start();
  const { attempt } = await world.running();
  const near = attempt.leaseToken.replace(/^./, (first: string) => (first === 'A' ? 'B' : 'A'));
  expect((await world.report({ ...attempt, leaseToken: near }, 'renew')).status).toBe(409);
  expect((await world.report(attempt, 'renew')).status).toBe(200);
  expect(compared).toEqual([
    [attempt.leaseToken, near],
    [attempt.leaseToken, attempt.leaseToken],
  ]);
});

it('never gives a key itself to the store: it is found by its hash', async () => {
  const world = await World.start();
  const key = await world.key('task-producer');
  const asked: string[] = [];
  const { store } = world;
  const { keyByHash } = store;
  store.keyByHash = (hash) => {
    asked.push(hash);
    return keyByHash(hash);
  };
  const near = key.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'));
  for (const one of [key, near]) await world.call('GET', '/tasks', { key: one });
  expect(asked).toEqual([sha256(key), sha256(near)]);
  // One character more or less, and nothing of the hash is the same: no guess comes nearer by its time.
  expect(sha256(key).slice(0, 8)).not.toBe(sha256(near).slice(0, 8));
});
