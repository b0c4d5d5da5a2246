import { spawnSync } from 'node:child_process';
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CollectingLog } from '../../sim/log.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import { inspectSpool } from '../../src/spool/index.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemDisk } from '../../src/system/disk.ts';
import { systemFolderLock } from '../../src/system/folder-lock.ts';
import { systemProcessInfo } from '../../src/system/process-info.ts';
import { RealSpools } from './real-spool.ts';
import { complete, META, reportIds } from './world.ts';

const PARTS = ['reports', 'running', 'stale', 'refused', 'corrupt'];

let spools: RealSpools;
beforeEach(async () => {
  spools = await RealSpools.make();
});
afterEach(() => spools.end());

const at = (...parts: string[]) => join(spools.folder, ...parts);
const mode = async (path: string) => (await stat(path)).mode & 0o777;

/** A spool that was closed in order, with a report in it. */
async function used(): Promise<string> {
  const first = await spools.open({ sessionId: 'ses_1' });
  await first.writeReport(complete('att_a'), META);
  await first.close();
  const [name] = await readdir(at('reports'));
  return name as string;
}

/** A disk on which a path belongs to somebody else. */
function foreign(path: string) {
  const disk = systemDisk();
  return {
    ...disk,
    look: async (looked: string, options?: { follow?: boolean }) => {
      const seen = await disk.look(looked, options);
      return seen && looked === path ? { ...seen, ours: false } : seen;
    },
  };
}

async function refusal(more: Parameters<RealSpools['tryOpen']>[0] = {}) {
  const opened = await spools.tryOpen(more);
  if (opened.ok) throw new Error('it was not refused');
  expect(opened.error).toMatchObject({
    code: 'SPOOL_UNSAFE',
    hint: expect.stringContaining('--spool'),
  });
  return opened.error.message;
}

describe.skipIf(process.platform === 'win32')('a spool folder that is there', () => {
  it('is closed to others with all that is in it, and what is above it is left alone', async () => {
    const name = await used();
    const above = join(spools.folder, '..');
    await chmod(above, 0o755);
    for (const path of ['.', ...PARTS]) await chmod(at(path), 0o777);
    for (const path of ['owner.json', join('reports', name)]) await chmod(at(path), 0o666);
    const spool = await spools.open({ sessionId: 'ses_2' });
    expect(reportIds(spool)).toEqual(['att_a']);
    for (const path of ['.', ...PARTS]) expect(await mode(at(path))).toBe(0o700);
    for (const path of ['owner.json', 'owner.lock', join('reports', name)])
      expect(await mode(at(path))).toBe(0o600);
    expect(await mode(above)).toBe(0o755);
  });

  it('and is empty is closed to others', async () => {
    await mkdir(spools.folder);
    await chmod(spools.folder, 0o777);
    await spools.open();
    expect(await mode(spools.folder)).toBe(0o700);
  });

  it('and is given by a link is closed where the link leads', async () => {
    await used();
    await rename(spools.folder, `${spools.folder}-real`);
    await symlink(`${spools.folder}-real`, spools.folder);
    await chmod(`${spools.folder}-real`, 0o755);
    expect(reportIds(await spools.open({ sessionId: 'ses_2' }))).toEqual(['att_a']);
    expect(await mode(`${spools.folder}-real`)).toBe(0o700);
  });

  it('and holds other things is refused and left as it is, unless it was a spool before', async () => {
    await mkdir(spools.folder);
    const things = ['letter.txt', 'music', 'notes', 'reports', 'taxes'];
    for (const name of things) await mkdir(at(name));
    await chmod(at('reports'), 0o755);
    await chmod(spools.folder, 0o777);
    expect(await refusal()).toContain('can be written by other users');
    await chmod(spools.folder, 0o755);
    expect(await refusal()).toContain('holds other things (letter.txt, music, notes and 1 more)');
    expect((await readdir(spools.folder)).sort()).toEqual(things);
    expect([await mode(spools.folder), await mode(at('reports'))]).toEqual([0o755, 0o755]);
  });

  it.each([
    ['has an owner record', [] as string[]],
    ['lost its owner record', ['owner.json']],
  ])('and %s beside other things is a spool, and keeps its mode', async (_, gone) => {
    const name = await used();
    await writeFile(at('letter.txt'), 'dear');
    for (const path of gone) await rm(at(path));
    await chmod(at('reports', name), 0o600);
    await chmod(spools.folder, 0o755);
    expect(reportIds(await spools.open({ sessionId: 'ses_2' }))).toEqual(['att_a']);
    expect(await mode(spools.folder)).toBe(gone.length === 0 ? 0o700 : 0o755);
  });

  it('and holds what a checkout or a disk of its own has is taken', async () => {
    await mkdir(at('lost+found'), { recursive: true });
    await writeFile(at('README.md'), '# The spool');
    await chmod(spools.folder, 0o755);
    await spools.open();
    expect(await mode(at('reports'))).toBe(0o700);
  });

  it('and belongs to another user is refused, also for root', async () => {
    await used();
    expect(await refusal({ disk: foreign(spools.folder) })).toContain('belongs to another user');
  });

  it.each([...PARTS, 'owner.json'])('and has a %s of another user is refused', async (part) => {
    await used();
    expect(await refusal({ disk: foreign(at(part)) })).toContain('belongs to another user');
  });

  it.skipIf(process.geteuid?.() !== 0)('of another user is refused for the real root', async () => {
    await mkdir(spools.folder);
    spawnSync('chown', ['65534', spools.folder]);
    expect(await refusal()).toContain('belongs to another user');
  });

  it.each(['owner.json', 'reports', 'code'])(
    'and has a link as its %s is refused',
    async (part) => {
      await used();
      await mkdir(at('code'));
      const outside = join(spools.folder, '..', 'outside');
      await rename(at(part), outside);
      await symlink(outside, at(part));
      expect(await refusal()).toContain('is a symbolic link');
    },
  );

  it.each(['reports', 'code'])(
    'and was no spool, and has a link as its %s, is refused',
    async (part) => {
      const outside = join(spools.folder, '..', 'outside');
      await mkdir(outside);
      await mkdir(spools.folder);
      await symlink(outside, at(part));
      expect(await refusal()).toContain('is a symbolic link');
      expect([await readdir(spools.folder), await readdir(outside)]).toEqual([[part], []]);
    },
  );

  it.each([
    ['code', join('code', 'proj', 'main.py')],
    ['code', join('code', 'ses_1', 'main.py')],
    ['reports', join('reports', 'july.pdf')],
    ['reserve', 'reserve'],
    ['status.json', 'status.json'],
    ['refusal.json', 'refusal.json'],
    ['reserve.1', 'reserve.1'],
    ['owner.lock', 'owner.lock'],
    ['owner.json', 'owner.json'],
  ])(
    "and holds a %s of somebody's, %s, is refused with its name and left as it is",
    async (name, file) => {
      await mkdir(join(at(file), '..'), { recursive: true });
      await chmod(spools.folder, 0o700);
      await writeFile(at('README.md'), 'my project');
      await writeFile(at(file), '{"hello":1}');
      const before = (await readdir(spools.folder, { recursive: true })).sort();
      expect(await refusal()).toContain(`holds other things (${name}), and no worker`);
      expect((await readdir(spools.folder, { recursive: true })).sort()).toEqual(before);
      expect(await readFile(at(file), 'utf8')).toBe('{"hello":1}');
    },
  );

  it("and has somebody's owner.json and may be written by others keeps its mode", async () => {
    await mkdir(spools.folder);
    await writeFile(at('owner.json'), '{"hello":1}');
    await chmod(spools.folder, 0o777);
    expect(await refusal()).toContain('can be written by other users');
    expect(await mode(spools.folder)).toBe(0o777);
  });

  it('and holds what a first start that was killed leaves is taken', async () => {
    await mkdir(at('code', `ses_${'a'.repeat(32)}`), { recursive: true });
    await mkdir(at('reports'));
    await mkdir(at('owner.lock'));
    await writeFile(at('owner.door'), '');
    await writeFile(at('doctor-1f.probe'), 'probe');
    await spools.open();
    expect(await readdir(spools.folder)).toContain('owner.json');
  });

  it('and lost its owner record and a folder is known by its records', async () => {
    await used();
    for (const path of ['owner.json', 'owner.lock', 'stale', 'reserve'])
      await rm(at(path), { recursive: true, force: true });
    expect(reportIds(await spools.open({ sessionId: 'ses_2' }))).toEqual(['att_a']);
  });

  it.each([
    ['was cut', (text: string) => text.slice(0, 60)],
    ['says nothing any more', () => '\0\0\0\0'],
    ['is of a later version', (text: string) => text.replace('{"v":1', '{"v":2')],
  ])('and has an owner record that %s is still a spool', async (_, altered) => {
    await used();
    await writeFile(at('letter.txt'), 'dear');
    await writeFile(at('owner.json'), altered(await readFile(at('owner.json'), 'utf8')));
    expect(reportIds(await spools.open({ sessionId: 'ses_2' }))).toEqual(['att_a']);
  });

  it('that is a file, or lies below one, says so', async () => {
    await writeFile(spools.folder, 'x');
    const file = await spools.tryOpen();
    expect(file).toMatchObject({
      ok: false,
      error: {
        code: 'SPOOL_UNWRITABLE',
        message: `The spool ${spools.folder} is a file and no folder.`,
        hint: expect.not.stringContaining('a file of its own'),
      },
    });
    const below = await spools.tryOpen({ folder: at('below') });
    expect(below).toMatchObject({
      ok: false,
      error: { code: 'SPOOL_UNWRITABLE', message: expect.stringContaining('ENOTDIR') },
    });
  });
});

describe.skipIf(process.platform === 'win32')('what is no file of ours among the records', () => {
  it('is named and not opened: a link, a pipe, a file of another user', async () => {
    const name = await used();
    const secret = join(spools.folder, '..', 'secret');
    await writeFile(secret, 'root:x:0:0\n');
    const [link, pipe, other] = [7, 8, 9].map((n) => `00000000000${n}-0badc0de.jsonl`);
    await symlink(secret, at('reports', link as string));
    for (const folder of ['reports', 'running', 'stale'])
      spawnSync('mkfifo', [at(folder, pipe as string)]);
    await writeFile(at('running', other as string), 'forged\n', { mode: 0o600 });
    const log = new CollectingLog();
    const disk = foreign(at('running', other as string));
    const spool = await spools.open({ sessionId: 'ses_2', log, disk });
    expect(reportIds(spool)).toEqual(['att_a']);
    expect(await readdir(at('corrupt'))).toEqual([]);
    expect(log.of('spool.unreadable').map(({ text }) => text)).toEqual([
      `${at('reports', link as string)} cannot be read (is a symbolic link, which is not followed); it stays as it is.`,
      `${at('reports', pipe as string)} cannot be read (is no regular file); it stays as it is.`,
      `${at('running', pipe as string)} cannot be read (is no regular file); it stays as it is.`,
      `${at('running', other as string)} cannot be read (belongs to another user); it stays as it is.`,
      `${at('stale', pipe as string)} cannot be read (is no regular file); it stays as it is.`,
    ]);
    // The next file has a name of its own.
    await spool.writeReport(complete('att_b'), META);
    expect(await readdir(at('reports'))).toHaveLength(4);
    expect(await readFile(secret, 'utf8')).toBe('root:x:0:0\n');
    expect(name < (link as string)).toBe(true);
  });

  it('does not hold doctor either', async () => {
    await used();
    spawnSync('mkfifo', [at('reports', '000000000009-0badc0de.jsonl')]);
    const found = await inspectSpool({
      disk: systemDisk(),
      clock: systemClock(),
      random: new SimulatedRandom('doctor'),
      lock: systemFolderLock(),
      processInfo: await systemProcessInfo(),
      folder: spools.folder,
    });
    expect(found).toMatchObject({ pending: 1, unreadable: [{ why: 'is no regular file' }] });
  });
});
