import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { answers } from './pg-answers.mjs';

const logger = new Logger(() => (level, message) => {
  if (level === 'error') console.error(message);
});

export async function client({ url, queue }) {
  const utils = await makeWorkerUtils({ connectionString: url, maxPoolSize: 16, logger });
  await utils.migrate();
  return {
    add: (i) => utils.addJob(queue, { i }),
    addMany: (list) => utils.addJobs(list.map((i) => ({ identifier: queue, payload: { i } }))),
    close: () => utils.release(),
  };
}

export async function worker({ url, queue, concurrency, local }, { started, recorded }) {
  answers((text, values) => {
    if (!/^\s*delete from \S+_private_jobs/.test(text ?? '')) return 0;
    return Array.isArray(values[0]) ? values[0].length : 1;
  }, recorded);
  const runner = await run({
    taskList: { [queue]: async () => started() },
    noHandleSignals: true,
    preset: {
      worker: {
        connectionString: url,
        concurrentJobs: concurrency,
        maxPoolSize: concurrency + 2,
        logger,
        ...(local && { localQueue: { size: local }, completeJobBatchDelay: 0 }),
      },
    },
  });
  return { close: () => runner.stop() };
}
