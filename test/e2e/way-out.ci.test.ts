/**
 * F23 with real processes on both sides: a control plane with TLS of a private authority, and a proxy with a password
 * that leads to it. Every connection is counted where it arrives.
 */
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WayOut } from './connect-proxy.ts';
import { ROOT } from './processes.ts';
import { HANDLERS, World } from './world.ts';

const CERTIFICATES = join(ROOT, 'test', 'wire', 'certificates');
const CA = join(CERTIFICATES, 'authority.pem');
const PASSWORD = 'pä@ss:/#%1';
const USER = `garage:${PASSWORD}`;
/** In no form may it be seen. */
const SECRETS = [
  PASSWORD,
  encodeURIComponent(PASSWORD),
  Buffer.from(USER).toString('base64'),
  'sw0rdfish',
  Buffer.from('garage:sw0rdfish').toString('base64'),
];

let world: World;
let way: WayOut;
let url: string;
const keys: Record<string, string> = {};

beforeAll(async () => {
  world = new World();
  const data = world.path('data');
  const newKey = async (kind: string, ...more: string[]) => {
    const words = ['keys', 'new', kind, '--kind', kind, '--data', data, '--json', ...more];
    const made = await world.run(words);
    expect(made.code, made.err).toBe(0);
    keys[kind] = JSON.parse(made.out).key;
  };
  await newKey('task-producer', '--create-data');
  await newKey('task-worker');
  const plane = world.processes.start('interlock', [
    ...['control-plane', '--listen', '127.0.0.1:0', '--data', data],
    ...['--tls-cert', join(CERTIFICATES, 'right.pem')],
    ...['--tls-key', join(CERTIFICATES, 'right.key')],
  ]);
  const [, port] = await plane.says(/"url":"https:\/\/[^":]+:(\d+)"/);
  way = await WayOut.open(Number(port), USER);
  url = `https://localhost:${way.port}`;
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await way[Symbol.asyncDispose]();
});

/** A person's command; nothing that it says may hold a password or a key. */
async function run(words: readonly string[], env: Record<string, string>) {
  const ran = await world.run([...words, '--url', url], {
    cwd: world.folder,
    env: { INTERLOCK_PRODUCER_KEY: keys['task-producer'] ?? '', ...env },
  });
  hidden(ran.out + ran.err);
  return ran;
}

function hidden(text: string): void {
  for (const secret of [...SECRETS, ...Object.values(keys)]) expect(text).not.toContain(secret);
}

interface Line {
  readonly name: string;
  readonly state: string;
  readonly says: string;
  readonly fix?: string;
}

async function doctor(env: Record<string, string>, ...more: string[]) {
  const { out, err, code } = await run(['tasks', 'doctor', '--json', ...more], env);
  const { checks } = JSON.parse(out) as { checks: Line[] };
  return { code, err, of: (name: string) => checks.find((check) => check.name === name) };
}

/** Its settings stand in a file, whose paths begin at the file's own folder. */
function launch(proxy: string) {
  const config = world.path('worker.toml');
  const lines = [
    `url = "${url}"`,
    'worker-id = "garage"',
    'spool = "spool"',
    'ca-file = "authority.pem"',
    'log-level = "debug"',
    'poll-max = "60s"',
  ];
  writeFileSync(config, lines.join('\n'));
  copyFileSync(CA, world.path('authority.pem'));
  return world.processes.start('interlock-worker', ['--config', config, '--handlers', HANDLERS], {
    env: { INTERLOCK_WORKER_KEY: keys['task-worker'] ?? '', HTTPS_PROXY: proxy },
  });
}

it('F23 a worker and a command work through the proxy with a private authority, and nothing goes past it', async () => {
  const worker = launch(way.proxy(USER));
  await worker.event('worker.ready');
  const words = ['tasks', 'submit', 'test/echo', '--input', '"out"', '--wait', '--json'];
  const env = { https_proxy: way.proxy(USER), HTTPS_PROXY: 'http://127.0.0.1:9' };
  const done = await run(words, { ...env, NODE_EXTRA_CA_CERTS: CA });
  expect(done.code, done.err).toBe(0);
  const looked = await doctor({ ...env, NODE_EXTRA_CA_CERTS: CA });
  expect(looked.of('proxy')).toEqual({
    name: 'proxy',
    state: 'ok',
    says: `through http://127.0.0.1:${way.proxyPort} (https_proxy)`,
  });
  expect(looked.of('tls')?.state).toBe('ok');
  expect(looked.of('hints')?.state).toBe('ok');
  worker.kill('SIGTERM');
  expect(await worker.ending()).toEqual({ code: 0, signal: null });
  hidden(worker.out + worker.err);
  // Claims and reports, renewals, hints of the worker; the command's and doctor's own.
  expect(way.came.tunnelled).toBeGreaterThanOrEqual(5);
  expect(way.came.direct).toBe(0);
  expect(way.asked.length).toBe(way.came.tunnelled);
  for (const head of way.asked) {
    expect(head).toMatch(/^CONNECT localhost:\d+ HTTP\/1\.1\r\n/);
    expect(head).not.toContain('il_');
  }
});

it('F23 trusts an authority that is installed in the system, and NO_PROXY is heeded', async () => {
  const before = way.asked.length;
  const env = { HTTPS_PROXY: way.proxy(USER), NO_PROXY: 'localhost', SSL_CERT_FILE: CA };
  const { of, code } = await doctor(env);
  expect(of('proxy')).toEqual({
    name: 'proxy',
    state: 'skip',
    says: 'direct: NO_PROXY names localhost',
  });
  expect(of('tls')?.state).toBe('ok');
  expect(code).toBe(0);
  expect(way.asked.length).toBe(before);
  expect(way.came.direct).toBeGreaterThan(0);
});

it('F23 a proxy that refuses the password is named with its variable by doctor and worker, without the password', async () => {
  const wrong = way.proxy('garage:sw0rdfish');
  const worker = launch(wrong);
  await worker.says(/refuses its user and password \(407\)/);
  const { of, code, err } = await doctor(
    { ALL_PROXY: wrong, INTERLOCK_LOG_LEVEL: 'debug', INTERLOCK_CA_FILE: CA },
    '--debug',
  );
  expect(code).toBe(20);
  expect(err).toBe('');
  expect(of('proxy')).toEqual({
    name: 'proxy',
    state: 'fail',
    says: `The proxy http://127.0.0.1:${way.proxyPort} (ALL_PROXY) refuses its user and password (407): write them into the proxy's address.`,
    fix: expect.stringMatching(
      /^Write ALL_PROXY as http:\/\/user:password@127\.0\.0\.1:\d+ .*@ is %40.*name localhost in NO_PROXY/,
    ),
  });
  const list = await run(['tasks', 'list', '--debug'], { HTTPS_PROXY: wrong });
  expect(list.code).toBe(68);
  expect(list.err).toMatch(/\(HTTPS_PROXY\) refuses its user and password \(407\)/);
  worker.kill('SIGTERM');
  expect(await worker.ending()).toMatchObject({ code: 0 });
  expect(worker.err).toContain('(HTTPS_PROXY)');
  hidden(worker.out + worker.err);
});
