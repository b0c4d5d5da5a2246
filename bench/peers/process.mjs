// node process.mjs <peer> <client|worker> <options as JSON>: one process of another queue, driven over IPC.
const [peer, role, text] = process.argv.slice(2);
const options = JSON.parse(text);
const made = await import(`./${peer}.mjs`);
const wall = () => performance.timeOrigin + performance.now();

async function inFlight(count, width, job) {
  const from = performance.now();
  let next = 0;
  const lane = async () => {
    while (next < count) await job(next++);
  };
  await Promise.all(Array.from({ length: width }, lane));
  return performance.now() - from;
}

async function asClient() {
  const client = await made.client(options);
  const many = (first, count) => client.addMany(Array.from({ length: count }, (_, k) => first + k));
  const ops = {
    one: async () => {
      const sent = wall();
      await client.add(0);
      return sent;
    },
    single: ({ count }) => inFlight(count, 16, (i) => client.add(i)),
    bulk: ({ count }) =>
      inFlight(Math.ceil(count / 100), 4, (i) => many(i * 100, Math.min(100, count - i * 100))),
    close: () => client.close(),
  };
  process.on('message', async ({ id, op, ...rest }) => {
    try {
      process.send({ id, value: await ops[op](rest) });
    } catch (error) {
      process.send({ id, error: String(error?.stack ?? error) });
    }
    if (op === 'close') process.disconnect();
  });
}

/** Tells each end (`each`), or the time from the first start after `warm` jobs to the last end of `count` more. */
async function asWorker() {
  const { warm = 0, count = 0, each = false } = options;
  let [starts, ends, from] = [0, 0, Number.NaN];
  const worker = await made.worker(options, {
    started: () => {
      if (each || starts === warm) from = wall();
      starts++;
    },
    recorded: (n) => {
      ends += n;
      if (each) process.send({ begun: from, recorded: wall() });
      else if (ends >= warm + count) process.send({ drained: wall() - from });
    },
  });
  process.on('message', async () => {
    await worker.close();
    process.exit(0);
  });
}

// Whoever started it is gone.
process.on('disconnect', () => process.exit(0));
await (role === 'client' ? asClient() : asWorker());
process.send({ ready: true });
