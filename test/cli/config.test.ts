import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Io } from '../../src/cli/command.ts';
import { readConfigFile } from '../../src/cli/config-file.ts';
import type { ConfigProblem } from '../../src/cli/config-shape.ts';
import { readSources } from '../../src/cli/main.ts';
import { type SettingName, settingTable } from '../../src/cli/setting-table.ts';
import { interlock } from './run.ts';
import { temporaryFolder, testWorld } from './world.ts';

const ROOT = join(import.meta.dirname, '../..');
const KEY = `il_${'k'.repeat(43)}`;

function fileWith(text: string, name = 'worker.toml', folder = temporaryFolder()): string {
  const file = join(folder, name);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

async function check(text: string, name?: string, ...more: string[]) {
  const file = fileWith(text, name);
  const ran = await interlock(['config', 'check', file, '--json', ...more]);
  const report = JSON.parse(ran.out) as {
    ok: boolean;
    problems: ConfigProblem[];
    warnings: ConfigProblem[];
  };
  expect(ran.code).toBe(report.ok ? 0 : 78);
  return { file, ...report };
}

interface Printed {
  readonly settings: {
    name: string;
    value: unknown;
    from: string;
    place: { kind: string; name?: string; file?: string };
    problem?: string;
  }[];
  readonly keys?: { kind?: string; from: string; used: boolean; trouble?: string }[];
  readonly noKey?: string;
  readonly route?: { says: string; proxy?: string; problem?: string } | null;
  readonly notes: string[];
}

async function print(argv: readonly string[], given: Partial<Io> = {}) {
  const ran = await interlock(['config', 'print', '--json', ...argv], given);
  const printed = (ran.out ? JSON.parse(ran.out) : { settings: [], notes: [] }) as Printed;
  const of = (name: string) => printed.settings.find((one) => one.name === name);
  return { ...ran, ...printed, of };
}

describe('a config file', () => {
  it('means the same as TOML and as JSON', async () => {
    const toml = 'pool = ["gpu", "default"]\nmax-concurrent = 3\ninsecure-http = true\n';
    const json = '{"pool":["gpu","default"],"max-concurrent":3,"insecure-http":true}';
    const [a, b] = [fileWith(toml), fileWith(json, 'worker.json')];
    expect((await readConfigFile(a)).values).toEqual((await readConfigFile(b)).values);
    for (const config of [a, b]) {
      const { of } = await print(['--config', config]);
      expect(of('pool')).toMatchObject({ value: ['gpu', 'default'], from: `"pool" in ${config}` });
      expect(of('max-concurrent')).toMatchObject({ value: 3, place: { kind: 'config' } });
      expect(of('insecure-http')?.value).toBe(true);
    }
  });

  it('names paths from its own folder, while flags and variables name them from the current one', async () => {
    for (const one of Object.values(settingTable)) {
      const named = 'argument' in one && /^(file|folder)$/.test(one.argument ?? '');
      expect(`${one.flag} ${'path' in one}`).toBe(`${one.flag} ${named}`);
    }
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'etc'));
    const config = fileWith(
      'handlers = "../handlers"\nspool = "spool"\n',
      'w.toml',
      join(folder, 'etc'),
    );
    const cwd = temporaryFolder();
    const { of } = await print(['--config', config, '--ca-file', 'ca.pem'], {
      cwd,
      env: { INTERLOCK_KEY_FILE: 'key' },
    });
    expect(of('handlers')?.value).toBe(join(folder, 'handlers'));
    expect(of('spool')?.value).toBe(join(folder, 'etc/spool'));
    expect(of('ca-file')?.value).toBe(join(cwd, 'ca.pem'));
    expect(of('key-file')?.value).toBe(join(cwd, 'key'));
  });

  it.each([
    ['worker.yaml', 'url: x', /ends with "\.yaml".+Name it \.toml or \.json/s],
    ['worker', 'url = "x"', /has no ending.+Name it \.toml or \.json/s],
    [
      'worker.toml',
      'url = "x"\npool = [\n"a"\n',
      /worker\.toml, line 4, column 1: this is no TOML/,
    ],
    ['worker.toml', 'url = x\n', /line 1, column 7: this is no TOML.+Texts stand in quotes/s],
    ['worker.toml', 'url = "a"\nurl = "b"\n', /line 2, column \d+: this is no TOML/],
    ['worker.json', '{"url": }', /is not valid JSON.+line 1/],
    ['worker.json', '[]', /holds no JSON object/],
    ['worker.toml', 'url = "\u0000"', /this is no TOML/],
  ])('is refused as a whole: %s with %j', async (name, text, says) => {
    const config = fileWith(text, name);
    const ran = await interlock(['tasks', 'list', '--config', config]);
    expect(ran).toMatchObject({ code: 78, out: '' });
    expect(ran.err).toMatch(says);
  });

  it('that is a folder, is not there, is too large or no UTF-8 is told so', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'a.toml'));
    writeFileSync(join(folder, 'b.toml'), Buffer.from([0x75, 0xff, 0xfe]));
    writeFileSync(join(folder, 'c.toml'), '#'.repeat(300_000));
    for (const [name, says] of [
      ['a.toml', 'is no file'],
      ['b.toml', 'is no UTF-8 text'],
      ['c.toml', 'is larger than'],
      ['d.toml', 'does not exist'],
    ] as const) {
      const ran = await interlock(['tasks', 'list', '--config', join(folder, name)]);
      expect(ran.code).toBe(78);
      expect(ran.err).toContain(says);
    }
  });

  it('never has its lines repeated where it cannot be parsed: a key may stand there', async () => {
    const config = fileWith(`url = "x"\nkey-file = ${KEY}\nworker-key = s3cret s3cret\n`);
    const ran = await interlock(['config', 'check', config, '--json']);
    expect(ran.code).toBe(78);
    expect(ran.out + ran.err).not.toMatch(/kkk|s3cret/);
  });

  it.each<[string, string, Partial<ConfigProblem>]>([
    ['a mistyped name', 'max-concurent = 4', { path: 'max-concurent', meant: 'max-concurrent' }],
    ['a name with underscores', 'drain_timeout = 4', { meant: 'drain-timeout' }],
    ['a name as in code', 'drainTimeoutMs = 4', { meant: 'drain-timeout' }],
    ['a variable', 'INTERLOCK_POOLS = ["a"]', { meant: 'pool' }],
    ['a flag', '"--worker-id" = "a"', { meant: 'worker-id' }],
    ['a name that is like none', 'colour = "red"', { says: 'is no setting' }],
    [
      'a table of settings',
      '[worker]\nurl = "x"',
      { path: 'worker.url', hint: expect.stringContaining('at the top') },
    ],
    ['a table of a setting', 'pool = { name = "a" }', { path: 'pool.name', says: 'is a table' }],
    ['a dotted name', 'tls.cert = "x"', { path: 'tls.cert' }],
    [
      'a table in a list',
      'pool = ["a", { b = 1 }]',
      { path: 'pool[1]', says: 'is a table, not a text' },
    ],
    ['a list in a list', 'pool = [["a"]]', { path: 'pool[0]', says: 'is a list, not a text' }],
    ['a list for one value', 'url = ["a"]', { path: 'url', says: 'is a list' }],
    [
      'a boolean for a text',
      'url = true',
      { path: 'url', says: 'is true', hint: expect.stringContaining('Expected is a text') },
    ],
    ['a number for a path', 'spool = 7', { path: 'spool', says: 'is the number 7' }],
    ['a date', 'worker-id = 2026-01-01', { path: 'worker-id', says: 'is a date' }],
    ['no number', 'max-concurrent = nan', { path: 'max-concurrent', says: 'is the number NaN' }],
    [
      'a home folder',
      'spool = "~/spool"',
      { path: 'spool', says: expect.stringContaining('only a shell') },
    ],
    [
      'a key by its name',
      `key = "x"`,
      { path: 'key', hint: expect.stringContaining('INTERLOCK_<KIND>_KEY') },
    ],
    [
      'a key in another place',
      `key-file = "${KEY}"`,
      { path: 'key-file', says: expect.stringContaining('holds a key') },
    ],
    [
      'a key deep inside',
      `x = { y = ["${KEY}"] }`,
      { path: 'x', says: expect.stringContaining('holds a key') },
    ],
    [
      'a proxy',
      'https-proxy = "http://u:s3cret@p"',
      { hint: expect.stringContaining('HTTPS_PROXY') },
    ],
    [
      'a value that cannot be',
      'drain-timeout = "soon"',
      { path: 'drain-timeout', says: expect.stringContaining('is no duration') },
    ],
    [
      'no address',
      'url = "tasks.example.com"',
      { path: 'url', says: expect.stringContaining('is no URL') },
    ],
  ])('with %s is told in its place', async (_, line, problem) => {
    const { problems, ok } = await check(`# first line\n${line}\n`);
    expect(ok).toBe(false);
    expect(problems).toEqual([expect.objectContaining({ line: 2, ...problem })]);
    expect(problems[0]?.hint).toMatch(/\w/);
    expect(JSON.stringify(problems)).not.toMatch(/kkk|s3cret/);
  });

  it('has null and nested values of JSON told too, with their paths', async () => {
    const { problems } = await check(
      '{"url": null, "pool": [null], "worker": {"id": 1}}',
      'w.json',
    );
    expect(problems.map(({ path, says }) => `${path} ${says}`)).toEqual([
      'url is null',
      'pool[0] is null, not a text',
      'worker.id stands in the table "worker"',
    ]);
  });

  it('has all its problems told at once, and one of them with the number of others at a start', async () => {
    const text =
      'max-concurent = 4\nurl = true\ndrain-timeout = "soon"\nlease-min = "2m"\nlease-default = "1m"\n';
    const { problems, file } = await check(text);
    expect(problems.map(({ path, line }) => `${line} ${path}`)).toEqual([
      '1 max-concurent',
      '2 url',
      '3 drain-timeout',
      '4 lease-min',
    ]);
    const started = await interlock(['tasks', 'list', '--config', file]);
    expect(started.code).toBe(78);
    expect(started.err).toMatch(
      /line 1: "max-concurent" is no setting\. Did you mean "max-concurrent"\? There is 1 more\.\nnext +See all of them: \S*interlock config check \S+worker\.toml\n/,
    );
    const shown = await interlock(['config', 'check', file]);
    expect(shown.out).toMatch(/^wrong {2}line 1: "max-concurent" is no setting\./);
    expect(shown.out).toMatch(/\n\S+worker\.toml: 4 problems\.\n$/);
  });

  it('is warned of, not refused, for what is not there and for what one command does not read', async () => {
    const text = 'url = "http://10.0.0.1"\ndata = "data"\nca-file = "none.pem"\n';
    const all = await check(text);
    expect(all.problems).toEqual([]);
    expect(all.warnings.map(({ path }) => path)).toEqual(['url', 'ca-file']);
    const worker = await check(text, 'w.toml', '--for', 'worker');
    expect(worker.warnings.map(({ path, says }) => `${path} ${says.slice(0, 20)}`)).toContainEqual(
      'data does nothing for wor',
    );
    const plane = await check(text, 'w.toml', '--for', 'control-plane');
    expect(plane.ok).toBe(true);
    const wrong = await interlock(['config', 'check', all.file, '--for', 'wroker']);
    expect(wrong.code).toBe(64);
    expect(wrong.err).toMatch(/no command with settings.+Those are: .*control-plane, worker/s);
  });

  it('that everybody may write is warned of: whoever names the address gets the keys', async () => {
    if (process.platform === 'win32') return;
    const file = fileWith('url = "http://127.0.0.1:1"\n');
    chmodSync(file, 0o666);
    const { code, out } = await interlock(['config', 'check', file]);
    expect(code).toBe(0);
    expect(out).toMatch(/^warn {3}can be changed by every user.+\n +Close it: chmod o-w /);
  });

  it('of the samples is right', async () => {
    const file = join(ROOT, 'samples/worker.toml');
    const ran = await interlock(['config', 'check', file, '--for', 'worker']);
    expect(ran).toMatchObject({ code: 0, out: `${file} is well.\n`, err: '' });
  });

  it('is read again at every call, and a damaged one leaves everything as it was', async () => {
    const config = fileWith('max-concurrent = 1\n');
    const { io } = testWorld();
    const first = await readSources({ config }, io);
    writeFileSync(config, 'max-concurrent = \n');
    await expect(readSources({ config }, io)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    writeFileSync(config, 'max-concurent = 2\n');
    await expect(readSources({ config }, io)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(first.sources.config?.values).toEqual({ 'max-concurrent': 1 });
    writeFileSync(config, 'max-concurrent = 2\n');
    expect((await readSources({ config }, io)).sources.config?.values).toEqual({
      'max-concurrent': 2,
    });
  });
});

describe('config print', () => {
  /** Flag, variable and config file hold three different values of each; the profile knows two. */
  const values: Partial<Record<SettingName, [string, string, string]>> = {
    url: ['http://127.0.0.1:1', 'http://127.0.0.1:2', 'http://127.0.0.1:3'],
    project: ['one', 'two', 'three'],
    workerId: ['one', 'two', 'three'],
    maxConcurrent: ['1', '2', '3'],
    drainTimeoutMs: ['1s', '2s', '3s'],
    handlers: ['/one', '/two', '/three'],
    pools: ['one', 'two', 'three'],
    logLevel: ['debug', 'warn', 'error'],
    statusListen: ['127.0.0.1:1', '127.0.0.1:2', '127.0.0.1:3'],
  };

  it('shows that a flag beats the environment, that the config file, that the profile, that the default', async () => {
    const cwd = temporaryFolder();
    const profile = fileWith('{"url":"http://127.0.0.1:4","project":"four"}', 'profile.json', cwd);
    const names = Object.keys(values) as SettingName[];
    const env = Object.fromEntries(
      names.map((name) => [settingTable[name].env, values[name]?.[1]]),
    );
    const lines = names.map((name) => {
      const { flag, form } = settingTable[name];
      const text = JSON.stringify(values[name]?.[2]);
      return `${flag} = ${form === 'list' ? `[${text}]` : text}`;
    });
    const config = fileWith(lines.join('\n'));
    const flags = names.flatMap((name) => [
      `--${settingTable[name].flag}`,
      values[name]?.[0] ?? '',
    ]);
    const files = ['--config', config];
    const byProfile = ['--profile', profile];
    const layers = [
      await print([...flags, ...files, ...byProfile], { cwd, env }),
      await print([...files, ...byProfile], { cwd, env }),
      await print([...files, ...byProfile], { cwd }),
      await print(byProfile, { cwd }),
      await print([], { cwd }),
    ];
    const kinds = ['flag', 'environment', 'config', 'profile', 'default'];
    for (const name of names) {
      const { flag } = settingTable[name];
      const rows = layers.map(({ of }) => of(flag));
      const told = name === 'url' || name === 'project';
      expect(rows.map((row) => row?.place.kind)).toEqual(
        kinds.map((kind) => (kind === 'profile' && !told ? 'default' : kind)),
      );
      const shown = rows.slice(0, 3).map((row) => String(row?.value));
      expect(shown).toEqual(values[name]);
    }
    expect(layers[3]?.of('url')?.value).toBe('http://127.0.0.1:4');
  });

  it('is a table for people, with key, way and trust below', async () => {
    const cwd = temporaryFolder();
    const env = {
      INTERLOCK_URL: 'https://tasks.test',
      INTERLOCK_WORKER_KEY: KEY,
      HTTPS_PROXY: 'http://user:s3cret@proxy.test:3128',
      INTERLOCK_MAX_CONCURENT: '4',
      HOME: join('/home', 'me'),
    };
    const { out, err, code } = await interlock(['config', 'print', '--pool', 'gpu'], { cwd, env });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^SETTING +VALUE +FROM\nurl +https:\/\/tasks\.test +INTERLOCK_URL\n/);
    expect(out).toMatch(/\npool +gpu +--pool\n/);
    expect(out).toMatch(/\nstatus-listen +\(off\) +default\n/);
    expect(out).toMatch(/\nspool +\/home\/me\/\S+\/spool\/\S+ +default\n/);
    expect(out).toMatch(/\nkey +task-worker, from INTERLOCK_WORKER_KEY\n/);
    expect(out).toMatch(/\nroute +through http:\/\/proxy\.test:3128 \(HTTPS_PROXY\)\n/);
    expect(out).toMatch(
      /\nnote +INTERLOCK_MAX_CONCURENT is no setting\. Did you mean INTERLOCK_MAX_CONCURRENT\?\n/,
    );
    expect(out).not.toMatch(/kkk|s3cret/);
  });

  it('tells from where the key would come, in the order that is used, and never the key', async () => {
    const cwd = temporaryFolder();
    const file = fileWith(KEY, 'key', cwd);
    const env = {
      INTERLOCK_KEY_FILE: file,
      INTERLOCK_WORKER_KEY: `${KEY}2`,
      INTERLOCK_ADMIN_KEY: `${KEY}3`,
    };
    const keysOf = async (argv: string[], given: Record<string, string>) => {
      const { keys, noKey, out } = await print(argv, { cwd, env: given });
      expect(out).not.toContain('kkk');
      return keys?.length
        ? keys.map((key) => `${key.used} ${key.kind ?? 'any'} ${key.from}`)
        : noKey;
    };
    expect(await keysOf([], env)).toEqual([
      'true task-worker INTERLOCK_WORKER_KEY',
      `false any key file ${file}`,
    ]);
    expect(await keysOf(['--key-file', file], env)).toEqual([
      `true any key file ${file}`,
      'false task-worker INTERLOCK_WORKER_KEY',
    ]);
    expect(await keysOf([], {})).toMatch(/INTERLOCK_WORKER_KEY is not set/);
    chmodSync(file, 0o644);
    const open = await print(['--key-file', file], { cwd });
    expect(open.keys).toMatchObject([{ trouble: expect.stringContaining('chmod 600') }]);
    const gone = await print(['--key-file', 'nowhere'], { cwd });
    expect(gone).toMatchObject({ code: 0, keys: [{ trouble: expect.stringContaining('ENOENT') }] });
  });

  it('prints all of it where something is wrong, says what, and ends with 64', async () => {
    const config = fileWith('worker-id = "a b"\nmax-concurrent = 2\n');
    const env = { INTERLOCK_DRAIN_TIMEOUT: 'soon', INTERLOCK_URL: 'https://u:s3cret@x.test' };
    const { of, code, err, out } = await print(['--config', config], { env });
    expect(code).toBe(64);
    expect(of('worker-id')).toMatchObject({
      value: null,
      problem: expect.stringContaining('"a b"'),
    });
    expect(of('drain-timeout')?.problem).toMatch(/^INTERLOCK_DRAIN_TIMEOUT: "soon" is no duration/);
    expect(of('url')?.problem).toContain('holds a user or a password');
    expect(of('max-concurrent')?.value).toBe(2);
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'SETTING_INVALID', exitCode: 64 } });
    const shown = await interlock(['config', 'print', '--config', config], { env });
    expect(shown.code).toBe(64);
    expect(shown.out).toMatch(/\ndrain-timeout +\(not valid\) +INTERLOCK_DRAIN_TIMEOUT\n/);
    expect(shown.out).toMatch(/\nwrong {2}INTERLOCK_DRAIN_TIMEOUT: "soon" is no duration/);
    expect(out + err + shown.out + shown.err).not.toContain('s3cret');
  });

  it('prints all of it where the config file has a wrong name or the proxy is none', async () => {
    const config = fileWith('max-concurent = 2\n');
    const ran = await print(['--config', config]);
    expect(ran.code).toBe(78);
    expect(ran.of('max-concurrent')?.place.kind).toBe('default');
    expect(ran.notes[0]).toContain('Did you mean "max-concurrent"?');
    const env = { INTERLOCK_URL: 'https://x.test', HTTPS_PROXY: 'http://u:12#s3cret@p.test' };
    const proxy = await print([], { env });
    expect(proxy.code).toBe(64);
    expect(proxy.route?.problem).toContain('in HTTPS_PROXY holds a "#"');
    expect(proxy.out + proxy.err).not.toContain('s3cret');
  });

  it.each(['worker', 'control-plane', 'tasks submit'])(
    'gives %s a TOML file that means the same',
    async (name) => {
      const cwd = temporaryFolder();
      const flags: Record<string, string[]> = {
        worker: ['--pool', 'gpu "1"', '--drain-timeout', '90s', '--handlers', 'här'],
        'control-plane': ['--listen', '[::1]:0', '--lease-min', '2s', '--behind-proxy'],
        'tasks submit': ['--url', 'https://x.test'],
      };
      const argv = [
        '--for',
        name,
        ...(flags[name] ?? []).map((one) => one.replace('gpu "1"', 'gpu/1')),
      ];
      const env = { HOME: join('/home', 'me') };
      const before = await print(argv, { cwd, env });
      const { out, code } = await interlock(['config', 'print', '--toml', ...argv], { cwd, env });
      expect(code).toBe(0);
      const config = fileWith(out);
      expect((await interlock(['config', 'check', config, '--for', name])).code).toBe(0);
      const after = await print(['--for', name, '--config', config], {
        env: { HOME: '/elsewhere' },
      });
      const plain = ({ settings }: Printed) => settings.map((one) => [one.name, one.value]);
      expect(plain(after)).toEqual(plain(before));
    },
  );

  it('takes only the flags of the command that it is for', async () => {
    const ran = await interlock(['config', 'print', '--for', 'worker', '--data', 'x']);
    expect(ran.code).toBe(64);
    expect(ran.err).toContain('worker has no flag --data');
    const unused = await print(['--config', fileWith('data = "x"\n')]);
    expect(unused.notes).toEqual(['worker does not read these of the config file: data']);
  });
});
