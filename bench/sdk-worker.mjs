// node sdk-worker.mjs <url> <spool> <pool> <concurrency>: a program with a TaskWorker in it; handlers run in its own thread.
import { TaskWorker } from '../dist/sdk.js';

const [serviceUrl, spool, pool, concurrency] = process.argv.slice(2);
const worker = new TaskWorker({
  serviceUrl,
  spool,
  key: process.env.INTERLOCK_WORKER_KEY,
  workerId: pool,
  pools: [pool],
  maxConcurrent: Number(concurrency),
});
worker.handle('bench/noop', 1, () => ({ ok: true }), { effectSafety: 'pure' });
process.on('SIGTERM', () => worker.drain());
await worker.start();
await worker.ended;
