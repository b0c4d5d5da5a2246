import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

/** `scripts/install.sh` among faked programs: what each machine that cannot run the executable is told. */
const script = join(import.meta.dirname, '../../scripts/install.sh');
const linux = process.platform === 'linux';
if (!linux) console.log('install.sh is tried on Linux only.');

/** What it may use of the system; everything else is a fake, or not there. */
const TOOLS =
  'sed cut dirname basename wc id cp readlink chmod mv ln rm mktemp tail mkdir sha256sum cat df grep printf sync'.split(
    ' ',
  );

interface Machine {
  readonly folder: string;
  readonly release: string;
  readonly exe: string;
  fake(name: string, body: string): void;
  run(
    argv?: readonly string[],
    env?: Record<string, string>,
  ): { code: number | null; out: string; err: string };
}

function machine(target = 'linux-x64', version = '0.2.0'): Machine {
  const folder = mkdtempSync(join(tmpdir(), 'interlock install-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const bin = join(folder, 'tools');
  const release = join(folder, 'release');
  mkdirSync(bin);
  mkdirSync(release);
  for (const tool of TOOLS) {
    const found = ['/usr/bin', '/bin'].map((one) => join(one, tool)).find(existsSync);
    if (found) symlinkSync(found, join(bin, tool));
  }
  const fake = (name: string, body: string) => {
    rmSync(join(bin, name), { force: true });
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  fake('uname', '[ "$1" = -s ] && echo Linux || echo x86_64');
  fake('getconf', '[ "$1" = LONG_BIT ] && echo 64 || echo glibc 2.36');
  fake('ldd', 'echo "ldd (GNU libc) 2.36"');
  const exe = join(release, `interlock-worker-${target}`);
  put(exe, `#!/bin/sh\necho ${version}\n`);
  return {
    folder,
    release,
    exe,
    fake,
    run(argv = ['--prefix', join(folder, 'to here'), release], env = {}) {
      const done = spawnSync('/bin/sh', [script, ...argv], {
        env: { PATH: bin, HOME: join(folder, 'home'), ...env },
        encoding: 'utf8',
      });
      return { code: done.status, out: done.stdout, err: done.stderr };
    },
  };
}

/** An executable and the sum of it. */
function put(exe: string, content: string): void {
  writeFileSync(exe, content);
  chmodSync(exe, 0o755);
  const hash = createHash('sha256').update(content).digest('hex');
  writeFileSync(join(exe, '../SHA256SUMS'), `${hash}  ${exe.slice(exe.lastIndexOf('/') + 1)}\n`);
}

describe.skipIf(!linux)('scripts/install.sh', () => {
  it('installs the executable with the link interlock, and replaces it the next time', () => {
    const m = machine();
    const bin = join(m.folder, 'to here/bin');
    const done = m.run();
    expect(done).toMatchObject({ code: 0, err: '' });
    expect(done.out).toContain('interlock-worker 0.2.0 for linux-x64 is in');
    expect(done.out).toContain('not in your PATH');
    expect(readdirSync(bin).sort()).toEqual(['interlock', 'interlock-worker']);
    expect(lstatSync(join(bin, 'interlock-worker')).mode & 0o777).toBe(0o755);
    expect(readlinkSync(join(bin, 'interlock'))).toBe('interlock-worker');
    put(m.exe, '#!/bin/sh\necho 0.3.0\n');
    expect(
      m.run(['--prefix', join(m.folder, 'to here'), m.exe], {
        PATH: `${join(m.folder, 'tools')}:${bin}`,
      }).out,
    ).not.toContain('PATH');
    expect(execFileSync(join(bin, 'interlock'), { encoding: 'utf8' })).toBe('0.3.0\n');
    expect(readdirSync(bin).sort()).toEqual(['interlock', 'interlock-worker']);
  });

  it('goes into ~/.local/bin without root, leaves a foreign interlock, and only checks with --check', () => {
    const m = machine();
    m.fake('id', 'echo 1000');
    expect(m.run(['--check', m.release]).out).toContain(
      'runs here; it is not signed. Nothing was installed.',
    );
    const bin = join(m.folder, 'home/.local/bin');
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, 'interlock'), 'something else');
    expect(m.run(['--check', m.release]).code).toBe(0);
    expect(readdirSync(bin)).toEqual(['interlock']);
    const done = m.run([m.release]);
    expect(done.code).toBe(0);
    expect(done.err).toContain('is another program and stays');
    expect(readdirSync(bin).sort()).toEqual(['interlock', 'interlock-worker']);
  });

  const refusals: [string, RegExp, (m: Machine) => void][] = [
    [
      'another system',
      /no executable for FreeBSD/,
      (m) => m.fake('uname', '[ "$1" = -s ] && echo FreeBSD || echo amd64'),
    ],
    [
      'Windows',
      /Windows, which needs no script/,
      (m) => m.fake('uname', '[ "$1" = -s ] && echo MINGW64_NT-10.0 || echo x86_64'),
    ],
    [
      'another CPU',
      /no executable for the CPU riscv64/,
      (m) => m.fake('uname', '[ "$1" = -s ] && echo Linux || echo riscv64'),
    ],
    [
      'a 32-bit Raspberry Pi',
      /32-bit one \(armv7l\)[\s\S]*64-bit system/,
      (m) => m.fake('uname', '[ "$1" = -s ] && echo Linux || echo armv7l'),
    ],
    [
      'a 32-bit system on a 64-bit kernel',
      /kernel has 64 bits \(aarch64\), but the system on it has 32/,
      (m) => {
        m.fake('uname', '[ "$1" = -s ] && echo Linux || echo aarch64');
        m.fake('getconf', '[ "$1" = LONG_BIT ] && echo 32 || echo glibc 2.36');
      },
    ],
    [
      'musl',
      /musl instead of glibc \(Alpine is one\)/,
      (m) => {
        m.fake('getconf', 'exit 1');
        m.fake('ldd', 'echo "musl libc (x86_64)" >&2; exit 1');
      },
    ],
    [
      'an old glibc',
      /glibc 2\.27, and the executable needs 2\.28/,
      (m) => m.fake('getconf', '[ "$1" = LONG_BIT ] && echo 64 || echo glibc 2.27'),
    ],
    [
      'an old glibc that only ldd tells',
      /glibc 2\.17, and the executable needs 2\.28/,
      (m) => {
        m.fake('getconf', 'exit 1');
        m.fake('ldd', 'echo "ldd (GNU libc) 2.17"');
      },
    ],
    [
      'no libstdc++ on Debian',
      /lacks libstdc\+\+\.so\.6\.[\s\S]*apt-get install libstdc\+\+6 libgcc-s1/,
      (m) => {
        m.fake(
          'ldd',
          '[ "$1" = --version ] && echo "ldd (GNU libc) 2.36" || printf "\\tlibstdc++.so.6 => not found\\n"',
        );
        m.fake('apt-get', '');
      },
    ],
    [
      'no libgcc on Fedora',
      /lacks libgcc_s\.so\.1\.[\s\S]*dnf install libstdc\+\+ libgcc/,
      (m) => {
        m.fake(
          'ldd',
          '[ "$1" = --version ] && echo "ldd (GNU libc) 2.36" || printf "\\tlibgcc_s.so.1 => not found\\n"',
        );
        m.fake('dnf', '');
      },
    ],
    [
      'a library that only the loader misses',
      /lacks a library[\s\S]*pacman -S gcc-libs/,
      (m) => {
        put(
          m.exe,
          '#!/bin/sh\necho "x: error while loading shared libraries: libstdc++.so.6: cannot open shared object file" >&2\nexit 127\n',
        );
        m.fake('pacman', '');
      },
    ],
    [
      'a full disk',
      /has 10 MB of room, and \d+ MB are needed/,
      (m) =>
        m.fake(
          'df',
          'echo Filesystem 1024-blocks Used Available Capacity Mounted; [ -n "$2" ] && echo "/dev/x 100000 89760 10240 90% /"',
        ),
    ],
    [
      'a file that was cut',
      /is not what SHA256SUMS says/,
      (m) => writeFileSync(m.exe, '#!/bin/sh\n'),
    ],
    ['no sums', /there is no SHA256SUMS beside/, (m) => rmSync(join(m.release, 'SHA256SUMS'))],
    [
      'sums of other files',
      /SHA256SUMS does not name/,
      (m) => writeFileSync(join(m.release, 'SHA256SUMS'), `${'0'.repeat(64)}  other\n`),
    ],
    [
      'only another machine’s executable',
      /no interlock-worker-linux-arm64 in/,
      (m) => m.fake('uname', '[ "$1" = -s ] && echo Linux || echo aarch64'),
    ],
    [
      'a program of another CPU',
      /for another CPU or system/,
      (m) => put(m.exe, '#!/bin/sh\necho "sh: 1: x: Exec format error" >&2\nexit 126\n'),
    ],
    ['a CPU without its instructions', /SIGILL/, (m) => put(m.exe, '#!/bin/sh\nkill -ILL $$\n')],
    [
      'a folder where programs may not run',
      /mounted noexec, or SELinux/,
      (m) => put(m.exe, '#!/bin/sh\necho "sh: 1: x: Permission denied" >&2\nexit 126\n'),
    ],
  ];
  it.each(refusals)('tells in a sentence of %s', (_, says, arrange) => {
    const m = machine();
    // A full disk is told by sizes: the executable is as large as a real one.
    arrange(m);
    if (says.source.includes('MB of room'))
      put(m.exe, `#!/bin/sh\necho 0.2.0\n#${' '.repeat(20_000_000)}`);
    const done = m.run();
    expect(done.err).toMatch(says);
    expect(done.err).toMatch(/^interlock-worker is not installed: /);
    expect(done.code).toBe(1);
    const bin = join(m.folder, 'to here/bin');
    expect(existsSync(bin) ? readdirSync(bin) : []).toEqual([]);
  });

  it('tells what the loader says when a real program of another CPU is tried', () => {
    const m = machine();
    // The head of an ELF file for a CPU that this is not.
    const head = Buffer.alloc(4_096);
    Buffer.from('7f454c4602010100000000000000000002001500', 'hex').copy(head);
    writeFileSync(m.exe, head);
    writeFileSync(
      join(m.release, 'SHA256SUMS'),
      `${createHash('sha256').update(head).digest('hex')}  interlock-worker-linux-x64\n`,
    );
    const done = m.run();
    expect(done.err).toMatch(/for another CPU or system|ended with code/);
    expect(done.code).toBe(1);
  });

  it('checks the signature with the key that is given', () => {
    const m = machine();
    const openssl = ['/usr/bin/openssl', '/usr/local/bin/openssl'].find(existsSync);
    if (!openssl) return console.log('The signature is not checked here: there is no openssl.');
    const key = join(m.folder, 'key.pem');
    const pub = join(m.folder, 'pub.pem');
    execFileSync(openssl, ['genpkey', '-algorithm', 'ed25519', '-out', key]);
    execFileSync(openssl, ['pkey', '-in', key, '-pubout', '-out', pub]);
    const to = ['--prefix', join(m.folder, 'to here'), '--public-key', pub, m.release];
    expect(m.run(to).err).toContain('the release is not signed');
    const sums = join(m.release, 'SHA256SUMS');
    execFileSync(openssl, [
      'pkeyutl',
      '-sign',
      '-rawin',
      '-inkey',
      key,
      '-in',
      sums,
      '-out',
      `${sums}.sig`,
    ]);
    expect(m.run(to).err).toContain('no openssl here that can check');
    m.fake('openssl', `exec ${openssl} "$@"`);
    expect(m.run(to).out).toContain('its signature is good');
    // The next key may stand beside the present one, and before it.
    const next = join(m.folder, 'next.pem');
    execFileSync(openssl, ['genpkey', '-algorithm', 'ed25519', '-out', next]);
    const nextPub = execFileSync(openssl, ['pkey', '-in', next, '-pubout']);
    writeFileSync(join(m.folder, 'both.pem'), Buffer.concat([nextPub, readFileSync(pub)]));
    const both = [...to.slice(0, 3), join(m.folder, 'both.pem'), m.release];
    expect(m.run(both).out).toContain('its signature is good');
    // Somebody who may write there swaps the executable while the signature is checked.
    const evil = join(m.folder, 'evil');
    writeFileSync(evil, `#!/bin/sh\necho evil\n`);
    m.fake('openssl', `cp '${evil}' '${m.exe}'; exec ${openssl} "$@"`);
    expect(m.run(to).out).toContain('interlock-worker 0.2.0 for linux-x64');
    const installed = readFileSync(join(m.folder, 'to here/bin/interlock-worker'), 'utf8');
    expect(installed).toContain('0.2.0');
    put(m.exe, '#!/bin/sh\necho 0.4.0\n');
    expect(m.run(to).err).toContain('is not signed by');
  });

  it('leaves a link to another program, or to a folder, and its words for the PATH can be pasted', () => {
    const m = machine();
    const to = join(m.folder, "to's $(touch pwned)");
    mkdirSync(join(to, 'bin'), { recursive: true });
    symlinkSync('/usr/bin/env', join(to, 'bin/interlock'));
    const done = m.run(['--prefix', to, m.release]);
    expect(done.err).toContain('is another program and stays');
    expect(readlinkSync(join(to, 'bin/interlock'))).toBe('/usr/bin/env');
    rmSync(join(to, 'bin/interlock'));
    symlinkSync(m.release, join(to, 'bin/interlock'));
    const before = readdirSync(m.release);
    expect(m.run(['--prefix', to, m.release]).err).toContain('is another program and stays');
    expect(readdirSync(m.release)).toEqual(before);
    // A foreign link that is relative, and one of ours that is replaced.
    rmSync(join(to, 'bin/interlock'));
    symlinkSync('other/prog', join(to, 'bin/interlock'));
    m.run(['--prefix', to, m.release]);
    expect(readlinkSync(join(to, 'bin/interlock'))).toBe('other/prog');
    rmSync(join(to, 'bin/interlock'));
    symlinkSync('interlock-worker', join(to, 'bin/interlock'));
    expect(m.run(['--prefix', to, m.release]).err).toBe('');
    const line = /export PATH=.*$/m.exec(done.out)?.[0] ?? '';
    const path = execFileSync('/bin/sh', ['-c', `${line}; printf %s "$PATH"`], {
      cwd: m.folder,
      env: { PATH: '/x' },
      encoding: 'utf8',
    });
    expect(path).toBe(`${to}/bin:/x`);
    expect(existsSync(join(m.folder, 'pwned'))).toBe(false);
  });

  it('takes a relative --prefix, also one like an option, and names the whole folder for the PATH', () => {
    const m = machine();
    const done = spawnSync('/bin/sh', [script, '--prefix=-x', m.release], {
      cwd: m.folder,
      env: { PATH: join(m.folder, 'tools') },
      encoding: 'utf8',
    });
    expect(done).toMatchObject({ status: 0, stderr: '' });
    expect(done.stdout).toContain(`export PATH='${join(m.folder, '-x/bin')}':"$PATH"`);
    expect(readdirSync(join(m.folder, '-x/bin')).sort()).toEqual(['interlock', 'interlock-worker']);
  });

  it('tells which rights of the old file the new one does not get', () => {
    const m = machine();
    m.run();
    const goal = join(m.folder, 'to here/bin/interlock-worker');
    chmodSync(goal, 0o4755);
    m.fake('getcap', 'echo "$1 cap_net_raw=ep"');
    const done = m.run();
    expect(done.code).toBe(0);
    expect(done.err).toContain('had a set-id bit');
    expect(done.err).toContain(`(setcap): ${goal} cap_net_raw=ep`);
    expect(lstatSync(goal).mode & 0o7777).toBe(0o755);
  });

  it('explains its use', () => {
    const m = machine();
    expect(m.run(['--help']).out).toContain('sh install.sh [--check]');
    expect(m.run(['--nonsense'])).toMatchObject({ code: 64 });
    expect(m.run(['--prefix'])).toMatchObject({ code: 64 });
    expect(m.run(['--public-key', m.folder, m.release]).err).toMatch(
      /^interlock-worker is not installed: the public key .* cannot be read/,
    );
  });
});
