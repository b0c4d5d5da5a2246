import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findKey, type KeyPlaces, keyCandidates, oldProfile } from '../../src/cli/keys.ts';
import { findProfile, PROFILE, type Profile, writeProfile } from '../../src/cli/profile.ts';
import { temporaryFolder } from './world.ts';

const url = 'http://127.0.0.1:7420';
const profile: Profile = {
  file: '/p/.interlock/profile.json',
  url: `${url}/`,
  keys: { 'task-producer': 'il_profile_producer', admin: 'il_profile_admin' },
};

function places(given: Partial<KeyPlaces> = {}): KeyPlaces {
  return { keyFile: undefined, keyFileFrom: 'default', env: {}, profile: undefined, url, ...given };
}

function keyFile(text = 'il_file\n'): string {
  const file = join(temporaryFolder(), 'key');
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

it('a refused key of a profile may be that of another control plane; one of a variable is no such case', () => {
  expect(oldProfile('profile /p/.interlock/profile.json')).toMatch(
    /npm start .+ fits its own control plane only: .+ INTERLOCK_…_KEY and --key-file go before it/,
  );
  expect(oldProfile('INTERLOCK_ADMIN_KEY')).toBe('');
});

describe('the key of a command', () => {
  it('comes from --key-file before the environment before a configured key file before the profile', async () => {
    const file = keyFile();
    const all = places({
      keyFile: file,
      keyFileFrom: '--key-file',
      env: { INTERLOCK_PRODUCER_KEY: 'il_environment' },
      profile,
    });
    const used = async (given: Partial<KeyPlaces>) =>
      (await findKey(['task-producer'], { ...all, ...given })).source.current();
    expect(await used({})).toBe('il_file');
    expect(await used({ keyFileFrom: 'INTERLOCK_KEY_FILE' })).toBe('il_environment');
    expect(await used({ keyFileFrom: 'INTERLOCK_KEY_FILE', env: {} })).toBe('il_file');
    expect(await used({ keyFile: undefined, env: {} })).toBe('il_profile_producer');
  });

  it('is a credential of systemd where no setting names another place, and is not said to lie open', async () => {
    const folder = temporaryFolder();
    const all = places({ env: { CREDENTIALS_DIRECTORY: folder }, profile });
    expect(keyCandidates(all).some(({ from }) => from.startsWith('credential'))).toBe(false);
    writeFileSync(join(folder, 'worker-key'), 'il_credential\n', { mode: 0o440 });
    const found = await findKey(['task-worker'], all);
    expect(found).toMatchObject({ kind: 'task-worker', from: `credential ${folder}/worker-key` });
    expect(found.source.current()).toBe('il_credential');
    expect(found.advice).toBeUndefined();
    const env = { ...all.env, INTERLOCK_WORKER_KEY: 'il_environment' };
    const said = await findKey(['task-worker'], { ...all, env });
    expect(said.source.current()).toBe('il_environment');
    const named = { keyFile: keyFile(), keyFileFrom: '"key-file" in interlock.toml' };
    const configured = await findKey(['task-worker'], { ...all, ...named });
    expect(configured.source.current()).toBe('il_file');
    await expect(findKey(['task-producer'], { ...all, profile: undefined })).rejects.toThrow(
      /There is no task-producer key/,
    );
  });

  it('is of the first kind in the order of the command that a place has', async () => {
    const env = { INTERLOCK_ADMIN_KEY: 'il_admin', INTERLOCK_OPERATOR_KEY: 'il_operator' };
    const found = await findKey(['task-operator', 'admin'], places({ env, profile }));
    expect(found).toMatchObject({ kind: 'task-operator', from: 'INTERLOCK_OPERATOR_KEY' });
    const other = await findKey(['task-producer', 'admin'], places({ env, profile }));
    expect(other).toMatchObject({ kind: 'admin', from: 'INTERLOCK_ADMIN_KEY' });
  });

  it('is never one of a profile for another address', async () => {
    const elsewhere = places({ profile, url: 'https://tasks.example.com' });
    expect(keyCandidates(elsewhere)).toEqual([]);
    await expect(findKey(['task-producer'], elsewhere)).rejects.toThrow(
      /the keys in the profile .+ belong to http:\/\/127\.0\.0\.1:7420\//,
    );
  });

  it('is told to be missing with every place that was looked at and the next step', async () => {
    const env = { INTERLOCK_WORKER_KEY: ' ' };
    const error = await findKey(['task-worker'], places({ env, profile })).catch((e: Error) => e);
    expect(error).toMatchObject({
      code: 'KEY_MISSING',
      message: `There is no task-worker key for ${url}: no --key-file was given, INTERLOCK_WORKER_KEY is not set, the profile ${profile.file} holds no task-worker key.`,
      hint: expect.stringContaining('interlock keys new "my key" --kind task-worker'),
    });
  });

  it('is refused where it is malformed, with its place and without its text', async () => {
    const env = { INTERLOCK_PRODUCER_KEY: 'il_two words' };
    const error = await findKey(['task-producer'], places({ env })).catch((e: Error) => e);
    expect(error).toMatchObject({ code: 'KEY_MALFORMED' });
    expect((error as Error).message).toContain('INTERLOCK_PRODUCER_KEY');
    expect((error as Error).message).not.toContain('il_two');
  });

  it('is read again from the profile when it was changed there', async () => {
    const file = join(temporaryFolder(), '.interlock', 'profile.json');
    writeProfile({ file, url, keys: { 'task-worker': 'il_old' } });
    const { profile } = findProfile(join(file, '../..'), undefined);
    const { source } = await findKey(['task-worker'], places({ profile }));
    writeProfile({ file, url, keys: { 'task-worker': 'il_new' } });
    expect(source.current()).toBe('il_old');
    expect(await source.reload()).toBe('il_new');
    expect(source.current()).toBe('il_new');
  });
});

describe('the profile', () => {
  it('is written for its owner only and found from folders below', () => {
    const top = temporaryFolder();
    const file = join(top, PROFILE);
    writeProfile({ file, url, project: 'shop', keys: { admin: 'il_a' } });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(top, '.interlock')).mode & 0o777).toBe(0o700);
    const below = join(top, 'a', 'b');
    mkdirSync(below, { recursive: true });
    expect(findProfile(below, undefined).profile).toEqual({
      file,
      url,
      project: 'shop',
      keys: { admin: 'il_a' },
    });
  });

  it('is refused while others may read it, with the command that closes it', () => {
    const file = join(temporaryFolder(), PROFILE);
    writeProfile({ file, url, keys: {} });
    chmodSync(file, 0o644);
    expect(() => findProfile(join(file, '../..'), undefined)).toThrow(/others may read it/);
  });

  it('is refused where it is damaged, with the place', () => {
    const file = join(temporaryFolder(), 'profile.json');
    writeFileSync(file, '{"url": "http://x", }', { mode: 0o600 });
    expect(() => findProfile('/', file)).toThrow(/is not valid JSON.+line 1, column/);
    writeFileSync(file, '[]', { mode: 0o600 });
    expect(() => findProfile('/', file)).toThrow(/holds no JSON object/);
  });

  it('must be there where it is named', () => {
    expect(() => findProfile('/', '/nowhere/profile.json')).toThrow(/does not exist/);
  });
});
