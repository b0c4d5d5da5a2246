import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { constantKey, keyFromFile, keyFromVariable } from '../../src/transports/key-source.ts';
import { claimBody, fcpAndTransport } from './worker.ts';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'interlock-key-'));
  file = join(folder, 'key');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = (text: string, mode = 0o600) => writeFile(file, text, { mode });

describe('a key file', () => {
  it('holds one line, whatever editors add', async () => {
    await write('\uFEFF  il_one\r\nsomething else\n');
    const key = await keyFromFile(file);
    expect(key.current()).toBe('il_one');
    expect(key.advice).toBeUndefined();
  });

  it('is read again, and the old key stays where that fails', async () => {
    await write('il_one');
    const key = await keyFromFile(file);
    await write('il_two');
    expect(await key.reload()).toBe('il_two');
    await rm(file);
    expect(await key.reload()).toBeUndefined();
    await write('');
    expect(await key.reload()).toBeUndefined();
    expect(key.current()).toBe('il_two');
  });

  it('gives advice where others can read it', async () => {
    await write('il_one');
    await chmod(file, 0o644);
    expect((await keyFromFile(file)).advice).toContain(`chmod 600 ${file}`);
  });

  it.each([
    ['is not there', undefined, 'KEY_UNREADABLE'],
    ['is empty', ' \n', 'KEY_MALFORMED'],
    ['holds something else', 'a\u0000b', 'KEY_MALFORMED'],
  ])('that %s is refused with its path', async (_, text, code) => {
    if (text !== undefined) await write(text);
    await expect(keyFromFile(file)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(file),
    });
  });
});

it('a variable without a key is named', () => {
  expect(() => keyFromVariable('INTERLOCK_WORKER_KEY', () => ' ')).toThrow(
    expect.objectContaining({
      code: 'KEY_MISSING',
      message: expect.stringContaining('INTERLOCK_WORKER_KEY'),
    }),
  );
  expect(keyFromVariable('X', () => 'il_x').current()).toBe('il_x');
});

it('a key that is answered 401 is read again and used from then on', async () => {
  await write('il_old');
  const { fcp, transport } = await fcpAndTransport(
    { key: await keyFromFile(file) },
    { keys: ['il_new'] },
  );
  expect(await transport.claim(claimBody())).toMatchObject({ kind: 'refused', status: 401 });
  expect(await transport.reloadKey()).toBe(false);
  await write('il_new');
  expect(await transport.reloadKey()).toBe(true);
  expect(await transport.claim(claimBody())).toMatchObject({ kind: 'ok' });
  expect(fcp.log.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer il_old',
    'Bearer il_new',
  ]);
});

it('a constant key never changes', async () => {
  const { transport } = await fcpAndTransport({ key: constantKey('il_x') });
  expect(await transport.reloadKey()).toBe(false);
});
