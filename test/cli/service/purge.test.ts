import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { purgeSpool } from '../../../src/cli/service/purge.ts';
import { safeWay } from '../../../src/cli/service/safe-way.ts';
import { temporaryFolder } from '../world.ts';
import { serviceMachine } from './world.ts';

/** A purge by root of what belongs to the service's user, who may have made anything of it. */
const root = process.getuid?.() === 0;
if (!root) console.info('Skipped: what root removes of another user, since this needs root.');

const SERVICE = 61_200;
const OTHER = 61_201;
const NAMES = ['reports', 'running', 'stale', 'refused', 'corrupt'];

/** As systemd makes it: `private` is root's alone, what is below belongs to the service. */
function state() {
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  const lib = join(folder, 'lib');
  mkdirSync(join(lib, 'private'), { recursive: true });
  chmodSync(join(lib, 'private'), 0o700);
  const mine = join(lib, 'private/interlock');
  spoolAt(join(mine, 'spool/garage'), SERVICE);
  for (const one of [mine, join(mine, 'spool')]) chownSync(one, SERVICE, SERVICE);
  symlinkSync('private/interlock', join(lib, 'interlock'));
  return { folder, mine, spool: join(lib, 'interlock/spool/garage') };
}

function spoolAt(folder: string, uid: number): string {
  for (const name of NAMES) {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, 'record'), '');
    for (const one of [join(folder, name, 'record'), join(folder, name)]) chownSync(one, uid, uid);
  }
  chownSync(folder, uid, uid);
  return folder;
}

const purge = (spool: string) => purgeSpool(spool, serviceMachine({ root: '' }).world);

describe.skipIf(!root)('a purge by root', () => {
  it('removes the spool and its folder where all of it is as it was made', () => {
    const { mine, spool } = state();
    expect(purge(spool)).toBe(`Its spool ${spool} is removed too`);
    expect(readdirSync(join(mine, 'spool'))).toEqual([]);
  });

  it('removes an empty folder also from one where only root may', () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o755);
    const spool = spoolAt(join(folder, 'spool'), SERVICE);
    expect(purge(spool)).toContain('is removed too');
    expect(existsSync(spool)).toBe(false);
  });

  it('is not led by a link of the service to what is of root, or of a third', () => {
    for (const uid of [0, OTHER]) {
      const { folder, mine, spool } = state();
      const victim = spoolAt(join(folder, 'victim/garage'), uid);
      rmSync(join(mine, 'spool'), { recursive: true });
      symlinkSync(dirname(victim), join(mine, 'spool'));
      expect(() => purge(spool)).toThrow(/is not removed: .* is a link that root has not made/);
      expect(readdirSync(join(victim, 'reports'))).toEqual(['record']);
    }
  });

  it('does not work with the rights of root, or of a third, where the service could have put a folder', () => {
    for (const uid of [0, OTHER]) {
      const { mine, spool } = state();
      chownSync(join(mine, 'spool/garage'), uid, uid);
      expect(() => purge(spool)).toThrow(/garage belongs to another user than/);
      expect(readdirSync(join(mine, 'spool/garage')).sort()).toEqual([...NAMES].sort());
    }
  });

  it('follows no link in the spool, and leaves what is not of a worker', () => {
    const { folder, mine, spool } = state();
    const victim = join(folder, 'victim');
    mkdirSync(victim);
    writeFileSync(join(victim, 'kept'), '');
    chmodSync(victim, 0o777);
    rmSync(join(mine, 'spool/garage/stale'), { recursive: true });
    symlinkSync(victim, join(mine, 'spool/garage/stale'));
    writeFileSync(join(mine, 'spool/garage/\u001b[31mphoto'), '');
    const says = purge(spool);
    expect(says).toMatch(/what else lies there \(.*photo\) stays/);
    expect(says).not.toContain('\u001b');
    expect(readdirSync(victim)).toEqual(['kept']);
  });

  it('leaves of code what no worker has made there, and takes it where that is all', () => {
    for (const others of [[], ['proj']]) {
      const { mine, spool } = state();
      const code = join(mine, 'spool/garage/code');
      for (const name of [`ses_${'a'.repeat(32)}`, ...others]) {
        mkdirSync(join(code, name), { recursive: true });
        writeFileSync(join(code, name, 'file'), '');
        for (const one of [code, join(code, name)]) chownSync(one, SERVICE, SERVICE);
      }
      const says = purge(spool);
      if (others.length === 0) expect(says).toBe(`Its spool ${spool} is removed too`);
      else {
        expect(says).toContain('what else lies there (code) stays');
        expect(readdirSync(code, { recursive: true }).sort()).toEqual(['proj', 'proj/file']);
      }
    }
  });

  it('takes no way through a folder where everybody may rename', () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o777);
    const spool = spoolAt(join(folder, 'spool'), SERVICE);
    expect(() => purge(spool)).toThrow(/can be written by others/);
    // In one like /tmp only its owner may.
    chmodSync(folder, 0o1777);
    expect(purge(spool)).toContain('is removed too');
  });
});

it.skipIf(!root)('says of a way what it is without links, and of a circle that it is one', () => {
  const { mine, spool, folder } = state();
  const way = { folder: join(mine, 'spool/garage'), uid: SERVICE, gid: SERVICE, roots: false };
  expect(safeWay(spool)).toEqual(way);
  symlinkSync('b', join(folder, 'a'));
  symlinkSync('a', join(folder, 'b'));
  expect(safeWay(join(folder, 'a/c'))).toMatch(/leads in a circle/);
  renameSync(join(mine, 'spool'), join(mine, 'other'));
  expect(safeWay(spool)).toMatch(/spool is not there/);
});
