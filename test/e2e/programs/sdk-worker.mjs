/**
 * A program with a `TaskWorker` in it, as a user would write one, but with handlers that hold its thread. Says what
 * happens as lines on stdout. Environment: SDK (address of the SDK), URL, KEY or KEY_FILE, FOLDER, and what else is used below.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const {
  SDK,
  URL: serviceUrl,
  KEY: key,
  FOLDER,
  KEY_FILE,
  GRACE_MS = '300',
  DRAIN_MS = '60000',
} = process.env;
const { TaskWorker } = await import(SDK);
const say = (said, more = {}) => process.stdout.write(`${JSON.stringify({ said, ...more })}\n`);
const begun = (ctx) => appendFileSync(join(FOLDER, 'begun'), `${ctx.taskId} ${ctx.attempt}\n`);

/** Nothing of this thread runs meanwhile. `busy`: as a loop does; else as a synchronous call does. */
function hold(ms, busy) {
  const until = process.hrtime.bigint() + BigInt(ms) * 1_000_000n;
  if (busy) while (process.hrtime.bigint() < until);
  else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** A source of the user's own: a file that somebody writes anew. */
function keyFile(file) {
  const read = () => readFileSync(file, 'utf8');
  let now = read();
  return {
    current: () => now,
    reload: async () => {
      now = read();
      return now;
    },
  };
}

const worker = new TaskWorker({
  serviceUrl,
  key: KEY_FILE ? keyFile(KEY_FILE) : key,
  workerId: 'program',
  maxConcurrent: 2,
  spool: join(FOLDER, 'spool'),
  stopGraceMs: Number(GRACE_MS),
  drainTimeoutMs: Number(DRAIN_MS),
});

// The careful ones: what loses its lease would be run again.
const idempotent = { effectSafety: 'idempotent' };
worker.handle(
  'test/hold',
  1,
  (input, ctx) => {
    begun(ctx);
    ctx.progress(10, 'holding');
    if (input.drain) void worker.drain();
    hold(input.ms, input.busy);
    const { state, attempts } = worker.status();
    return { attempt: ctx.attempt, state, phases: attempts.map(({ phase }) => phase) };
  },
  idempotent,
);
worker.handle('test/quick', 1, (_input, ctx) => begun(ctx) ?? 'quick', idempotent);

// Deaf to every stop. `for ever` holds nothing that would keep a process alive.
worker.handle(
  'test/deaf',
  1,
  async (input, ctx) => {
    begun(ctx);
    if (input === 'for ever') await new Promise(() => {});
    await new Promise((resolve) => process.once('SIGHUP', resolve));
    clearInterval(alive);
    return 'late';
  },
  idempotent,
);
const alive = DRAIN_MS === '60000' ? undefined : setInterval(() => {}, 1_000);

process.on('SIGTERM', () => void worker.drain());
process.on('SIGUSR2', () => process.exit(7));
await worker.start();
say('started');
const end = await worker.ended;
say('ended', { end, state: worker.status().state });
// Nothing more is open: the process ends by itself.
