/** The SDK's face on real sockets, against the control plane. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CollectingLog } from '../../sim/log.ts';
import { openClient } from '../../src/client/open-client.ts';
import { attempt } from '../../src/contract/index.ts';
import { type ServedControlPlane, serveControlPlane } from '../../src/control-plane/serve.ts';
import { TaskOperator, TaskProducer } from '../../src/index.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';
import type { WireFetch } from '../../src/wire/fetch.ts';
import { constantKey } from '../../src/wire/key.ts';
import { openFetch } from '../../src/wire/open-fetch.ts';
import { claimBody, complete, transportTo } from '../transports/worker.ts';

const root = dirname(dirname(import.meta.dirname));
const sdkBuilt = existsSync(join(root, 'dist', 'sdk.js'));
if (!sdkBuilt) console.log('the sample is not run: dist/ is not built (npm run build)');

let folder: string;
let plane: ServedControlPlane;
let serviceUrl: string;
let admin: TaskOperator;

function serve(port = 0): Promise<ServedControlPlane> {
  return serveControlPlane({
    listen: `127.0.0.1:${port}`,
    data: folder,
    clock: systemClock(),
    random: systemRandom(),
    log: new CollectingLog(),
  });
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'interlock-client-'));
  plane = await serve();
  serviceUrl = plane.url;
  admin = new TaskOperator({ serviceUrl, key: plane.adminKey ?? '' });
});
afterEach(async () => {
  await admin.close();
  await plane.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Serves `demo/hello` until one task is done. */
async function serveOne(): Promise<void> {
  const { key } = await admin.newKey('worker', 'task-worker');
  const transport = transportTo(serviceUrl, { key: constantKey(key) });
  for (;;) {
    const answer = await transport.claim(claimBody());
    if (answer.kind !== 'ok') throw new Error(JSON.stringify(answer));
    const [item] = answer.value.attempts;
    if (item === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      continue;
    }
    const got = attempt.parse(item);
    const { name } = got.input as { name: string };
    await transport.report(complete(got, { greeting: `Hello, ${name}!` }));
    return;
  }
}

it('submits, is served and sees the end', async () => {
  const { key } = await admin.newKey('producer', 'task-producer');
  const producer = new TaskProducer({ serviceUrl: `${serviceUrl}/`, key, project: 'default' });
  const task = await producer.submit('demo/hello', 1, { name: 'Ada' });
  const [ended] = await Promise.all([producer.await(task), serveOne()]);
  expect(ended).toMatchObject({ status: 'succeeded', result: { greeting: 'Hello, Ada!' } });
  const kinds: string[] = [];
  for await (const { kind } of producer.events(task, { follow: true })) kinds.push(kind);
  expect(kinds.at(-1)).toBe('succeeded');
  await producer.close();
});

it('submits many at once, each with its own answer, in few calls', async () => {
  const limits = { types: ['a', 'b'] };
  const outside = { clock: systemClock(), random: systemRandom() };
  const keys = openClient({ serviceUrl, key: plane.adminKey ?? '' }, outside);
  const { key } = await keys.client.newKey({ name: 'producer', kind: 'task-producer', limits });
  const own = openFetch({ clock: outside.clock });
  let calls = 0;
  const fetch: WireFetch = (url, init) => {
    calls++;
    return own.fetch(url, init);
  };
  const producer = new TaskProducer({ serviceUrl, key, fetch });
  const gone = AbortSignal.abort();
  const twice = { idempotencyKey: 'twice' };
  const others = Array.from({ length: 80 }, (_, n) => producer.submit('b', 2, { n }));
  const seen = await Promise.allSettled([
    producer.submit('a', 1, 1, twice),
    producer.submit('a', 1, 1, twice),
    producer.submit('a', 1, 2, twice),
    producer.submit('c', 1, 1),
    producer.submit('a', 1, 'x'.repeat(300_000)),
    producer.submit('a', 1, Number.NaN),
    producer.submit('a', 1, 1, { signal: gone }),
    ...others,
  ]);
  expect(seen.slice(0, 7)).toMatchObject([
    { value: { replayed: false } },
    { value: { replayed: true } },
    { reason: { code: 'IDEMPOTENCY_CONFLICT' } },
    { reason: { code: 'SCOPE_DENIED' } },
    { reason: { code: 'PAYLOAD_TOO_LARGE' } },
    { reason: { code: 'INVALID_REQUEST' } },
    { reason: { code: 'ABORTED' } },
  ]);
  expect(await Promise.all(others)).toMatchObject(
    others.map(() => ({ type: 'b', replayed: false })),
  );
  expect(calls).toBeLessThan(10);
  await Promise.all([producer.close(), own.close(), keys.close()]);
});

it('outlives a restart of the control plane in the middle of a long poll', async () => {
  const { key } = await admin.newKey('producer', 'task-producer');
  let polls: () => void = () => {};
  const polling = new Promise<void>((resolve) => {
    polls = resolve;
  });
  const producer = new TaskProducer({
    serviceUrl,
    key,
    fetch: (url, init) => {
      if (url.includes('waitMs')) polls();
      return fetch(url, init);
    },
  });
  const task = await producer.submit('demo/hello', 1, { name: 'Ada' });
  const ended = producer.await(task);
  await polling;
  await plane.stop();
  plane = await serve(plane.port);
  await serveOne();
  expect(await ended).toMatchObject({ status: 'succeeded' });
  await producer.close();
});

it.skipIf(!sdkBuilt)('has a sample that needs a key only, and ends by itself', async () => {
  const { key } = await admin.newKey('producer', 'task-producer');
  const sample = join(root, 'samples', 'tasks-node', 'producer.mjs');
  const env = { ...process.env, INTERLOCK_URL: serviceUrl, INTERLOCK_PRODUCER_KEY: key };
  const ran = promisify(execFile)(process.execPath, [sample, 'Grace'], { env });
  await serveOne();
  const { stdout, stderr } = await ran;
  expect(JSON.parse(stdout)).toEqual({ greeting: 'Hello, Grace!' });
  expect(stderr).toMatch(/^tsk_\w+ was submitted and is queued\.\n$/);
});
