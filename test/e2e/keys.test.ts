/** Keys that are changed and revoked under real workers, and a control plane that other machines can reach. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { until } from './processes.ts';
import { LEASE_MS, World } from './world.ts';

interface Made {
  readonly id: string;
  readonly key: string;
}

async function newKey(world: World, name: string, ...more: string[]): Promise<Made> {
  const made = await world.run(['keys', 'new', name, '--kind', 'task-worker', '--json', ...more]);
  expect(made.code, made.err).toBe(0);
  return JSON.parse(made.out);
}

/** As people replace a file: there is never half a key in it. */
function place(file: string, key: string): void {
  writeFileSync(`${file}.new`, `${key}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

const waiting = (world: World, more = {}) => ({
  began: world.path('began'),
  until: world.path('until'),
  ...more,
});

it.concurrent('changes the key of a worker without a restart: no lease is lost, what runs completes', async () => {
  await using world = new World();
  const plane = await world.controlPlane('task-producer', 'admin');
  const file = world.path('worker.key');
  const old = await newKey(world, 'garage, old');
  place(file, old.key);
  const worker = await world.worker({ id: 'garage', max: 2, args: ['--key-file', file] });
  const policy = { leaseMs: LEASE_MS };
  const task = await world.producer.submit('test/wait', 1, waiting(world), { policy });
  await until(() => world.lines('began').length === 1, 'handler');

  const next = await newKey(world, 'garage, new', '--expires', '90d', '--worker-prefix', 'garage');
  place(file, next.key);
  const revoked = await world.run(['keys', 'revoke', 'garage, old']);
  expect(revoked).toMatchObject({ code: 0, out: expect.stringContaining(`revoked  ${old.id}`) });
  expect(revoked.err).toContain('finds another key in its key file goes on');
  // It claims with the new one …
  const second = await world.producer.submit('test/echo', 1, 'with the new key');
  expect((await world.producer.await(second)).status).toBe('succeeded');
  // … and its lease has been renewed more than once.
  await pause(2 * LEASE_MS);
  writeFileSync(world.path('until'), '');
  expect(await world.producer.await(task)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect((await world.journal(task.id)).map(({ kind }) => kind)).toEqual([
    'submitted',
    'leased',
    'started',
    'succeeded',
  ]);
  expect(world.lines('began')).toHaveLength(1);
  expect(worker.running).toBe(true);

  const list = await world.run(['keys', 'list', '--json']);
  const [first, before] = JSON.parse(list.out).keys;
  expect(first).toMatchObject({
    id: next.id,
    state: 'usable',
    limits: { workerIdPrefix: 'garage' },
    lastUsedAt: expect.any(String),
    expiresAt: expect.any(String),
  });
  expect(before).toMatchObject({ id: old.id, state: 'revoked', revokedAt: expect.any(String) });
  expect(plane.events('key.revoked')).toHaveLength(1);
  for (const { key } of [old, next])
    for (const text of [plane.err, worker.err, list.out]) expect(text).not.toContain(key);
  worker.kill('SIGTERM');
  expect((await worker.ending()).code).toBe(0);
});

it.concurrent('ends claims and reports of a revoked key at once; what ran is lost when its lease is over, and another worker does it', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'admin', 'task-worker');
  const file = world.path('worker.key');
  const old = await newKey(world, 'revoked');
  place(file, old.key);
  const worker = await world.worker({ id: 'first', args: ['--key-file', file] });
  const policy = { leaseMs: LEASE_MS };
  const task = await world.producer.submit('test/wait', 1, waiting(world), { policy });
  await world.entry(task.id, 'started');
  // Beside the control plane, as on its machine.
  const data = join(world.folder, 'data');
  const revoked = await world.run(['keys', 'revoke', old.id, '--data', data]);
  expect(revoked.code, revoked.err).toBe(0);
  expect(revoked.err).toContain('ends as lost when the leases run out');
  const answer = await fetch(`${world.url}/api/tasks/v1/doctor`, {
    headers: { authorization: `Bearer ${old.key}` },
  });
  expect(answer.status).toBe(401);
  expect(await answer.json()).toMatchObject({
    code: 'UNAUTHENTICATED',
    keyId: old.id,
    revokedAt: expect.any(String),
  });

  const lost = await world.entry(task.id, 'lost');
  expect(lost.by).toBe('sweeper');
  await world.worker({ id: 'second' });
  await until(() => world.lines('began').length === 2, 'handler of the second worker');
  writeFileSync(world.path('until'), '');
  const done = await world.producer.await(task);
  expect(done).toMatchObject({ status: 'succeeded', attempts: 2, worker: 'second' });
  // The first worker lives, keeps what it owes, and says why it does nothing.
  expect(worker.running).toBe(true);
  await until(() => world.records('reports', 'first').length === 1, 'report that is kept');
  expect(worker.err).toContain(`The key ${old.id} (\\"revoked\\") was revoked`);
});

it.concurrent('is reached from other machines with keys and TLS only', async () => {
  await using world = new World();
  const data = join(world.folder, 'beyond');
  const certificates = join(import.meta.dirname, '../wire/certificates');
  const listen = ['control-plane', '--listen', '0.0.0.0:0', '--data', data];
  const tls = ['--tls-cert', 'right.pem', '--tls-key', 'right.key'];
  const plain = await world.run(listen);
  expect(plain.code).toBe(64);
  expect(plain.err).toMatch(/LISTEN_PLAIN/);
  const empty = await world.run([...listen, ...tls], { cwd: certificates });
  expect(empty.code).toBe(64);
  expect(empty.err).toMatch(/has no keys yet\. Nothing was started or made\./);
  expect(empty.err).toMatch(
    /interlock keys new "admin" --kind admin --data \S+ --create-data\. Or start once on loopback/,
  );
  const wrong = await world.run(['keys', 'new', 'admin', '--kind', 'admin', '--data', data]);
  expect(wrong.code).toBe(66);
  const made = await world.run([
    ...['keys', 'new', 'admin', '--kind', 'admin', '--data', data, '--create-data', '--json'],
  ]);
  expect(made.code, made.err).toBe(0);
  const { key } = JSON.parse(made.out) as Made;
  const plane = world.start([...listen, ...tls], { cwd: certificates });
  const [, port = ''] = await plane.says(/"url":"https:\/\/127\.0\.0\.1:(\d+)"/);
  const list = await world.run(['keys', 'list', '--url', `https://localhost:${port}`], {
    env: {
      INTERLOCK_ADMIN_KEY: key,
      INTERLOCK_CA_FILE: join(certificates, 'authority.pem'),
    },
  });
  expect(list.code, list.err).toBe(0);
  expect(list.out).toMatch(/ID +NAME +KIND +MADE[\s\S]*key_\w+ +admin +admin .* usable +none/);
  plane.kill('SIGTERM');
  expect((await plane.ending()).code).toBe(0);
});
