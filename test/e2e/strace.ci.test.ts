/** What the kernel sees of one report and of one submission: durable first, then sent. Needs strace (on Linux). */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { until } from './processes.ts';
import { World } from './world.ts';

/** Seconds, process, call and what it was given. */
interface Call {
  readonly at: number;
  readonly began: number;
  readonly text: string;
}

it('writes a report to the spool, syncs file and folder, and only then sends its first byte', async () => {
  execFileSync('strace', ['--version'], { stdio: 'ignore' });
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const trace = world.path('trace');
  // With its threads, which do the work on the disk. What a processor does not know by this name is passed over.
  const calls = [
    ...['write', 'pwrite64', 'writev', 'fsync', 'fdatasync', 'sendto', 'sendmsg'],
    ...['open', 'openat'],
  ].map((name) => `?${name}`);
  const under = ['strace', '-f', '-ttt', '-y', '-s', '4096', '-o', trace, '-e', calls.join(',')];
  const worker = await world.worker({ under });
  const task = await world.producer.submit('test/echo', 1, 'traced');
  const done = await world.producer.await(task, { timeoutMs: 60_000 });
  expect(done.status).toBe('succeeded');
  await until(() => world.inSpool('reports').length === 0, 'empty spool');
  worker.kill('SIGTERM');
  await worker.ending();

  const seen = read(readFileSync(trace, 'utf8'));
  const first = (what: string, fits: RegExp, after = 0) => {
    const found = seen.find(({ at, text }) => at > after && fits.test(text));
    if (found) return found.at;
    const all = seen.map(({ text }) => text.slice(0, 200)).join('\n');
    throw new Error(`The trace has no ${what}:\n${all}`);
  };
  const folder = literally(`${world.spool()}/reports`);
  const report = String.raw`\\"op\\":\\"complete\\"`;
  const made = first('file', new RegExp(`^open\\w*\\(.*"${folder}/[^"]+\\.jsonl", .*O_CREAT`));
  const written = first('write', new RegExp(`^p?write\\w*\\(\\d+<${folder}/[^>]+>.*${report}`));
  const file = first('fsync of it', new RegExp(`^f(data)?sync\\(\\d+<${folder}/[^>]+>\\)`));
  // Also synced at the start, when it was made: the one after the file was made is meant, beside the file's own.
  const kept = first('fsync of the folder', new RegExp(`^fsync\\(\\d+<${folder}>\\)`), made);
  const onSocket = `^(write|writev|sendto|sendmsg)\\(\\d+<(socket|TCP)`;
  const sent = first('report on a socket', new RegExp(`${onSocket}.*(${report}|/complete )`));
  const all = [made, written, file, kept, sent];
  const ms = all.map((at) => ((at - made) * 1_000).toFixed(2));
  console.log(`open, write, fsync, fsync of the folder, send at ${ms.join(', ')} ms`);
  for (const order of [
    [made, written, file, sent],
    [made, kept, sent],
  ]) {
    expect(new Set(order).size).toBe(order.length);
    expect(order).toEqual([...order].sort((a, b) => a - b));
  }
});

it('answers a submission when the log of the control plane has been synced after it was written there', async () => {
  await using world = new World();
  const plane = await world.controlPlane('task-producer');
  const trace = world.path('trace');
  const calls = [
    ...['write', 'pwrite64', 'writev', 'fsync', 'fdatasync', 'sendto', 'sendmsg'].map(
      (name) => `?${name}`,
    ),
  ];
  const strace = spawn(
    'strace',
    ['-f', '-ttt', '-y', '-s', '5000', '-o', trace, '-e', calls.join(','), '-p', `${plane.pid}`],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  // It says so when it is attached.
  await once(strace.stderr, 'data');
  const ids: string[] = [];
  for (let i = 0; i < 20; i++) {
    // At the same time, so that some commits are made while the disk is busy with others.
    const some = Array.from({ length: 8 }, () => world.producer.submit('test/echo', 1, 'traced'));
    for (const { id } of await Promise.all(some)) ids.push(id);
  }
  strace.kill('SIGINT');
  await once(strace, 'exit');

  const seen = read(readFileSync(trace, 'utf8'));
  const log = `${literally(world.path('data'))}/control-plane\\.db-wal`;
  const isLog = new RegExp(`^pwrite64\\(\\d+<${log}>`);
  const writes = seen.filter(({ text }) => isLog.test(text));
  const syncs = seen.filter(({ text }) => new RegExp(`^f(data)?sync\\(\\d+<${log}>`).test(text));
  const answers = seen.filter(({ text }) => /^(write|writev|sendto)\(\d+<(socket|TCP)/.test(text));
  for (const id of ids) {
    const written = writes.find(({ text }) => text.includes(id));
    const sent = answers.find(({ text }) => text.includes(id));
    if (!written || !sent) throw new Error(`${id}: ${written ? 'no answer' : 'not in the log'}`);
    const between = syncs.filter(({ began, at }) => began > written.at && at < sent.at);
    expect(between.length, `syncs between write and answer of ${id}`).toBeGreaterThan(0);
  }
  // They share them.
  expect(syncs.length).toBeLessThan(ids.length);
  console.log(
    `${ids.length} submissions, ${writes.length} writes of the log, ${syncs.length} syncs`,
  );
});

/**
 * Calls by their beginning; those that were interrupted in the trace by another thread (`<unfinished …>`) are put
 * together again. A sync counts at its end: only then is anything durable.
 */
function read(trace: string): Call[] {
  const calls: Call[] = [];
  const unfinished = new Map<string, Call>();
  for (const line of trace.split('\n')) {
    const [, pid = '', seconds, text = ''] = /^(\d+) +(\d+\.\d+) (.*)$/.exec(line) ?? [];
    if (seconds === undefined) continue;
    const at = Number(seconds);
    const rest = /^<\.\.\. \w+ resumed>(.*)$/.exec(text)?.[1];
    const begun = /^(.*) <unfinished \.\.\.>$/.exec(text)?.[1];
    if (begun !== undefined) unfinished.set(pid, { at, began: at, text: begun });
    else if (rest === undefined) calls.push({ at, began: at, text });
    else {
      const call = unfinished.get(pid);
      if (!call) continue;
      unfinished.delete(pid);
      const sync = call.text.startsWith('fsync') || call.text.startsWith('fdatasync');
      calls.push({ at: sync ? at : call.at, began: call.began, text: call.text + rest });
    }
  }
  return calls.sort((a, b) => a.at - b.at);
}

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
