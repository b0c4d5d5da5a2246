/** Commands that fork, print without end or are in the way when the kit for workers is stopped: nothing is left of them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../cli/world.ts';
import { type Proc, Processes, until } from '../e2e/processes.ts';

vi.setConfig({ testTimeout: 120_000 });

let folder: string;
let processes: Processes;
beforeEach(() => {
  folder = temporaryFolder();
  processes = new Processes(folder);
});
afterEach(() => processes.end());

/** The kit with a program of one line of JavaScript, which finds its folder in FOLDER. */
function kit(script: string, ...options: string[]): Proc {
  const command = [process.execPath, '-e', script];
  return processes.start('interlock', ['conformance', 'worker', ...options, '--', ...command], {
    env: { TMPDIR: folder, FOLDER: folder },
  });
}

const folders = () => readdirSync(folder).filter((name) => name.startsWith('interlock-conf'));

/** Of a process that has written it into this file. */
async function pidIn(name: string): Promise<number> {
  const file = join(folder, name);
  await until(() => existsSync(file) && readFileSync(file, 'utf8') !== '', name, 30_000);
  return Number(readFileSync(file, 'utf8'));
}

/** It is no process, or one that only waits to be buried. */
function gone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
}

const SELF = `const fs = require('node:fs'); const { spawn } = require('node:child_process');
  const write = (name, pid) => fs.writeFileSync(process.env.FOLDER + '/' + name, String(pid));
  const child = (stdio) => {
    const one = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio });
    one.unref();
    write('child', one.pid);
  };`;

/** What has left its process group can be told by its environment on Linux alone. */
const onLinux = it.runIf(process.platform === 'linux');

onLinux(
  'a kit that is killed leaves no worker, none of its children in other sessions, and no folder',
  async () => {
    const run = kit(
      `${SELF} child('ignore'); write('worker', process.pid); setInterval(() => {}, 1000)`,
    );
    const worker = await pidIn('worker');
    const child = await pidIn('child');
    expect([gone(worker), gone(child), folders().length]).toEqual([false, false, 1]);
    run.kill('SIGKILL');
    await run.ending(10_000);
    await until(() => gone(worker) && gone(child) && folders().length === 0, 'the end', 20_000);
  },
);

onLinux('a command that forks away is told so, and what it has left is ended', async () => {
  for (const stdio of ['ignore', 'inherit']) {
    const run = kit(`${SELF} child('${stdio}')`);
    const { code } = await run.ending(60_000);
    expect(code).toBe(20);
    expect(run.err).toContain('goes on in the background');
    expect(gone(await pidIn('child'))).toBe(true);
    expect(folders()).toEqual([]);
  }
});

it('Ctrl-C is heard before the first case', async () => {
  const run = kit(
    `${SELF} write('worker', process.pid); setInterval(() => {}, 1000)`,
    '--patience',
    '10m',
  );
  const worker = await pidIn('worker');
  run.kill('SIGINT');
  const { code } = await run.ending(30_000);
  expect(code).toBe(20);
  expect(run.err).toContain('The run was stopped');
  expect(gone(worker)).toBe(true);
  expect(folders()).toEqual([]);
});

onLinux('a worker that prints without end neither fills nor holds up the kit', async () => {
  const script = `${SELF} write('worker', process.pid); const text = Buffer.alloc(65536, 'x'); for (;;) fs.writeSync(2, text)`;
  const run = kit(script, '--patience', '6s');
  await pidIn('worker');
  let mostKiB = 0;
  const look = setInterval(() => {
    const status = gone(run.pid) ? '' : readFileSync(`/proc/${run.pid}/status`, 'utf8');
    mostKiB = Math.max(mostKiB, Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0));
  }, 200);
  const { code } = await run.ending(60_000).finally(() => clearInterval(look));
  expect(code).toBe(20);
  expect(run.err).toContain('sent nothing to the address');
  expect(mostKiB).toBeGreaterThan(0);
  expect(mostKiB).toBeLessThan(400_000);
});
