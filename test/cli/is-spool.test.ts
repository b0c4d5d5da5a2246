import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isSpool } from '../../src/cli/spool-folder.ts';
import { encodeOwner } from '../../src/spool/owner.ts';
import { temporaryFolder } from './world.ts';

const OWNER = {
  workerId: 'garage',
  sessionId: 'ses_1',
  earlierSessions: [],
  hostName: 'h',
  pid: 1,
  since: '2026-01-01T00:00:00.000Z',
};

it('takes a folder for a spool by an owner record, not by any file of that name', () => {
  const folder = temporaryFolder();
  expect(isSpool(folder)).toBe(false);
  for (const text of ['{"hello":1}', '']) {
    writeFileSync(join(folder, 'owner.json'), text);
    expect(isSpool(folder)).toBe(false);
  }
  writeFileSync(join(folder, 'owner.json'), encodeOwner(OWNER));
  expect(isSpool(folder)).toBe(true);
});

it('knows one that lost its owner record by all of its folders', () => {
  const folder = temporaryFolder();
  for (const name of ['reports', 'running', 'stale', 'refused']) mkdirSync(join(folder, name));
  expect(isSpool(folder)).toBe(false);
  mkdirSync(join(folder, 'corrupt'));
  expect(isSpool(folder)).toBe(true);
});
