/** Ends its host: by a signal, or `of: 'hunger'` by taking memory until somebody ends it. */
export default async ({ of }) => {
  if (of !== 'hunger') process.kill(process.pid, of);
  const taken = [];
  while (of === 'hunger') {
    taken.push(Buffer.alloc(4_194_304, 1));
    // A real one has other things to do too; the channel of its host stays alive.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return new Promise(() => setInterval(() => {}, 1_000));
};
