import { Queue, Worker } from 'bullmq';

// One connection for the calls, over which ioredis sends ahead; workers have a second one that waits.
export async function client({ port, queue }) {
  const to = new Queue(queue, { connection: { host: '127.0.0.1', port } });
  await to.waitUntilReady();
  return {
    add: (i) => to.add('noop', { i }),
    addMany: (list) => to.addBulk(list.map((i) => ({ name: 'noop', data: { i } }))),
    close: () => to.close(),
  };
}

export async function worker({ port, queue, concurrency }, { started, recorded }) {
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
  const on = new Worker(
    queue,
    async () => {
      started();
      return { ok: true };
    },
    { connection, concurrency },
  );
  // Told once Redis has answered the script that moves the job.
  on.on('completed', () => recorded(1));
  on.on('error', (error) => console.error(error));
  await on.waitUntilReady();
  return { close: () => on.close() };
}
