import { PgBoss } from 'pg-boss';
import { answers } from './pg-answers.mjs';

async function boss(url, max) {
  const made = new PgBoss({ connectionString: url, max, useListenNotify: true });
  made.on('error', (error) => console.error(error));
  await made.start();
  return made;
}

export async function client({ url, queue }) {
  const to = await boss(url, 16);
  await to.createQueue(queue, { notify: true });
  return {
    add: (i) => to.send(queue, { i }),
    addMany: (list) =>
      to.insert(
        queue,
        list.map((i) => ({ data: { i } })),
      ),
    close: () => to.stop({ graceful: false }),
  };
}

export async function worker({ url, queue, concurrency, batch }, { started, recorded }) {
  answers(
    (text, values) =>
      /SET completed_on/i.test(text ?? '') && Array.isArray(values?.[1]) ? values[1].length : 0,
    recorded,
  );
  const on = await boss(url, concurrency + 2);
  await on.work(
    queue,
    { localConcurrency: concurrency, batchSize: batch, burstWhenBatchFull: true },
    async (jobs) => {
      for (const _ of jobs) started();
    },
  );
  return { close: () => on.stop({ graceful: false }) };
}
