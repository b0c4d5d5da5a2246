/**
 * The SDK on the Node.js of the host, whatever it is from 20 on: run with that node, after a build.
 * `.ci/run` does; the optional argument names a file for the counts. Needs nothing but Node.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const sdkFile = join(root, 'dist', 'sdk.js');
const producerSample = join(root, 'samples', 'tasks-node', 'producer.mjs');
const taskId = 'tsk_0001hostnode';
const key = 'il_host_node_check';
/** One that a busy machine keeps. */
const leaseMs = 2_000;
const count = { passed: 0, failed: 0, skipped: 0 };
let asked = [];
let offers = 0;
let offered = false;

const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const { method, url, headers } = request;
  asked.push({ method, url, headers, body: body && JSON.parse(body) });
  const answer = (status, value) => {
    response.writeHead(status, { 'content-type': 'application/json', 'interlock-contract': '1' });
    response.end(JSON.stringify(value));
  };
  if (method === 'POST' && url === '/api/tasks/v1/tasks') answer(201, task('queued'));
  else if (url?.startsWith(`/api/tasks/v1/tasks/${taskId}/events`)) answer(200, { events: [] });
  else if (url?.startsWith(`/api/tasks/v1/tasks/${taskId}`)) answer(200, task('succeeded'));
  else if (method === 'PUT' && url?.includes('/workers/')) answer(200, presence());
  else if (method === 'POST' && url?.endsWith('/claims')) answer(200, claim());
  else if (method === 'POST' && url?.endsWith('/attempts/batch')) {
    const { reports } = asked.at(-1).body;
    answer(200, { results: reports.map((body) => ({ status: 200, body: accepted(body) })) });
  } else if (method === 'POST' && url?.includes('/attempts/')) {
    answer(200, accepted(asked.at(-1).body));
  } else answer(404, { title: 'not part of this fake', status: 404, code: 'NOT_FOUND' });
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const serviceUrl = `http://127.0.0.1:${server.address().port}`;

console.log(`The SDK on Node ${process.version}`);
const sdk = existsSync(sdkFile) ? await import(pathToFileURL(sdkFile).href) : undefined;

await check('submits a task', sdk?.TaskProducer, async () => {
  const producer = new sdk.TaskProducer({ serviceUrl, key });
  const submitted = await producer.submit('demo/hello', 1, { name: 'Ada' });
  assert.equal(submitted.id, taskId);
  const post = asked.find(({ method }) => method === 'POST');
  assert.equal(post.url, '/api/tasks/v1/tasks');
  assert.equal(post.headers.authorization, `Bearer ${key}`);
  assert.equal(post.headers['interlock-contract'], '1');
  const { type, schemaVersion, input } = post.body;
  assert.deepEqual(
    { type, schemaVersion, input },
    { type: 'demo/hello', schemaVersion: 1, input: { name: 'Ada' } },
  );
});

await check('offers the names that a handler file needs', sdk, async () => {
  const handler = await import(pathToFileURL(join(root, 'dist', 'handler.js')).href);
  for (const name of ['defineHandler', 'RetryableError', 'UnknownOutcomeError']) {
    assert.equal(typeof handler[name], 'function', name);
  }
});

await check('runs samples/tasks-node/producer.mjs', sdk && existsSync(producerSample), async () => {
  asked = [];
  await promisify(execFile)(process.execPath, [producerSample, 'Ada'], {
    env: { ...process.env, INTERLOCK_URL: serviceUrl, INTERLOCK_PRODUCER_KEY: key },
    timeout: 20_000,
  });
  const post = asked.find(({ method }) => method === 'POST');
  assert.equal(post.body.type, 'demo/hello');
  assert.deepEqual(post.body.input, { name: 'Ada' });
});

await check(
  'serves a task with a handler that holds its thread for three leases',
  sdk,
  async () => {
    asked = [];
    const folder = mkdtempSync(join(tmpdir(), 'interlock-host-node-'));
    try {
      // Ends by itself when it has drained.
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [join(root, 'test', 'e2e', 'programs', 'sdk-worker.mjs')],
        {
          env: {
            ...process.env,
            SDK: pathToFileURL(sdkFile).href,
            URL: serviceUrl,
            KEY: key,
            FOLDER: folder,
          },
          timeout: 60_000,
        },
      );
      assert.match(stdout, /"why":"drained","unsent":0/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    const reports = asked.flatMap(({ body }) => body?.reports ?? (body?.op ? [body] : []));
    const ops = reports.map(({ op }) => op);
    assert.equal(ops.filter((op) => op === 'complete').length, 1, ops.join());
    assert.ok(ops.filter((op) => op === 'renew').length >= 4, `renewals: ${ops.join()}`);
    const { result } = reports.find(({ op }) => op === 'complete');
    assert.deepEqual(result.phases, ['running']);
  },
);

// From 20.19 and 22.12 on.
const requires = process.features.require_module === true;
await check('is there for require() too', sdk && requires, () => {
  const required = createRequire(import.meta.url)(sdkFile);
  assert.equal(typeof required.TaskWorker, 'function');
});

server.close();
server.closeAllConnections();
if (process.argv[2]) writeFileSync(process.argv[2], JSON.stringify(count));
console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
process.exitCode = count.failed > 0 ? 1 : 0;

async function check(name, there, run) {
  if (!there) {
    count.skipped += 1;
    console.log(`- ${name}: skipped, this Node or this build does not have what it needs`);
    return;
  }
  try {
    await run();
    count.passed += 1;
    console.log(`✓ ${name}`);
  } catch (error) {
    count.failed += 1;
    console.log(`✗ ${name}\n${error.stack}`);
  }
}

/** One attempt, and another where it was given back: the machine was too busy for its lease. */
function claim() {
  const none = { attempts: [], pollAfterMs: 1_000 };
  if (offered) return none;
  offered = true;
  const fence = ++offers;
  const { policy } = task('queued');
  const input = { ms: 3 * leaseMs, drain: true };
  const attempt = {
    ...{ taskId, attemptId: `att_000${fence}hostnode`, fence, leaseToken: 'token', leaseMs },
    ...{ attempt: 1, type: 'test/hold', schemaVersion: 1, input, effectKey: taskId },
    ...{ effectSafety: 'idempotent', effectGate: 'start', pool: 'default', labels: {} },
    ...{ policy, cancelRequested: false },
  };
  return { ...none, attempts: [attempt] };
}

function accepted({ attemptId, fence, op }) {
  if (op === 'release') offered = false;
  return { accepted: true, attemptId, fence, op, leaseMs };
}

function presence() {
  return { serverTime: '2026-01-01T00:00:00.000Z', project: 'default' };
}

function task(status) {
  const at = '2026-01-01T00:00:00.000Z';
  return {
    id: taskId,
    type: 'demo/hello',
    schemaVersion: 1,
    status,
    pool: 'default',
    priority: 0,
    labels: {},
    effectKey: taskId,
    policy: {
      maxAttempts: 5,
      backoff: { initialMs: 5000, factor: 2, maxMs: 120_000, jitter: 0.2 },
      attemptTimeoutMs: 3_600_000,
      leaseMs: 30_000,
      lostGraceMs: 300_000,
    },
    attempts: status === 'succeeded' ? 1 : 0,
    undelivered: 0,
    seq: status === 'succeeded' ? 4 : 1,
    createdAt: at,
    ...(status === 'succeeded'
      ? { startedAt: at, finishedAt: at, result: { greeting: 'Hello, Ada!' } }
      : {}),
  };
}
