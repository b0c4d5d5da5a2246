/**
 * The SDK on the Node.js of the host, whatever it is from 20 on: run with that node, after a build.
 * `.ci/run` does; the optional argument names a file for the counts. Needs nothing but Node.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const sdkFile = join(root, 'dist', 'sdk.js');
const producerSample = join(root, 'samples', 'tasks-node', 'producer.mjs');
const taskId = 'tsk_0001hostnode';
const key = 'il_host_node_check';
const count = { passed: 0, failed: 0, skipped: 0 };
let asked = [];

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
  else answer(404, { title: 'not part of this fake', status: 404, code: 'NOT_FOUND' });
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

server.close();
server.closeAllConnections();
if (process.argv[2]) writeFileSync(process.argv[2], JSON.stringify(count));
console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
process.exitCode = count.failed > 0 ? 1 : 0;

async function check(name, there, run) {
  if (!there) {
    count.skipped += 1;
    console.log(`- ${name}: skipped, what it needs is not there yet`);
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
