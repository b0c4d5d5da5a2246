import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { writeHandlers } from '../../src/cli/written-handlers.ts';
import { temporaryFolder } from './world.ts';

const FILES = [
  { path: 'demo/hello@1.mjs', text: 'export default () => 1;\n' },
  { path: 'other@2.mjs', text: 'export default () => 2;\n' },
];
const all = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => one.name)
    .sort();

it('writes the handlers of the executable for this user alone, and leaves nothing else', () => {
  const folder = writeHandlers(FILES, temporaryFolder());
  expect(all(folder)).toEqual(['hello@1.mjs', 'other@2.mjs']);
  for (const { path, text } of FILES) {
    expect(readFileSync(join(folder, path), 'utf8')).toBe(text);
    expect(statSync(join(folder, path)).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(join(folder, path))).mode & 0o777).toBe(0o700);
  }
});

it('writes again what was changed or cut, and touches nothing that is right', () => {
  const state = temporaryFolder();
  const folder = writeHandlers(FILES, state);
  const right = statSync(join(folder, 'other@2.mjs')).ino;
  writeFileSync(join(folder, 'demo/hello@1.mjs'), 'export def');
  expect(writeHandlers(FILES, state)).toBe(folder);
  expect(readFileSync(join(folder, 'demo/hello@1.mjs'), 'utf8')).toBe(FILES[0]?.text);
  expect(statSync(join(folder, 'other@2.mjs')).ino).toBe(right);
});

it('keeps those of another build beside them, for a worker that still runs', () => {
  const state = temporaryFolder();
  const before = writeHandlers(FILES, state);
  const after = writeHandlers([{ path: 'other@2.mjs', text: 'export default () => 3;\n' }], state);
  expect(after).not.toBe(before);
  expect(all(before)).toHaveLength(2);
});

it('says why they cannot be written and what to do', () => {
  const state = temporaryFolder();
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, 'handlers'), 'a file in the way');
  expect(() => writeHandlers(FILES, state)).toThrow(/cannot be written \(ENOTDIR\)/);
  expect(() => writeHandlers(FILES, undefined)).toThrow(/this user has no home folder/);
});
