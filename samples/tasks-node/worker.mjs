/**
 * A worker inside a program of your own, with the key as the only thing to give it:
 *
 *   INTERLOCK_WORKER_KEY=il_… node samples/tasks-node/worker.mjs
 *
 * The control plane is http://127.0.0.1:7420 unless INTERLOCK_URL says otherwise. Ctrl-C drains: what runs is
 * finished and reported, nothing more is claimed.
 */
import { TaskError, TaskWorker } from 'interlock-node-sdk';

const key = process.env.INTERLOCK_WORKER_KEY;
const serviceUrl = process.env.INTERLOCK_URL ?? 'http://127.0.0.1:7420';

try {
  if (!key) {
    throw new TaskError('KEY_MISSING', 'INTERLOCK_WORKER_KEY holds no key.', {
      hint: 'Make one with: ./bin/interlock keys new "garage node" --kind task-worker',
    });
  }
  const worker = new TaskWorker({ serviceUrl, key, workerId: 'garage-node', maxConcurrent: 2 });

  worker.handle(
    'demo/hello',
    1,
    async (input, ctx) => {
      await ctx.progress(50, `greeting ${input.name}`);
      return { greeting: `Hello, ${input.name}!` };
    },
    // It changes nothing outside, so it may run as often as anybody likes.
    { effectSafety: 'pure' },
  );

  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => worker.drain());
  await worker.start();
  console.error(`garage-node serves demo/hello@1 for ${serviceUrl}; Ctrl-C drains.`);
  const end = await worker.ended;
  console.error(`Ended: ${end?.why}, ${end?.unsent} reports left for the next start.`);
} catch (error) {
  if (!(error instanceof TaskError)) throw error;
  console.error(`${error.message}${error.hint ? `\n${error.hint}` : ''}\n(${error.code})`);
  process.exitCode = 1;
}
