import { expect, it } from 'vitest';
import {
  compareVersions,
  readRelease,
  readSums,
  targetOf,
  writeRelease,
  writeSums,
} from '../../../src/cli/update/release.ts';
import {
  addressOf,
  execStart,
  statusAddress,
  timeSpanMs,
} from '../../../src/cli/update/systemd-show.ts';

const hash = 'a'.repeat(64);
const release = {
  version: '0.2.0',
  contract: [1],
  executables: [
    { name: 'interlock-worker-linux-x64', target: 'linux-x64', bytes: 5, sha256: hash },
    { name: 'interlock-worker-darwin-arm64', target: 'darwin-arm64', bytes: 5, sha256: hash },
  ],
};
const sums = new Map(release.executables.map(({ name }) => [name, hash]));

it('a release is read as it was written, the same text in whatever order it came', () => {
  const text = writeRelease(release);
  expect(writeRelease({ ...release, executables: release.executables.toReversed() })).toBe(text);
  expect(readRelease(text, sums)).toMatchObject({
    ok: true,
    value: { version: '0.2.0', product: 'interlock-worker' },
  });
  expect(readSums(writeSums(sums))).toEqual({ ok: true, value: sums });
});

it.each([
  ['../etc/passwd', /none of sha256sum/],
  ['a/b', /none of sha256sum/],
  ['.hidden', /none of sha256sum/],
])('a sum of %s is refused: names are no paths', (name, says) => {
  expect(readSums(`${hash}  ${name}\n`)).toMatchObject({
    ok: false,
    why: expect.stringMatching(says),
  });
});

it('a file cannot stand in the sums twice, and a statement cannot contradict them', () => {
  expect(readSums(`${hash}  x\n${hash}  x\n`).ok).toBe(false);
  const other = new Map([...sums, ['interlock-worker-linux-x64', 'b'.repeat(64)]]);
  expect(readRelease(writeRelease(release), other)).toMatchObject({
    ok: false,
    why: expect.stringContaining('contradict'),
  });
  const another = writeRelease(release).replace(
    '"product": "interlock-worker"',
    '"product": "something"',
  );
  expect(readRelease(another, sums).ok).toBe(false);
  const later = writeRelease(release).replace('"format": 1', '"format": 2');
  expect(readRelease(later, sums)).toMatchObject({
    ok: false,
    why: expect.stringContaining('later form (2)'),
  });
});

it('versions are ordered as semver.org orders them', () => {
  const ordered = [
    '0.1.0',
    '0.2.0-alpha',
    '0.2.0-alpha.1',
    '0.2.0-alpha.beta',
    '0.2.0-beta.2',
    '0.2.0-beta.11',
    '0.2.0-rc.1',
    '0.2.0',
    '0.10.0',
    '1.0.0',
  ];
  for (const [i, a] of ordered.entries())
    for (const [j, b] of ordered.entries())
      expect(Math.sign(compareVersions(a, b)), `${a} ${b}`).toBe(Math.sign(i - j));
  expect(compareVersions('1.0.0+a', '1.0.0+b')).toBe(0);
});

it('targets are named as the builds are', () => {
  expect(targetOf('win32', 'x64')).toBe('win-x64');
  expect(targetOf('darwin', 'arm64')).toBe('darwin-arm64');
});

it('what systemctl shows is understood', () => {
  const line =
    '{ path=/opt/my worker ; argv[]=/opt/my worker --status-listen 127.0.0.1:7421 ; ignore_errors=no ; start_time=[n/a] }';
  expect(execStart(line)).toEqual({
    path: '/opt/my worker',
    argv: '/opt/my worker --status-listen 127.0.0.1:7421',
  });
  expect(statusAddress('x --status-listen=[::1]:99', '')).toBe('http://[::1]:99');
  expect(statusAddress('x', 'A=b INTERLOCK_STATUS_LISTEN=0.0.0.0:7421')).toBe(
    'http://127.0.0.1:7421',
  );
  expect(statusAddress('x', '')).toBeUndefined();
  expect(addressOf('7421')).toBe('http://127.0.0.1:7421');
  expect(addressOf('127.0.0.1:0')).toBeUndefined();
  expect(timeSpanMs('10min 20s')).toBe(620_000);
  expect(timeSpanMs('1.500s')).toBe(1_500);
  expect(timeSpanMs('infinity')).toBe(Number.POSITIVE_INFINITY);
  expect(timeSpanMs('soon')).toBeUndefined();
});
