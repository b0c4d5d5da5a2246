/** Faults from the field that come from handlers and their input, through all processes and over real HTTP. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFcp } from '../../src/fcp/fcp.ts';
import { type Proc, until } from './processes.ts';
import { carries } from './proxy.ts';
import { World } from './world.ts';

let world: World;
let worker: Proc;
beforeAll(async () => {
  world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  worker = await world.worker({ max: 4, args: ['--stop-grace', '500ms'] });
});
afterAll(() => world[Symbol.asyncDispose]());

/** Runs one task to its end, without repetition. */
async function outcome(type: string, input: unknown) {
  const task = await world.producer.submit(type, 1, input, { policy: { maxAttempts: 1 } });
  return world.producer.await(task, { timeoutMs: 60_000 });
}

describe('F41', () => {
  it('takes 200 MB of stderr without a newline, in bounded memory, and keeps the result', async () => {
    const done = await outcome('test/chatty', { megabytes: 200 });
    expect(done).toMatchObject({ status: 'succeeded', result: { megabytes: 200 } });
    const { body } = await world.call('GET', `/tasks/${done.id}/logs`);
    const texts: string[] = body.lines.map(({ text }: { text: string }) => text);
    expect(texts.at(-1)).toMatch(/truncated: 20\d{7} bytes were not kept/);
    expect(texts.join('').length).toBeLessThan(2_097_152);
    const peak = peakMiB(worker.pid);
    console.log(`F41: the worker's memory was at most ${peak} MiB`);
    if (peak !== undefined) expect(peak).toBeLessThan(300);
  });

  it('ends one attempt alone whose host exits with 7 on a large input', async () => {
    const fcp = await startFcp({ batchBytes: 16_777_216 });
    try {
      await world.worker({ id: 'fcp', url: fcp.url, max: 2 });
      const padding = 'i'.repeat(6 * 1_048_576);
      const exits = fcp.offer({ type: 'test/exits', input: { code: 7, padding } });
      const echo = fcp.offer({ type: 'test/echo', input: 'a neighbour' });
      const { body } = await exits.accepted('lost');
      expect(body).toMatchObject({ reason: 'host-died', begun: true, details: { exitCode: 7 } });
      expect((await echo.accepted('complete')).body).toMatchObject({ result: 'a neighbour' });
      expect(fcp.violations).toEqual([]);
    } finally {
      await fcp.stop();
    }
  });
});

describe('F44', () => {
  it('makes a failure of whatever is thrown, cut to a bound, and no harm of what comes after the return', async () => {
    const failed = { status: 'failed', error: { code: 'HANDLER_ERROR' } };
    const all = await Promise.all(
      [
        'undefined',
        'null',
        'text',
        'a getter that throws',
        'a message of 5 MB',
        'beside the promise',
      ].map((what) => outcome('test/throws', { what })),
    );
    for (const done of all) expect(done).toMatchObject(failed);
    for (const { error } of all) expect(error?.message.length).toBeLessThanOrEqual(8_192);
    expect(all[2]?.error?.message).toBe('x');
    expect(await outcome('test/throws', { what: 'after the return' })).toMatchObject({
      status: 'succeeded',
      result: 'returned',
    });
    expect(worker.running).toBe(true);
  });

  it('tells an exit, also with 0, and a handler that never settles, while neighbours finish', async () => {
    const [exit0, exit5, never, ...neighbours] = await Promise.all([
      outcome('test/exits', { code: 0 }),
      outcome('test/exits', { code: 5 }),
      outcome('test/late-timeout', null),
      ...[1, 2, 3, 4].map((n) => outcome('test/echo', n)),
    ]);
    const exhausted = (details: object) => ({
      status: 'failed',
      error: { code: 'ATTEMPTS_EXHAUSTED', details },
    });
    expect(exit0).toMatchObject(exhausted({ reason: 'host-died', exitCode: 0 }));
    expect(exit5).toMatchObject(exhausted({ reason: 'host-died', exitCode: 5 }));
    expect(never).toMatchObject(exhausted({ reason: 'timeout' }));
    for (const done of neighbours) expect(done.status).toBe('succeeded');
  });
});

describe('F47', () => {
  const refused: [string, string][] = [
    ['{"big":9007199254740993}', 'input.big'],
    ['{"huge":1e400}', 'input.huge'],
    ['{"zero":-0}', 'input.zero'],
    ['{"twice":1,"twice":1}', 'input.twice'],
    ['{"half":"\\ud800"}', 'input.half'],
  ];

  it.each(refused)(
    'refuses %s with its path, by HTTP and in the command line',
    async (input, path) => {
      const body = `{"type":"test/echo","schemaVersion":1,"input":${input}}`;
      const { status, body: problem } = await world.call('POST', '/tasks', body);
      expect({ status, code: problem.code }).toEqual({ status: 400, code: 'INVALID_REQUEST' });
      expect(problem.issues.map((issue: { path: string }) => issue.path)).toEqual([path]);
      const typed = await world.run(['tasks', 'submit', 'test/echo', '--input', input]);
      expect(typed.code).toBe(65);
      expect(typed.err).toContain(path.slice('input.'.length));
    },
  );

  it('brings numbers and ids back as they were: by HTTP, from the command line, and through the spool', async () => {
    const text = '{"price":1.10,"large":9007199254740991,"id":"9007199254740993","small":5e-324}';
    const same = { price: 1.1, large: 9007199254740991, id: '9007199254740993', small: 5e-324 };
    const submitted = await world.run(['tasks', 'submit', 'test/echo', '--json', '--input', text]);
    expect(submitted.code).toBe(0);
    const { id } = JSON.parse(submitted.out);
    expect(id).toMatch(/^tsk_[a-z0-9]+$/);
    expect((await world.producer.await(id)).result).toEqual(same);
    const shown = await world.run(['tasks', 'show', id, '--json']);
    expect(JSON.parse(shown.out)).toMatchObject({ result: same });
    expect(shown.out).toContain('9007199254740991');

    const proxy = await world.proxy();
    proxy.judge((passing) => (carries('complete', passing) ? 'cut' : 'pass'));
    const options = { id: 'replays', url: proxy.url, args: ['--pool', 'replays'] };
    const first = await world.worker(options);
    const request = `{"type":"test/echo","schemaVersion":1,"pool":"replays","input":${text}}`;
    const task = (await world.call('POST', '/tasks', request)).body;
    await until(() => world.records('reports', 'replays').length > 0, 'report');
    await first.crash();
    proxy.judge(() => 'pass');
    await world.worker(options);
    const done = await world.producer.await(task.id, { timeoutMs: 30_000 });
    expect(done).toMatchObject({ status: 'succeeded', attempts: 1, result: same });
  });
});

/** The most memory that a process had at one time. */
function peakMiB(pid: number): number | undefined {
  try {
    const kib = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kib === undefined ? undefined : Math.round(Number(kib) / 1024);
  } catch {
    return undefined; // No such file here.
  }
}
