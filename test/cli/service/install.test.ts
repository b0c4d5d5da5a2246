import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exitCodes } from '../../../src/cli/exit-codes.ts';
import { TaskOperator } from '../../../src/index.ts';
import { type Plane, startPlane } from '../plane.ts';
import { serviceMachine } from './world.ts';

const UNIT = '/etc/systemd/system/interlock-worker.service';

async function machine() {
  const plane = await startPlane();
  const made = serviceMachine();
  made.put(made.key, plane.key('task-worker'), 0o600);
  return { ...made, plane, args: argsOf(plane, made.key) };
}

function argsOf(plane: Plane, key: string): string[] {
  return [
    ...['worker', 'service', 'install', '--url', plane.url, '--key-file', key],
    ...['--handlers', '/srv/handlers', '--worker-id', 'garage'],
  ];
}

describe('service install', () => {
  it('writes the unit, starts it, and says so; the same again changes nothing, other settings are shown and restart it', async () => {
    const { root, run, args, calls, forget, plane } = await machine();
    const first = await run(args);
    expect(first).toMatchObject({ code: 0, out: '' });
    expect(first.err).toBe(
      `interlock-worker.service (worker garage, for ${plane.url}) is installed, runs, and starts with the machine.\n`,
    );
    expect(calls()).toEqual([
      'systemctl --version',
      'systemctl daemon-reload',
      'systemctl enable interlock-worker.service',
      'systemctl is-active --quiet interlock-worker.service',
      'systemctl start interlock-worker.service',
    ]);
    const unit = readFileSync(join(root, UNIT), 'utf8');
    expect(unit).toContain(
      `ExecStart=/opt/interlock/bin/interlock worker --worker-id garage --handlers /srv/handlers --url ${plane.url}\n`,
    );
    expect(unit).not.toContain(plane.key('task-worker'));
    expect(statSync(join(root, UNIT)).mode & 0o777).toBe(0o644);

    forget();
    const again = await run(args);
    expect(again.err).toMatch(/runs, and nothing has changed\.\n$/);
    expect(calls()).toEqual([
      'systemctl --version',
      'systemctl is-active --quiet interlock-worker.service',
    ]);

    forget();
    const other = await run([...args, '--drain-timeout', '2m', '--pool', 'a', '--pool', 'b']);
    expect(other.out.split('\n')).toEqual([
      expect.stringMatching(/^- ExecStart=/),
      '- TimeoutStopSec=630s',
      expect.stringMatching(/^\+ ExecStart=.* --pool a --pool b --drain-timeout 2m$/),
      '+ TimeoutStopSec=150s',
      '',
    ]);
    expect(other.err).toMatch(/up to 2 min\.\n.* has changed and runs again/);
    expect(calls()).toContain('systemctl restart interlock-worker.service');
  });

  it('takes along what the environment says, and leaves in the config file what stands there', async () => {
    const { root, run, key, plane, put } = await machine();
    const config = join(root, 'worker.json');
    put(config, JSON.stringify({ 'max-concurrent': 7, pool: ['x'] }));
    const { code } = await run(
      [
        'worker',
        'service',
        'install',
        '--config',
        config,
        '--handlers',
        '/srv/handlers',
        '--run-as',
        'ada',
      ],
      {
        env: {
          INTERLOCK_URL: plane.url,
          INTERLOCK_KEY_FILE: key,
          INTERLOCK_WORKER_ID: 'w',
          INTERLOCK_POLL_MAX: '9s',
        },
      },
    );
    expect(code).toBe(0);
    const unit = readFileSync(join(root, UNIT), 'utf8');
    expect(unit).toContain(
      ` worker --config ${config} --worker-id w --handlers /srv/handlers --url ${plane.url} --poll-max 9s\n`,
    );
    expect(unit).toContain('User=ada\n');
    expect(unit).toContain(`LoadCredential=worker-key:${key}\n`);
  });

  it.each([
    ['handlers that are not there', ['--handlers', '/srv/none'], /\/srv\/none is not there/],
    [
      'handlers that others may not read',
      ['--handlers', '/srv/closed'],
      /\/srv\/closed has mode 0700: the user that is made for the service cannot read it/,
    ],
    [
      'a folder for temporary files',
      ['--handlers', '/scratch/h'],
      /\/scratch\/h lies in a folder for temporary files/,
    ],
    [
      'a spool that its own user could not own',
      ['--spool', '/data/spool'],
      /would belong to a user that is made anew/,
    ],
    ['a spool beside other things', ['--spool', '/srv/photos', '--run-as', 'ada'], /"a\.jpg"/],
    ["a spool with somebody's code", ['--spool', '/srv/project', '--run-as', 'ada'], /\("code"\)/],
    ['root by a name', ['--run-as', 'root'], /not to run as root/],
    ['root by another name', ['--run-as', 'toor'], /not to run as root/],
    ['two groups in one', ['--group', 'a b'], /"a b" is no name of a group/],
    ['a group of a specifier', ['--group', '%i'], /"%i" is no name of a group/],
    ['a group without a name', ['--group', ''], /"" is no name of a group/],
    ['what is no character', ['--run-as', 'a\ufffe'], /what is none/],
    ['a control character', ['--handlers', '/srv/a\nb'], /control character/, 'SETTING_INVALID'],
  ])('refuses %s before it writes anything', async (_, more, words, refusal = 'SERVICE_UNFIT') => {
    const { root, run, args, put, bin } = await machine();
    put('/srv/closed/x', '');
    put('/srv/photos/a.jpg', '');
    put('/srv/project/code/main.py', '');
    writeFileSync(join(bin, 'id'), '#!/bin/sh\n[ "$3" = toor ] && echo 0 || echo 1234\n');
    put('/scratch/h/x', '');
    chmodSync(join(root, '/srv/closed'), 0o700);
    const wanted = args.filter(
      (word) => more[0] !== '--handlers' || !['--handlers', '/srv/handlers'].includes(word),
    );
    const { code, err } = await run([...wanted, ...more]);
    expect(err).toMatch(words);
    expect(err).toContain(refusal);
    expect(code).toBe(exitCodes.usage.code);
    expect(existsSync(join(root, UNIT))).toBe(false);
  });

  it('refuses a key of another kind, and one that the control plane refuses', async () => {
    const { run, args, put, key, plane, root } = await machine();
    put(key, plane.key('task-producer'), 0o600);
    expect(await run(args)).toMatchObject({
      code: 77,
      err: expect.stringMatching(/KEY_REFUSED|SCOPE_DENIED/),
    });
    put(key, 'il_nobody_knows_it', 0o600);
    const { code, err } = await run(args);
    expect(code).toBe(77);
    expect(err).toContain(`refuses the key (key file ${key})`);
    expect(err).not.toContain('il_nobody');
    expect(existsSync(join(root, UNIT))).toBe(false);
  });

  it('goes on where the control plane does not answer now, and says so', async () => {
    const { run, key } = await machine();
    const { code, err } = await run(argsOf({ url: 'http://127.0.0.1:9' } as Plane, key));
    expect(code).toBe(0);
    expect(err).toMatch(/note {3}The key could not be tried at http:\/\/127\.0\.0\.1:9: /);
  });

  it('copies a key from elsewhere only where that is asked for, for its owner alone, and takes it away again', async () => {
    const { root, run, plane, calls, forget } = await machine();
    const args = [
      'worker',
      'service',
      'install',
      '--handlers',
      '/srv/handlers',
      '--worker-id',
      'g',
    ];
    const env = plane.env('task-worker');
    const refused = await run(args, { env });
    expect(refused.err).toMatch(
      /The key comes from INTERLOCK_WORKER_KEY, where a service cannot find it/,
    );
    expect((await run([...args, '--copy-key'], { env })).code).toBe(0);
    const copy = join(root, '/etc/interlock/interlock-worker.key');
    expect(readFileSync(copy, 'utf8')).toBe(`${plane.key('task-worker')}\n`);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect((await run([...args, '--copy-key'], { env })).err).toContain('nothing has changed');
    // A service takes another key only when it starts again.
    const admin = new TaskOperator({ serviceUrl: plane.url, key: plane.key('admin') });
    const { key } = await admin.newKey('another', 'task-worker');
    await admin.close();
    forget();
    const other = await run([...args, '--copy-key'], {
      env: { ...env, INTERLOCK_WORKER_KEY: key },
    });
    expect(other.err).toContain('has changed and runs again');
    expect(other.out).toBe('another key\n');
    expect(calls()).toContain('systemctl restart interlock-worker.service');
    expect(readFileSync(copy, 'utf8')).toBe(`${key}\n`);
    expect((await run(['worker', 'service', 'uninstall'])).code).toBe(0);
    expect(existsSync(copy)).toBe(false);
  });

  it('copies a key over none that somebody else has put there', async () => {
    const { root, run, plane, args, put } = await machine();
    const file = '/etc/interlock/interlock-worker.key';
    put(file, 'il_of_somebody\n', 0o600);
    const { code, err } = await run([...args, '--copy-key'], { env: plane.env('task-worker') });
    expect(code).toBe(exitCodes.conflict.code);
    expect(err).toMatch(/holds another one already, which this service has not put there/);
    expect(readFileSync(join(root, file), 'utf8')).toBe('il_of_somebody\n');
    expect(existsSync(join(root, UNIT))).toBe(false);
  });

  it('tells who is not root the command to type, and writes nothing', async () => {
    const { root, key, plane } = await machine();
    const made = serviceMachine({ uid: 1000 });
    const { code, err } = await made.run([
      ...argsOf(plane, key),
      '--name',
      'b',
      '--gpu',
      '--environment-file',
      "it's",
    ]);
    expect(code).toBe(exitCodes.usage.code);
    expect(err).toContain(
      `sudo /opt/interlock/bin/interlock worker service install --url ${plane.url} --key-file ${key}`,
    );
    expect(err).toContain(`--environment-file 'it'\\''s'`);
    expect(err).toContain('--gpu');
    expect(err).toContain('--user');
    expect(existsSync(join(root, UNIT))).toBe(false);
  });

  it('leaves a file alone that it has not written', async () => {
    const { root, run, args, put } = await machine();
    put(UNIT, '[Service]\nExecStart=/bin/true\n');
    const { code, err } = await run(args);
    expect(code).toBe(exitCodes.conflict.code);
    expect(err).toMatch(/is there already, and was not written by this program/);
    expect((await run(['worker', 'service', 'uninstall'])).code).toBe(exitCodes.conflict.code);
    expect(readFileSync(join(root, UNIT), 'utf8')).toContain('/bin/true');
  });

  it('tells what the service said last where it does not come up', async () => {
    const { bin, run, args } = await machine();
    writeFileSync(join(bin, 'fails-start'), '');
    const { code, err } = await run(args);
    expect(code).toBe(exitCodes['service-failed'].code);
    expect(err).toMatch(/did not come up\. It said last:\na line of the log/);
  });

  it('writes a service of one user into its folder and speaks to that user’s manager', async () => {
    const { root, run, args, calls } = await machine();
    const { code, err } = await run([...args, '--user', '--name', 'b']);
    expect(err).toMatch(/loginctl enable-linger\n$/);
    expect(code).toBe(0);
    const unit = readFileSync(
      join(root, 'home', 'ada', '.config/systemd/user/interlock-worker-b.service'),
      'utf8',
    );
    expect(unit).toMatch(/^ExecStart=.* --key-file \S+key$/m);
    expect(unit).not.toContain('LoadCredential');
    expect(calls()).toContain('systemctl --user start interlock-worker-b.service');
  });

  it('says what to do where systemd does not run', async () => {
    const made = serviceMachine();
    rmSync(join(made.root, 'run'), { recursive: true });
    const { code, err } = await made.run(['worker', 'service', 'status']);
    expect(code).toBe(exitCodes['service-failed'].code);
    expect(err).toMatch(/not run by systemd.*\n.*runit, OpenRC/);
  });

  it('prints for every kind, on every machine, what it would do, and does nothing', async () => {
    const made = serviceMachine({ platform: 'freebsd', uid: 1000 });
    for (const kind of ['systemd', 'launchd', 'windows']) {
      for (const more of [[], ['--user']]) {
        const { code, out, err } = await made.run([
          ...[
            'worker',
            'service',
            'install',
            '--dry-run',
            '--kind',
            kind,
            '--handlers',
            '/srv/none',
          ],
          ...['--run-as', 'ada', '--url', 'https://tasks.example.com', ...more],
        ]);
        expect(code).toBe(0);
        expect(out).toMatch(/systemctl.* start|launchctl bootstrap|schtasks \/Run/);
        expect(out).toContain('Written by interlock-worker service install');
        expect(err).toContain('Nothing was done.');
      }
    }
    expect(made.calls().filter((call) => call !== 'systemctl --version')).toEqual([]);
    const elsewhere = await made.run(['worker', 'service', 'install', '--kind', 'launchd']);
    expect(elsewhere.err).toMatch(/does not run services of launchd; with --dry-run/);
    const wrong = await made.run([
      'worker',
      'service',
      'install',
      '--dry-run',
      '--kind',
      'upstart',
    ]);
    expect(wrong.err).toMatch(/--kind "upstart" is none of systemd, launchd, windows/);
  });

  it('holds its service by a name that can be part of a unit’s', async () => {
    const { run, args } = await machine();
    expect((await run([...args, '--name', '../x'])).err).toMatch(
      /--name "\.\.\/x" must be small letters/,
    );
  });
});
