/**
 * A program with a `TaskWorker` whose handler ends the program with its first line. Environment: SDK (address of the SDK),
 * URL, KEY, FOLDER.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

const { SDK, URL: serviceUrl, KEY: key, FOLDER } = process.env;
const { TaskWorker } = await import(SDK);
const worker = new TaskWorker({
  serviceUrl,
  key,
  workerId: 'program',
  spool: join(FOLDER, 'spool'),
});
worker.handle(
  'test/exits',
  1,
  (_input, ctx) => {
    appendFileSync(join(FOLDER, 'begun'), `${ctx.taskId} ${ctx.attempt}\n`);
    process.exit(3);
  },
  { effectSafety: 'pure' },
);
worker.handle('test/echo', 1, (input) => input, { effectSafety: 'pure' });
process.on('SIGTERM', () => void worker.drain());
await worker.start();
process.stdout.write('started\n');
