import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { processStat } from '../../src/carriers/process-group.ts';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { TaskProducer } from '../../src/index.ts';
import { PROGRAMS } from '../binary/executable.ts';
import { type Proc, Processes, until } from '../e2e/processes.ts';
import { type Plane, startPlane } from './plane.ts';
import { temporaryFolder } from './world.ts';

// Real processes on a machine that others keep busy.
vi.setConfig({ testTimeout: 60_000 });

/** How `interlock-worker` starts, refuses to start, and ends: the real program. */
let processes: Processes;
beforeEach(() => {
  processes = new Processes(temporaryFolder());
});
afterEach(() => processes.end());

const GOOD = "export const effectSafety = 'pure';\nexport default () => 1;\n";

function handlersFolder(files: Record<string, string> = { 'demo/hello@1.mjs': GOOD }): string {
  const folder = join(temporaryFolder(), 'handlers');
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

interface Given {
  readonly workerId?: string;
  readonly spool?: string;
  readonly handlers?: string;
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
}

function start(plane: Plane, given: Given = {}): Proc {
  const cwd = temporaryFolder();
  return processes.start(
    'interlock-worker',
    [
      ...['--url', plane.url, '--worker-id', given.workerId ?? 'garage', '--max-concurrent', '2'],
      ...['--handlers', given.handlers ?? handlersFolder()],
      ...['--spool', given.spool ?? join(cwd, 'spool')],
      ...(given.args ?? []),
    ],
    { cwd, env: given.env ?? plane.env('task-worker') },
  );
}

async function refused(proc: Proc, exit: keyof typeof exitCodes, words: RegExp): Promise<void> {
  const { code, signal } = await proc.ending();
  expect(proc.err).toMatch(words);
  expect({ code, signal }).toEqual({ code: exitCodes[exit].code, signal: null });
  expect(proc.out).toBe('');
  expect(proc.err).not.toMatch(/^\s+at /m);
}

describe('a worker', () => {
  it('says in one line who it is and what it serves, drains on SIGTERM and ends with 0', async () => {
    const plane = await startPlane();
    const proc = start(plane);
    await proc.event('worker.ready');
    const [ready] = proc.events('worker.ready');
    expect(ready).toMatchObject({
      workerId: 'garage',
      pid: proc.pid,
      pools: ['default'],
      maxConcurrent: 2,
      handlers: ['demo/hello@1'],
      msg: `Worker garage (process ${proc.pid}) serves demo/hello@1 from pool default, 2 at a time, for ${plane.url}.`,
    });
    proc.kill('SIGTERM');
    expect(await proc.ending()).toEqual({ code: 0, signal: null });
    expect(proc.events('worker.drained')).toMatchObject([{ unsent: 0, stopped: 0 }]);
  });

  it('writes nothing into a folder that it refuses as its spool, and removes nothing there', async () => {
    const plane = await startPlane();
    const spool = temporaryFolder();
    mkdirSync(join(spool, 'code', 'proj'), { recursive: true });
    writeFileSync(join(spool, 'code', 'proj', 'main.py'), 'main');
    writeFileSync(join(spool, 'README.md'), 'x');
    await refused(start(plane, { spool }), 'spool-unwritable', /holds other things \(code\)/);
    const left = readdirSync(spool, { recursive: true }).map(String).sort();
    expect(left).toEqual([
      'README.md',
      'code',
      join('code', 'proj'),
      join('code', 'proj', 'main.py'),
    ]);
  });

  it('leaves no code of its handlers in a spool that another worker holds', async () => {
    const plane = await startPlane();
    const spool = join(temporaryFolder(), 'spool');
    const first = start(plane, { spool });
    await first.event('worker.ready');
    const before = readdirSync(join(spool, 'code'));
    await refused(
      start(plane, { spool, workerId: 'cellar' }),
      'spool-locked',
      /held by worker "garage"/,
    );
    expect(readdirSync(join(spool, 'code'))).toEqual(before);
    first.kill('SIGTERM');
    await first.ending();
  });

  it('F39 names what is wrong with each handler, and serves the others', async () => {
    const plane = await startPlane();
    const handlers = handlersFolder({
      'demo/hello@1.mjs': GOOD,
      'careless@1.mjs': 'export default () => 1;\n',
      'broken@1.mjs': 'export default (;\n',
      'café@1.mjs': GOOD,
    });
    const proc = start(plane, { handlers });
    await proc.event('worker.ready');
    expect(proc.events('worker.ready')[0]).toMatchObject({
      handlers: ['careless@1', 'demo/hello@1'],
    });
    const files = proc.events('handler.not-served').map(({ file }) => file);
    expect(files).toEqual(expect.arrayContaining(['broken@1.mjs', 'café@1.mjs']));
    expect(proc.events('handler.safety-not-declared')).toMatchObject([
      { handlers: ['careless@1'], msg: expect.stringContaining('non-idempotent is taken') },
    ]);
    proc.kill('SIGTERM');
    expect(await proc.ending()).toMatchObject({ code: 0 });
  });

  it('tells its status where --status-listen says', async () => {
    const proc = start(await startPlane(), { args: ['--status-listen', '127.0.0.1:0'] });
    const [, url = ''] = await proc.says(/GET (http:\/\/127\.0\.0\.1:\d+\/status)/);
    await proc.event('worker.ready');
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ workerId: 'garage', slots: { max: 2, busy: 0 } });
    expect((await fetch(new URL('/', url))).status).toBe(404);
    proc.kill('SIGTERM');
    expect(await proc.ending()).toMatchObject({ code: 0 });
  });

  it('F57 goes on where its log is closed', async () => {
    const plane = await startPlane();
    const folder = temporaryFolder();
    const mark = join(folder, 'exit');
    const line = [
      `'${join(PROGRAMS, 'interlock-worker')}'`,
      `--url ${plane.url} --worker-id garage --handlers '${handlersFolder()}' --spool '${folder}/spool'`,
      '--status-listen 127.0.0.1:0 --log-format text',
    ].join(' ');
    // The reader of the log leaves after its first line.
    const sh = processes.start('sh', ['-c', `{ ${line} 2>&1; echo $? > '${mark}'; } | head -1`], {
      env: plane.env('task-worker'),
      group: true,
    });
    await sh.says(/garage|status/);
    const admin = { headers: { authorization: `Bearer ${plane.key('admin')}` } };
    const api = `${plane.url}/api/tasks/v1`;
    const workers = async () => {
      const answer = await fetch(`${api}/workers`, admin);
      return ((await answer.json()) as { workers: unknown[] }).workers;
    };
    await until(async () => (await workers()).length > 0, 'worker');
    // It writes on, and works on: an operator's drain ends it in order.
    await fetch(`${api}/workers/garage/drain`, { ...admin, method: 'POST', body: '{}' });
    await sh.ending();
    expect(readFileSync(mark, 'utf8').trim()).toBe('0');
  });
});

describe('a worker that cannot start', () => {
  it('says where keys come from when it has none', async () => {
    const proc = start(await startPlane(), { env: {} });
    await refused(
      proc,
      'key-refused',
      /no task-worker key for .+INTERLOCK_WORKER_KEY is not set[\s\S]+--key-file/,
    );
  });

  it.each([
    ['that nobody made', () => 'il_nobodymadethis', /401 UNAUTHENTICATED/],
    ['of the other kind', (plane: Plane) => plane.key('task-producer'), /403 SCOPE_DENIED/],
  ] as const)('tells a key %s, and its place', async (_what, key, words) => {
    const plane = await startPlane();
    const proc = start(plane, { env: { INTERLOCK_WORKER_KEY: key(plane) } });
    await refused(proc, 'key-refused', words);
    expect(proc.err).toMatch(/This one came from INTERLOCK_WORKER_KEY/);
    expect(proc.err).not.toContain(key(plane));
  });

  it('whose key is for other workers is told how it could start, and never says that it serves', async () => {
    const plane = await startPlane();
    const limited = async (limits: object) => {
      const answer = await fetch(`${plane.url}/api/tasks/v1/keys`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${plane.key('admin')}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ name: 'shed', kind: 'task-worker', limits }),
      });
      return ((await answer.json()) as { key: string }).key;
    };
    const first = start(plane, {
      env: { INTERLOCK_WORKER_KEY: await limited({ workerIdPrefix: 'shed-' }) },
    });
    await refused(
      first,
      'key-refused',
      /limited to worker ids that begin with shed-[\s\S]+Start it with a --worker-id that begins with shed-, or have a key made/,
    );
    expect(first.events('worker.ready')).toEqual([]);
    expect(first.err).not.toContain('keys new');
    const second = start(plane, {
      env: { INTERLOCK_WORKER_KEY: await limited({ pools: ['shed'] }) },
    });
    await refused(second, 'key-refused', /Start it with --pool shed, or have a key made without/);
  });

  it('refuses a key file that holds none', async () => {
    const file = join(temporaryFolder(), 'key');
    writeFileSync(file, '\n', { mode: 0o600 });
    const proc = start(await startPlane(), { env: {}, args: ['--key-file', file] });
    await refused(proc, 'key-refused', /The key file .+ is empty/);
  });

  it('F33 leaves a spool alone that a live worker holds', async () => {
    const plane = await startPlane();
    const spool = join(temporaryFolder(), 'spool');
    const first = start(plane, { spool });
    await first.event('worker.ready');
    await refused(
      start(plane, { spool }),
      'spool-locked',
      new RegExp(`process ${first.pid}[\\s\\S]+--spool`),
    );
    expect(first.running).toBe(true);
    first.kill('SIGTERM');
    expect(await first.ending()).toMatchObject({ code: 0 });
  });

  it('tells a spool that cannot be written', async () => {
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    const proc = start(await startPlane(), { spool: join(file, 'spool') });
    await refused(proc, 'spool-unwritable', /spool .+ cannot be made or written \(ENOTDIR\)/);
  });

  it.each([
    [{}, /There is no handler in/],
    [{ 'a@1.mjs': 'throw new Error("no");' }, /None of the handlers .+ can be served: .*no/],
  ])('with the handlers %j has nothing to do', async (files, words) => {
    const proc = start(await startPlane(), { handlers: handlersFolder(files) });
    await refused(proc, 'checks-failed', words);
  });

  it('refuses a key of another project than the one that is named', async () => {
    const proc = start(await startPlane(), { args: ['--project', 'shop'] });
    await refused(proc, 'key-refused', /project "default", and --project says "shop"/);
  });

  it('does not send its key over http beyond this machine', async () => {
    const plane = { ...(await startPlane()), url: 'http://tasks.example.com' };
    await refused(start(plane), 'usage', /plain http beyond this machine[\s\S]+--insecure-http/);
  });

  it('ends in JSON where the log is JSON', async () => {
    const proc = start(await startPlane(), { env: {}, args: ['--log-format', 'json'] });
    await proc.ending();
    expect(JSON.parse(proc.err)).toMatchObject({ error: { code: 'KEY_MISSING', exitCode: 77 } });
  });
});

describe('interlock-worker --check', () => {
  it('loads the handlers, needs neither key nor spool, and ends with 0', async () => {
    const proc = processes.start('interlock-worker', ['--check', '--handlers', handlersFolder()]);
    expect(await proc.ending()).toMatchObject({ code: 0 });
    expect(proc.out).toBe('ok    demo/hello@1  pure\n');
  });

  it('prints a command of a hint as it can be typed', async () => {
    const handlers = handlersFolder({
      'tries@1.mjs': `export const maxAttempts = 3;\n${GOOD}`,
    });
    const proc = processes.start('interlock-worker', ['--check', '--handlers', handlers]);
    await proc.ending();
    // An executable takes every command under the name by which it was called.
    expect(proc.out).toMatch(/fix: .*\/interlock(-worker)? tasks submit --policy maxAttempts=/);
  });

  it('F39 names names that differ in case only, as an error', async () => {
    const handlers = handlersFolder({ 'resize@1.mjs': GOOD, 'Resize@1.mjs': GOOD });
    const proc = processes.start('interlock-worker', ['--check', '--handlers', handlers]);
    expect(await proc.ending()).toMatchObject({ code: 20 });
    expect(proc.out).toMatch(/fail {2}.*differ in upper and lower case only/);
    expect(proc.out).not.toMatch(/^ok/m);
  });
});

const SPIN = `import { writeFileSync } from 'node:fs';
export const effectSafety = 'pure';
export default ({ file }) => {
  writeFileSync(file, String(process.pid));
  for (;;);
};
`;

it.skipIf(process.platform !== 'linux')(
  'ends the handlers that earlier sessions of its spool left, wherever the folder is now, and no others',
  async () => {
    const plane = await startPlane();
    const folder = temporaryFolder();
    const [first, moved, link] = ['first', 'moved', 'link'].map((name) => join(folder, name));
    mkdirSync(first as string);
    symlinkSync(first as string, link as string);
    const handlers = handlersFolder({ 'demo/spin@1.mjs': SPIN });
    const client = new TaskProducer({ serviceUrl: plane.url, key: plane.key('task-producer') });
    onTestFinished(() => client.close());
    const spins = (pid: number) => processStat(pid)?.state === 'R';
    const serve = async (spool: string, workerId = 'garage') => {
      const proc = start(plane, { spool, handlers, workerId });
      await proc.event('worker.ready');
      return proc;
    };
    const orphan = async (spool: string) => {
      const proc = await serve(spool);
      const file = join(temporaryFolder(), 'pid');
      await client.submit('demo/spin', 1, { file }, { policy: { maxAttempts: 1 } });
      await until(() => existsSync(file) && readFileSync(file, 'utf8') !== '', 'spinning handler');
      await proc.crash();
      return Number(readFileSync(file, 'utf8'));
    };

    const pid = await orphan(link as string);
    renameSync(first as string, moved as string);
    // A new spool with the name of the old one has no earlier session.
    const fresh = await serve(first as string);
    expect(spins(pid)).toBe(true);
    await fresh.crash();
    // Another name of the worker, too.
    const back = await serve(moved as string, 'attic');
    await until(() => !spins(pid), 'end of the handler');
    expect(back.events('host.orphans')).toHaveLength(1);
  },
);
