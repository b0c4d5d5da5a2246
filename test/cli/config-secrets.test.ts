import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Io } from '../../src/cli/command.ts';
import { readConfigFile } from '../../src/cli/config-file.ts';
import { type SettingName, settingTable } from '../../src/cli/setting-table.ts';
import { findSetting } from '../../src/cli/settings.ts';
import { interlock } from './run.ts';
import { temporaryFolder } from './world.ts';

const KEY = `il_${'k'.repeat(20)}-${'k'.repeat(22)}`;
const names = Object.keys(settingTable) as SettingName[];

function fileWith(text: string, name = 'worker.toml'): string {
  const file = join(temporaryFolder(), name);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

/** Everything that any of the commands says of a config file or of what it is given. */
async function everyWord(argv: readonly string[], given: Partial<Io> = {}): Promise<string> {
  const config = argv.indexOf('--config');
  const file = argv[config + 1] ?? '';
  const runs = [
    await interlock(['config', 'print', ...argv], given),
    await interlock(['config', 'print', '--json', ...argv], given),
    await interlock(['config', 'print', '--toml', ...argv], given),
    await interlock(['tasks', 'list', ...argv], given),
    await interlock(['tasks', 'list', '--json', ...argv], given),
    await interlock(['tasks', 'doctor', ...argv], given),
    ...(config < 0
      ? []
      : [
          await interlock(['config', 'check', file], given),
          await interlock(['config', 'check', file, '--json'], given),
        ]),
  ];
  for (const { code } of runs) expect(code).not.toBe(70);
  return runs.map(({ out, err }) => out + err).join('\n');
}

describe('a key', () => {
  it.each([
    ['as a value', `key-file = "${KEY}"`],
    ['as a name', `"${KEY}" = 1`],
    ['as a name in a table of a setting', `[url]\n"${KEY}" = 1`],
    ['as a name in a table of none', `[colour]\n"${KEY}" = 1`],
    ['as the name of a table', `["${KEY}"]\nx = 1`],
    ['in a list', `pool = ["a", "${KEY}"]`],
    ['in a table in a list', `pool = [{ "${KEY}" = 1 }]`],
    ['in a path', `spool = "/srv/${KEY}/spool"`],
    ['as a worker', `worker-id = "${KEY}"`],
    ['behind an escape', `url = "\\n${KEY}"`],
  ])('in a config file is never shown: %s', async (_, text) => {
    const said = await everyWord(['--config', fileWith(`${text}\n`)]);
    expect(said).not.toContain('kkk');
    expect(said).toMatch(/key, which does not belong/);
  });

  it.each([
    ['a flag', ['--key-file', KEY], {}],
    ['a variable', [], { INTERLOCK_KEY_FILE: KEY }],
    ['a list of a variable', [], { INTERLOCK_POOLS: `a,${KEY}` }],
    ['the address', ['--url', KEY], {}],
    ['a name that is no flag', [`--${KEY}`], {}],
    ['a word too many', [KEY], {}],
    ['the name of a config file', ['--config', `${KEY}.toml`], {}],
    ['the name of a profile', ['--profile', KEY], {}],
    ['the name of a variable', [], { [`INTERLOCK_${KEY}`]: '1' }],
  ])('in another place is never shown: %s', async (_, argv, env) => {
    expect(await everyWord(argv, { env, cwd: temporaryFolder() })).not.toContain('kkk');
  });

  it('in an input of JSON is not shown when the input is refused, in its issues neither', async () => {
    for (const more of [[], ['--json']]) {
      const input = `{"${KEY}":1,"${KEY}":2}`;
      const ran = await interlock(['tasks', 'submit', 'a/b@1', '--input', input, ...more]);
      expect(ran.code).toBe(65);
      expect(ran.out + ran.err).not.toContain('kkk');
    }
  });
});

describe('a password in an address', () => {
  it.each([
    'ftp://user:sek/ret@h.example',
    'https://user:sek/ret@h.example',
    'https://user:12/sekret@h.example',
    'https://user:sek@ret@h.example',
    'https://user:sek?ret@h.example',
    'https://user:sek ret@h.example',
    'user:sek/ret@h.example',
    'tasks.example.com?token=sekret',
    'https://tasks.example.com?token=sekret',
  ])('is never shown: %s', async (url) => {
    const text = `url = ${JSON.stringify(url)}\n`;
    const said = await everyWord(['--config', fileWith(text)]);
    const flagged = await everyWord(['--url', url]);
    expect(said + flagged).not.toMatch(/sek|ret@/);
    expect(said).toContain('address of the control plane');
    expect(said).not.toContain('..\n');
  });

  it('is not shown either where no address belongs', async () => {
    const url = 'https://user:sek/ret@h.example';
    for (const name of names) {
      const { flag } = settingTable[name];
      for (const given of [{ flags: { [flag]: url }, env: {} }, inConfig(flag, url)]) {
        const { problem, value } = findSetting(name, { ...given, around });
        if (name !== 'url') expect({ name, value, problem }).toMatchObject({ value: undefined });
        expect(String(problem)).not.toMatch(/sek|ret@/);
      }
    }
    for (const argv of [
      ['tasks', 'list', url],
      ['config', 'check', url],
      ['keys', 'list', '--data', url],
    ]) {
      const ran = await interlock(argv);
      expect([64, 66, 78]).toContain(ran.code);
      expect(ran.out + ran.err).not.toContain('sek');
    }
  });
});

const around = {
  cwd: '/project',
  hostName: 'garage',
  cores: 4,
  stateFolder: '/state',
  checkout: false,
};
function inConfig(flag: string, value: unknown) {
  return { flags: {}, env: {}, config: { file: '/etc/w.toml', values: { [flag]: value } } };
}

describe('the address of a profile', () => {
  it('that holds a password is refused, and doctor does not repeat it for its keys', async () => {
    const profile = fileWith(
      JSON.stringify({ url: 'https://user:sek/ret@h.example', keys: { 'task-worker': 'il_abc' } }),
      'profile.json',
    );
    for (const more of [[], ['--url', 'http://127.0.0.1:9']]) {
      const said = await everyWord(['--profile', profile, ...more]);
      expect(said).not.toMatch(/sek|ret@/);
      expect(said).toContain('https://…@h.example');
    }
  });
});

describe('a setting', () => {
  it('refuses control characters, whichever it is and wherever it was given', async () => {
    for (const name of names) {
      const { flag, form } = settingTable[name];
      const bad = '/srv/a\nExecStartPre=+/bin/touch /etc/pwned\n#';
      const value = form === 'list' ? [bad] : bad;
      for (const given of [{ flags: { [flag]: value }, env: {} }, inConfig(flag, value)]) {
        const { problem } = findSetting(name, { ...given, around });
        expect(problem?.message).toMatch(/holds a control character \(U\+000A\)/);
        expect(problem?.message).not.toContain('pwned');
      }
    }
    for (const [text, code] of [
      ['"/srv/a\\nExecStartPre=+/bin/touch /etc/pwned\\n#"', 'U+000A'],
      ['"/srv/a\\u001b[2J"', 'U+001B'],
      ['"/srv/a\\u2028b"', 'U+2028'],
    ]) {
      const ran = await interlock(['config', 'check', fileWith(`spool = ${text}\n`)]);
      expect(ran.code).toBe(78);
      expect(ran.out).toContain(`line 1: "spool" holds a control character (${code})`);
    }
  });

  it('of a wrong form is told in words that people have, as config check tells it', async () => {
    const config = fileWith('worker-id = 1979-05-27\nurl = true\npool = ["a", { b = 1 }]\n');
    const { out } = await interlock(['config', 'print', '--config', config]);
    expect(out).toContain(`"worker-id" in ${config}: is a date, not a text.`);
    expect(out).toContain(`"url" in ${config}: is true, not a text.`);
    expect(out).toContain(`"pool" in ${config}: is a table, not a text.`);
    expect(out).not.toMatch(/TomlDate|Invalid input|expected string/);
  });

  it('has no escapes of a terminal in what is said of its name', async () => {
    const file = fileWith('"a\\u001b[2Jb" = 1\n');
    const said = await everyWord(['--config', file]);
    expect(said).not.toContain('\u001b');
    expect(said).not.toContain('\\u001b');
  });
});

describe('a config file that is made to cost time', () => {
  it.each([
    ['a name of 120,000 levels', `${'a.'.repeat(119_999)}a = 1\n`],
    ['a list of 100,000 levels', `pool = ${'['.repeat(100_000)}${']'.repeat(100_000)}\n`],
    ['a name of 200,000 letters', `${'a'.repeat(200_000)} = 1\n`],
    ['a line of 260,000 blanks', `zz = 1\n${' '.repeat(260_000)}\n`],
    ['a line of 130,000 blanks and brackets', `zz = """\n${' ['.repeat(130_000)}"""\n`],
    [
      '24,000 unknown names',
      Array.from({ length: 24_000 }, (_, i) => `n${i.toString(36)}=1`).join('\n'),
    ],
    ['a text of 250,000 colons', `url = "${'a:/'.repeat(83_000)}"\n`],
    ['an address of 250,000 letters', `spool = "${'a://b:'.repeat(40_000)}"\n`],
    ['a name of 250,000 letters that may be keys', `"${'il_/'.repeat(60_000)}" = 1\n`],
  ])(
    'is judged at once and shortly, and is no bug: %s',
    async (_, text) => {
      const ran = await interlock(['config', 'check', fileWith(text)]);
      expect(ran.code).toBe(78);
      expect(ran.out.length).toBeLessThan(40_000);
    },
    5_000,
  );

  it('has the lines of all names told that begin one line', async () => {
    const text =
      'a = 1\n  "b c" . d = 1\n[[ e . f ]]\n\'g"\' = """\nh = 1\n"""\n[x]\nh = 1\n"\\u0069" = 1\n';
    const { lineOf } = await readConfigFile(fileWith(text));
    expect(['a', 'b c', 'e', 'g"', 'h', 'x', 'i', 'none'].map(lineOf)).toEqual([
      1,
      2,
      3,
      4,
      undefined,
      7,
      9,
      undefined,
    ]);
  });
});
