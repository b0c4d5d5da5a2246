/** A task whose handler ends its program at once; the control plane is in this process. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it, vi } from 'vitest';
import { CollectingLog } from '../../sim/log.ts';
import { serveControlPlane } from '../../src/control-plane/serve.ts';
import { TaskOperator, TaskProducer } from '../../src/index.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';
import { Processes, ROOT } from './processes.ts';

vi.setConfig({ testTimeout: 90_000 });

it('a handler that ends its program with its first line has its attempts and no more (F43)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'interlock-sdk-exits-'));
  const processes = new Processes(folder);
  const plane = await serveControlPlane({
    listen: '127.0.0.1:0',
    store: 'memory',
    clock: systemClock(),
    random: systemRandom(),
    log: new CollectingLog(),
  });
  const operator = new TaskOperator({ serviceUrl: plane.url, key: plane.adminKey as string });
  const producer = new TaskProducer({
    serviceUrl: plane.url,
    key: (await operator.newKey('producer', 'task-producer')).key,
  });
  const { key } = await operator.newKey('worker', 'task-worker');
  const program = () =>
    processes.start(process.execPath, [join(ROOT, 'test/e2e/programs/sdk-exits.mjs')], {
      env: {
        SDK: pathToFileURL(join(ROOT, 'dist/sdk.js')).href,
        URL: plane.url,
        KEY: key,
        FOLDER: folder,
      },
    });
  try {
    const policy = { maxAttempts: 2, backoff: { initialMs: 1, maxMs: 1 } };
    const task = await producer.submit('test/exits', 1, {}, { policy });
    for (const attempt of [1, 2])
      expect(await program().ending(), `attempt ${attempt}`).toMatchObject({ code: 3 });
    // The third start tells of the second, and has nothing to run but this.
    const third = program();
    const ended = await producer.await(task.id, { timeoutMs: 60_000 });
    expect(ended).toMatchObject({
      status: 'failed',
      attempts: 2,
      undelivered: 0,
      error: { code: 'ATTEMPTS_EXHAUSTED' },
    });
    const echo = await producer.submit('test/echo', 1, 'still here');
    expect(await producer.await(echo.id)).toMatchObject({ result: 'still here' });
    third.kill('SIGTERM');
    expect(await third.ending()).toMatchObject({ code: 0 });
    const begun = readFileSync(join(folder, 'begun'), 'utf8');
    expect(begun).toBe(`${task.id} 1\n${task.id} 2\n`);
  } finally {
    await processes.end();
    await producer.close();
    await operator.close();
    await plane.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});
