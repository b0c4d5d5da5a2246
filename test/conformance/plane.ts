import type { KitKeys } from '../../src/conformance/control-plane/world.ts';
import type { KeyKind } from '../../src/contract/index.ts';
import { createApp } from '../../src/control-plane/app.ts';
import { makeKey } from '../../src/control-plane/keys.ts';
import { openMemoryStore } from '../../src/stores/memory.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';
import type { WireFetch } from '../../src/wire/fetch.ts';

/** Our control plane over the memory store, in this process and without sockets, in real time. */
export async function openPlane(leaseMinMs = 1_000) {
  const clock = systemClock();
  const random = systemRandom();
  const store = openMemoryStore({ clock, random });
  const quiet = () => {};
  const app = createApp({
    store,
    clock,
    random,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    secret: random.bytes(32),
    // What takes 15 s and 45 s by itself.
    timing: { hintPingMs: 2_000, presentAfterMs: 1_000, offlineAfterMs: 3_000, touchGapMs: 500 },
    limits: { leaseMs: { min: leaseMinMs, default: 30_000, max: 600_000 } },
  });
  await app.start();
  const make = async (kind: KeyKind, project = 'default') =>
    (await makeKey({ store, random }, { kind, project, name: `the ${kind} of ${project}` })).key;
  const keys: KitKeys = {
    worker: await make('task-worker'),
    producer: await make('task-producer'),
    operator: await make('task-operator'),
    admin: await make('admin'),
    otherWorker: await make('task-worker', 'other'),
    otherProducer: await make('task-producer', 'other'),
  };
  const fetch: WireFetch = async (url, { lane: _lane, once: _once, ...init }) => {
    // As every fetch: what was given up before is not sent.
    init.signal.throwIfAborted();
    return app.fetch(new Request(url, init));
  };
  const read = async (path: string, key = keys.producer) => {
    const response = await fetch(`http://plane.invalid/api/tasks/v1${path}`, {
      method: 'GET',
      headers: { authorization: `Bearer ${key}` },
      signal: new AbortController().signal,
      redirect: 'manual',
    });
    return JSON.parse(await new Response(response.body).text());
  };
  const close = async () => {
    await app.stop();
    await store.close();
  };
  return { url: 'http://plane.invalid', keys, fetch, read, clock, random, close };
}
