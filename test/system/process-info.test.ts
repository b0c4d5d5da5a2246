import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { parseProcStat, systemProcessInfo } from '../../src/system/process-info.ts';

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

function sleeper(): Promise<ChildProcess & { pid: number }> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  started.push(child);
  return new Promise((resolve) =>
    child.once('spawn', () => resolve(child as ChildProcess & { pid: number })),
  );
}

function gone(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

describe('which processes run', () => {
  it('tells this process: pid, host, start', async () => {
    const { self, look } = await systemProcessInfo();
    expect(self.pid).toBe(process.pid);
    expect(self.hostName).not.toBe('');
    expect(Math.abs(self.bootedAtMs - Date.now())).toBeGreaterThan(0);
    expect(await look(process.pid)).toEqual({
      alive: true,
      ...(self.startTime && { startTime: self.startTime }),
    });
  });

  it.skipIf(process.platform !== 'linux')(
    'knows boot, namespace and start time on Linux',
    async () => {
      const { self } = await systemProcessInfo();
      expect(self.bootId).toMatch(/^[0-9a-f-]{36}$/);
      expect(self.pidNamespace).toMatch(/^pid:\[\d+\]$/);
      expect(self.startTime).toMatch(/^\d+$/);
    },
  );

  it('sees another process come and go', async () => {
    const { look } = await systemProcessInfo();
    const child = await sleeper();
    expect(await look(child.pid)).toMatchObject({ alive: true });
    child.kill('SIGKILL');
    await gone(child);
    expect(await look(child.pid)).toMatchObject({ alive: false });
  });

  it.skipIf(process.platform !== 'linux')('counts a stopped process as alive', async () => {
    const { look } = await systemProcessInfo();
    const child = await sleeper();
    const { startTime } = await look(child.pid);
    child.kill('SIGSTOP');
    expect(await look(child.pid)).toEqual({ alive: true, startTime });
  });

  it.skipIf(process.platform !== 'linux')(
    'counts one that has ended and was not reaped as gone',
    async () => {
      const { look } = await systemProcessInfo();
      // The shell becomes a program that never asks for its child; only then is the child let go.
      const script = 'exec 3<&0; cat <&3 & echo $!; exec sleep 60 3<&- </dev/null';
      const parent = spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'pipe', 'ignore'] });
      started.push(parent);
      const pid = await new Promise<number>((resolve) =>
        parent.stdout.once('data', (data) => resolve(Number(String(data)))),
      );
      const program = () => readFileSync(`/proc/${parent.pid}/comm`, 'utf8').trim();
      while (program() !== 'sleep') await new Promise(setImmediate);
      expect(await look(pid)).toMatchObject({ alive: true });
      parent.stdin.end();
      let sight = await look(pid);
      while (sight.alive) sight = await look(pid);
      expect(sight).toEqual({ alive: false, startTime: expect.stringMatching(/^\d+$/) });
    },
  );

  it('finds nobody under pids that cannot be', async () => {
    const { look } = await systemProcessInfo();
    for (const pid of [0, -1, 2 ** 22 + 1, 1.5, Number.NaN])
      expect((await look(pid)).alive).toBe(false);
  });

  it('manages without /proc: only whether the pid is in use', async () => {
    const { self, look } = await systemProcessInfo('win32');
    expect(self.startTime).toBeUndefined();
    expect(self.bootId).toBeUndefined();
    expect(await look(process.pid)).toEqual({ alive: true });
    expect(await look(2 ** 22 + 1)).toEqual({ alive: false });
  });

  it('reads /proc/<pid>/stat whatever the program is called', () => {
    const rest = Array.from({ length: 40 }, (_, i) => i + 3);
    rest[19] = 987_654;
    const fields = ['S', ...rest.slice(1)].join(' ');
    for (const name of ['node', 'a b', ') S 1 (', 'tmux: server)'])
      expect(parseProcStat(`42 (${name}) ${fields}`)).toEqual({ state: 'S', startTime: '987654' });
    expect(parseProcStat('nonsense')).toBeUndefined();
  });
});
