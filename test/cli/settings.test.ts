import { describe, expect, it } from 'vitest';
import { parseDuration } from '../../src/cli/duration.ts';
import type { Surroundings } from '../../src/cli/setting-table.ts';
import { settingTable } from '../../src/cli/setting-table.ts';
import { readSettings, type SettingSources } from '../../src/cli/settings.ts';
import { TaskError } from '../../src/contract/index.ts';

const around: Surroundings = {
  cwd: '/project',
  hostName: 'garage.local',
  cores: 4,
  stateFolder: '/state/interlock',
  checkout: false,
};

function sources(given: Partial<SettingSources> = {}): SettingSources {
  return { flags: {}, env: {}, around, ...given };
}

function refusal(work: () => unknown): TaskError {
  try {
    work();
  } catch (error) {
    if (error instanceof TaskError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('settings', () => {
  it('take a flag before the environment before the config file before the profile before the default', () => {
    const all = sources({
      flags: { url: 'http://flag' },
      env: { INTERLOCK_URL: 'http://environment' },
      config: { file: '/c.json', values: { url: 'http://config' } },
      profile: { file: '/p.json', url: 'http://profile' },
    });
    const order: [Partial<SettingSources>, string, string][] = [
      [{}, 'http://flag', '--url'],
      [{ flags: {} }, 'http://environment', 'INTERLOCK_URL'],
      [{ flags: {}, env: {} }, 'http://config', '"url" in /c.json'],
      [{ flags: {}, env: {}, config: undefined }, 'http://profile', 'the profile /p.json'],
      [
        { flags: {}, env: {}, config: undefined, profile: undefined },
        'http://127.0.0.1:7420',
        'default',
      ],
    ];
    for (const [without, url, from] of order) {
      const settings = readSettings(['url'], { ...all, ...without });
      expect(settings.url).toBe(url);
      expect(settings.from.url).toBe(from);
    }
  });

  it('have the defaults of the table', () => {
    const names = Object.keys(settingTable) as (keyof typeof settingTable)[];
    const { from, ...values } = readSettings(names, sources());
    expect(values).toEqual({
      url: 'http://127.0.0.1:7420',
      keyFile: undefined,
      project: 'default',
      handlers: '/project/handlers',
      spool: undefined,
      outbox: '/state/interlock/outbox',
      workerId: 'garage.local',
      maxConcurrent: 4,
      pools: ['default'],
      drainTimeoutMs: 600_000,
      stopGraceMs: 10_000,
      pollMaxMs: 15_000,
      transport: 'interlock',
      statusListen: undefined,
      logLevel: 'info',
      logFormat: undefined,
      caFile: undefined,
      insecureHttp: false,
      listen: { host: '127.0.0.1', port: 7420 },
      tlsCert: undefined,
      tlsKey: undefined,
      behindProxy: false,
      pages: 'open',
      data: '/state/interlock/control-plane',
      store: 'sqlite',
      leaseMinMs: 5_000,
      leaseDefaultMs: 30_000,
    });
    expect(new Set(Object.values(from))).toEqual(new Set(['default']));
  });

  it('read every name from its flag and from its variable alike', () => {
    const cases: [keyof typeof settingTable, string, unknown][] = [
      ['drainTimeoutMs', '90s', 90_000],
      ['stopGraceMs', '1', 1_000],
      ['pollMaxMs', '500ms', 500],
      ['leaseMinMs', '3s', 3_000],
      ['leaseDefaultMs', '2h', 7_200_000],
      ['maxConcurrent', '16', 16],
      ['workerId', 'garage-node', 'garage-node'],
      ['project', 'shop', 'shop'],
      ['listen', '[::1]:0', { host: '::1', port: 0 }],
      ['listen', '8080', { host: '127.0.0.1', port: 8080 }],
      ['statusListen', 'localhost:9000', { host: 'localhost', port: 9000 }],
      ['pages', 'key', 'key'],
      ['store', 'memory', 'memory'],
      ['logLevel', 'debug', 'debug'],
      ['logFormat', 'json', 'json'],
      ['insecureHttp', 'true', true],
    ];
    for (const [name, text, value] of cases) {
      const { flag, env } = settingTable[name];
      expect(readSettings([name], sources({ flags: { [flag]: text } }))[name]).toEqual(value);
      expect(readSettings([name], sources({ env: { [env]: text } }))[name]).toEqual(value);
    }
  });

  it('take pools from repeated flags, from commas, from a list in a config file', () => {
    const pools = ['gpu', 'model/llama-3:8b'];
    const config = { file: '/c.json', values: { pool: pools } };
    expect(readSettings(['pools'], sources({ flags: { pool: pools } })).pools).toEqual(pools);
    expect(
      readSettings(['pools'], sources({ env: { INTERLOCK_POOLS: 'gpu, model/llama-3:8b' } })).pools,
    ).toEqual(pools);
    expect(readSettings(['pools'], sources({ config })).pools).toEqual(pools);
  });

  it('take a number of a config file, and treat an empty variable as not set', () => {
    const config = { file: '/c.json', values: { 'max-concurrent': 3 } };
    const env = { INTERLOCK_MAX_CONCURRENT: '' };
    expect(readSettings(['maxConcurrent'], sources({ env, config })).maxConcurrent).toBe(3);
  });

  it('are frozen, lists too', () => {
    const settings = readSettings(['pools', 'url'], sources());
    expect(Object.isFrozen(settings)).toBe(true);
    const given = readSettings(['pools'], sources({ flags: { pool: ['a'] } }));
    expect(Object.isFrozen(given.pools)).toBe(true);
  });

  it('name the setting, where it came from, and what is expected', () => {
    const bad: [keyof typeof settingTable, Partial<SettingSources>, RegExp][] = [
      [
        'drainTimeoutMs',
        { flags: { 'drain-timeout': 'soon' } },
        /^--drain-timeout: "soon" is no duration: write 90s, 10m or 2h/,
      ],
      [
        'drainTimeoutMs',
        { env: { INTERLOCK_DRAIN_TIMEOUT: '-5' } },
        /^INTERLOCK_DRAIN_TIMEOUT: "-5" is no duration/,
      ],
      ['maxConcurrent', { flags: { 'max-concurrent': '0' } }, /"0" must be a whole number from 1/],
      ['maxConcurrent', { flags: { 'max-concurrent': '2.5' } }, /"2.5" must be a whole number/],
      ['maxConcurrent', { flags: { 'max-concurrent': '1e3' } }, /"1e3" must be a whole number/],
      ['workerId', { flags: { 'worker-id': 'a b' } }, /"a b" must be letters/],
      ['pools', { flags: { pool: ['ok', 'a//b'] } }, /"a\/\/b" must be segments/],
      ['transport', { flags: { transport: 'pigeon' } }, /"pigeon" must be interlock/],
      [
        'logLevel',
        { env: { INTERLOCK_LOG_LEVEL: 'loud' } },
        /^INTERLOCK_LOG_LEVEL: "loud" must be debug or info/,
      ],
      ['listen', { flags: { listen: '127.0.0.1:99999' } }, /is no address to listen on/],
      ['pollMaxMs', { flags: { 'poll-max': '0' } }, /must be longer than nothing/],
      ['url', { flags: { url: ['http://a', 'http://b'] } }, /^--url: is given more than once/],
      [
        'insecureHttp',
        { env: { INTERLOCK_INSECURE_HTTP: 'perhaps' } },
        /"perhaps" must be true or false/,
      ],
      [
        'maxConcurrent',
        { config: { file: '/c.json', values: { 'max-concurrent': {} } } },
        /^"max-concurrent" in \/c.json: /,
      ],
    ];
    for (const [name, given, words] of bad) {
      const error = refusal(() => readSettings([name], sources(given)));
      expect(error.code).toBe('SETTING_INVALID');
      expect(error.message).toMatch(words);
      expect(error.hint).toMatch(/^Correct it\. What it is: .+ Default: /);
    }
  });

  it('make a worker id of every host name', () => {
    for (const [hostName, workerId] of [
      ['büro pc', 'b-ro-pc'],
      ['-x', 'x'],
      ['…', 'worker'],
      ['', 'worker'],
    ] as const) {
      const found = readSettings(['workerId'], sources({ around: { ...around, hostName } }));
      expect(found.workerId).toBe(workerId);
    }
  });
});

describe('durations', () => {
  it('read 90s, 10m, 2h, 500ms, 1.5h, 1d and bare seconds', () => {
    const texts = ['90s', '10m', '2h', '500ms', '1.5h', '1d', '90', '0', ' 3 s '];
    expect(texts.map(parseDuration)).toEqual([
      90_000, 600_000, 7_200_000, 500, 5_400_000, 86_400_000, 90_000, 0, 3_000,
    ]);
  });

  it('refuse what is no duration', () => {
    for (const text of ['', 'soon', '-1s', '1 week', '1h30m', '1e3', 'Infinity', '٣s'])
      expect(parseDuration(text)).toBeUndefined();
  });
});
