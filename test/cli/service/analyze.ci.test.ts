import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ServiceDescription } from '../../../src/cli/service/description.ts';
import { launchdPlist } from '../../../src/cli/service/launchd-plist.ts';
import { serviceNotify } from '../../../src/cli/service/notify.ts';
import { systemdUnit } from '../../../src/cli/service/systemd-unit.ts';
import { windowsTask } from '../../../src/cli/service/windows-task.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { temporaryFolder } from '../world.ts';
import { described, strange } from './given.ts';

/** What real programs say of what we write, and to what they are told. */
const linux = process.platform === 'linux';
if (!linux)
  console.info('Skipped: what systemd-analyze and systemd-notify say, since this is no Linux.');

/** A unit in a folder of its own, whose program is there. */
function unitFile(given: Partial<ServiceDescription>, version = 252): string {
  const folder = temporaryFolder();
  const program = join(folder, 'my worker 100%');
  writeFileSync(program, '#!/bin/sh\n');
  chmodSync(program, 0o755);
  const [, ...words] = (given.command ?? described().command) as string[];
  const file = join(folder, 'interlock-worker.service');
  const service = described({ ...given, command: [program, ...words] });
  writeFileSync(file, systemdUnit(service, version));
  return file;
}

describe.skipIf(!linux)('systemd-analyze', () => {
  const variants: [string, Partial<ServiceDescription>, number][] = [
    ['of the machine', {}, 2.0],
    ['with `--gpu`', { devices: true }, 2.5],
    ['with `--run-as`', { runAs: 'daemon', spool: '/srv/spool', spoolNamed: true }, 2.1],
    ['`--user`', { scope: 'user' }, 6.7],
  ];

  it.each(variants)('finds nothing wrong in a unit %s', (_, given) => {
    const { stdout, stderr, status } = spawnSync(
      'systemd-analyze',
      ['verify', '--man=no', ...(given.scope === 'user' ? ['--user'] : []), unitFile(given)],
      { encoding: 'utf8', env: { ...process.env, XDG_RUNTIME_DIR: temporaryFolder() } },
    );
    // What it thinks of other units of this machine is not ours.
    const ours = `${stdout}${stderr}`
      .split('\n')
      .filter((line) => line.includes('interlock-worker'));
    expect({ ours, status }).toEqual({ ours: [], status: 0 });
  });

  it('reads what is strange as it was meant', () => {
    const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unitFile(strange())], {
      encoding: 'utf8',
    });
    expect(stderr.split('\n').filter((line) => line.includes('interlock-worker'))).toEqual([]);
  });

  it.each(variants)(
    'holds a unit %s to its exposure, which the docs tell',
    (name, given, bound) => {
      const { stdout } = spawnSync(
        'systemd-analyze',
        ['security', '--offline=yes', '--no-pager', unitFile(given)],
        { encoding: 'utf8' },
      );
      const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1]);
      expect(exposure, stdout.slice(-300)).toBeLessThanOrEqual(bound);
      const page = readFileSync(join(import.meta.dirname, '../../../docs/service.md'), 'utf8');
      const [, told, limit] =
        page.match(new RegExp(`^\\| ${name} \\| ([\\d.]+) \\| ([\\d.]+) \\|$`, 'm')) ?? [];
      expect(Number(limit)).toBe(bound);
      // Other versions of systemd judge a little otherwise.
      expect(Math.abs(exposure - Number(told))).toBeLessThanOrEqual(0.3);
    },
  );
});

describe('python reads what other managers get', () => {
  it('as a property list with the words that were meant', () => {
    const service = strange();
    const json = python(
      'import plistlib, sys, json; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))',
      launchdPlist(service, '/Library/Logs/a & b.log'),
    );
    expect(JSON.parse(json)).toMatchObject({
      Label: 'dev.interlock.worker.gpu',
      ProgramArguments: [...service.command, '--key-file', service.keyFile],
      EnvironmentVariables: { INTERLOCK_SERVICE_MANAGER: 'launchd' },
      UserName: 'interlock',
      KeepAlive: { SuccessfulExit: false },
      RunAtLoad: true,
      ExitTimeOut: 121,
      Umask: 0o077,
      StandardErrorPath: '/Library/Logs/a & b.log',
    });
  });

  it('as a task whose command line is as it was meant', () => {
    const task = windowsTask(
      described({
        command: ['C:\\Program Files\\A & B\\interlock-worker.exe', 'worker', '--handlers', 'D:\\'],
        keyFile: 'C:\\<ü>\\key',
      }),
      'C:\\log & more.log',
    );
    const said = python(
      `import sys, xml.etree.ElementTree as e
root = e.fromstring(sys.stdin.buffer.read().decode('utf-8').replace('UTF-16', 'utf-8', 1).encode())
ns = '{http://schemas.microsoft.com/windows/2004/02/mit/task}'
print(root.find(f'.//{ns}Arguments').text)
print(root.find(f'.//{ns}ExecutionTimeLimit').text)`,
      task,
    );
    expect(said.split('\n').slice(0, 2)).toEqual([
      '/d /s /c "set "INTERLOCK_SERVICE_MANAGER=windows"&& "C:\\Program Files\\A & B\\interlock-worker.exe" "worker" "--handlers" "D:\\\\" "--key-file" "C:\\<ü>\\key" >> "C:\\log & more.log" 2>&1"',
      'PT0S',
    ]);
  });

  function python(code: string, input: string): string {
    return execFileSync('python3', ['-c', code], { input, encoding: 'utf8' });
  }
});

/** Binds a datagram socket, says so, and prints each message as JSON; what comes with it (a barrier) is closed. */
const LISTENER = `
import json, os, socket, sys
address = sys.argv[1]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind('\\0' + address[1:] if address.startswith('@') else address)
print('"bound"', flush=True)
while True:
    data, fds, flags, _ = socket.recv_fds(s, 65536, 8)
    for fd in fds: os.close(fd)
    print(json.dumps(data.decode()), flush=True)
`;

describe.skipIf(!linux)('the real systemd-notify', () => {
  it.each(['path', 'name'])(
    'delivers every word in its order to a socket by its %s',
    async (kind) => {
      const folder = temporaryFolder();
      mkdirSync(folder, { recursive: true });
      const address = kind === 'path' ? join(folder, 'notify') : `@interlock-test-${process.pid}`;
      const listener = spawn('python3', ['-c', LISTENER, address], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => void listener.kill('SIGKILL'));
      const lines = createInterface({ input: listener.stdout })[Symbol.asyncIterator]();
      const next = async (): Promise<string> => JSON.parse((await lines.next()).value ?? '');
      expect(await next()).toBe('bound');
      const warnings: string[] = [];
      const notify = serviceNotify({
        env: { NOTIFY_SOCKET: address, PATH: process.env.PATH },
        pid: process.pid,
        clock: systemClock(),
        log: { warn: (event, text = '') => void warnings.push(`${event} ${text}`) },
      });
      notify?.say('READY=1', 'STATUS=Ready: ü "quoted" 100%.');
      notify?.say('RELOADING=1');
      notify?.say('READY=1');
      notify?.say('WATCHDOG=1');
      notify?.say('STOPPING=1', 'EXTEND_TIMEOUT_USEC=5000000');
      await notify?.told();
      const heard: string[] = [];
      while (heard.length < 5) {
        const message = (await next()).trim();
        if (message !== 'BARRIER=1') heard.push(message);
      }
      expect(heard).toEqual([
        'READY=1\nSTATUS=Ready: ü "quoted" 100%.',
        'RELOADING=1',
        'READY=1',
        'WATCHDOG=1',
        'STOPPING=1\nEXTEND_TIMEOUT_USEC=5000000',
      ]);
      expect(warnings).toEqual([]);
    },
  );

  it('is told to be in vain where nobody is bound, and the worker goes on', async () => {
    const warnings: string[] = [];
    const notify = serviceNotify({
      env: { NOTIFY_SOCKET: join(temporaryFolder(), 'nobody'), PATH: process.env.PATH },
      pid: process.pid,
      clock: systemClock(),
      log: { warn: (event, text = '') => void warnings.push(`${event} ${text}`) },
    });
    notify?.say('READY=1');
    await notify?.told();
    expect(warnings).toEqual([
      expect.stringMatching(/service\.not-told .*systemd-notify ended with 1/),
    ]);
  });
});
