import fs, { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { makePrivateFolder, writePrivate } from '../../src/cli/private-json.ts';
import { temporaryFolder } from './world.ts';

let folder = '';
let file = '';
beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder, 'profile.json');
  writeFileSync(file, 'old', { mode: 0o600 });
});

/** The next renames fail with this code, as on Windows while somebody holds the target open. What the target held meanwhile. */
function renameFails(times: number, code: string): string[] {
  const seen: string[] = [];
  const { renameSync } = fs;
  vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
    seen.push(readFileSync(to, 'utf8'));
    if (seen.length <= times)
      throw Object.assign(new Error(`${code}: refused`), { code, syscall: 'rename', path: from });
    renameSync(from, to);
  });
  syncBuiltinESMExports();
  return seen;
}
afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

describe('a file with keys (F34)', () => {
  it.each(['EPERM', 'EACCES', 'EBUSY'])(
    'is tried again on Windows while somebody holds the old one (%s), which stays whole until then',
    async (code) => {
      const seen = renameFails(2, code);
      await writePrivate(file, 'new', 'win32');
      expect(seen).toEqual(['old', 'old', 'old']);
      expect(readFileSync(file, 'utf8')).toBe('new');
      expect(readdirSync(folder)).toEqual(['profile.json']);
    },
  );

  it.each(['EXDEV', 'EBUSY', 'EROFS'])(
    'stays as it was where %s refuses the new one, of which nothing is left',
    async (code) => {
      const seen = renameFails(9, code);
      await expect(writePrivate(file, 'il_key', 'linux')).rejects.toMatchObject({
        code,
        path: file,
      });
      expect(seen).toEqual(['old']);
      expect(readFileSync(file, 'utf8')).toBe('old');
      expect(readdirSync(folder)).toEqual(['profile.json']);
    },
  );

  it.skipIf(process.platform === 'win32')('and its folders are for their owner alone', async () => {
    const deep = join(folder, 'a', 'b', 'profile.json');
    await writePrivate(deep, 'new');
    expect(statSync(deep).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o700);
    mkdirSync(join(folder, 'there'));
    expect(() => makePrivateFolder(join(folder, 'there'))).not.toThrow();
    expect(() => makePrivateFolder(file)).toThrow(/EEXIST/);
  });
});
