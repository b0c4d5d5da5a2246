/** `interlock conformance control-plane` as a program, against a control plane on a real socket. */
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { keyAdvice } from '../../src/conformance/control-plane/given-keys.ts';
import type { KeyKind, TaskView } from '../../src/contract/index.ts';
import { World } from '../e2e/world.ts';
import { faultOfXml } from '../xml.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const KINDS = ['task-worker', 'task-producer', 'task-operator', 'admin'] as const;
const COMMAND = ['conformance', 'control-plane'];

describe('interlock conformance control-plane', () => {
  let world: World;
  beforeAll(async () => {
    world = new World();
    await world.controlPlane(...KINDS);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const keyFile = (kind: KeyKind) => {
    const file = join(world.folder, `${kind}.key`);
    writeFileSync(file, `${world.key(kind)}\n`, { mode: 0o600 });
    return file;
  };
  const kit = (...args: string[]) => world.run([...COMMAND, ...args], withWorkerKey());
  const withWorkerKey = () => ({ env: { INTERLOCK_WORKER_KEY: world.key('task-worker') } });
  const noKeyIn = (...texts: string[]) => {
    for (const text of texts) for (const kind of KINDS) expect(text).not.toContain(world.key(kind));
    for (const text of texts) expect(text).not.toMatch(/il_\w/);
  };

  it('tells the cases and what they check, and plays none', async () => {
    const plain = await world.run([...COMMAND, '--list'], { env: { INTERLOCK_URL: '' } });
    expect(plain.code).toBe(0);
    expect(plain.out).toContain('fencing/wrong-fence');
    const { out } = await kit('--list', '--json', '--only', 'submission/view', '--only', '6.26');
    expect(JSON.parse(out).cases).toEqual([
      {
        name: 'submission/view',
        title: expect.any(String),
        promises: ['6.9', '6.1', '1.4'],
        needs: [],
      },
      expect.objectContaining({ name: 'operator/cancel-after-retry', needs: ['operator-key'] }),
    ]);
  });

  it('tells each case as it is over and ends with 0 when all have passed', async () => {
    const { code, out, err } = await kit('--only', 'service/', '--only', 'cancel/queued');
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^✓ service\/discovery {2}tells its versions/m);
    expect(out).toMatch(/^control-plane http:\/\/127\.0\.0\.1:\d+: 9 passed, 0 failed in /m);
    noKeyIn(out);
  });

  it('takes keys from files, whatever the environment holds', async () => {
    const { code, out } = await world.run(
      [
        ...[...COMMAND, '--only', 'scopes/', '--json'],
        ...['--worker-key-file', keyFile('task-worker')],
        ...['--producer-key-file', keyFile('task-producer')],
        ...['--operator-key-file', keyFile('task-operator')],
        ...['--admin-key-file', keyFile('admin')],
      ],
      { env: { INTERLOCK_PRODUCER_KEY: 'il_wrong', INTERLOCK_ADMIN_KEY: 'il_wrong' } },
    );
    const report = JSON.parse(out);
    expect([code, report.failed, report.skipped]).toEqual([0, 0, 0]);
    expect(report.cases.map(({ name }: { name: string }) => name)).toContain('scopes/operator');
    noKeyIn(out);
  });

  it('takes address and keys from the profile', async () => {
    const cwd = join(world.folder, 'home');
    mkdirSync(join(cwd, '.interlock'), { recursive: true, mode: 0o700 });
    const keys = Object.fromEntries(KINDS.map((kind) => [kind, world.key(kind)]));
    const profile = JSON.stringify({ url: world.url, project: 'default', keys });
    writeFileSync(join(cwd, '.interlock/profile.json'), profile, { mode: 0o600 });
    const args = [...COMMAND, '--only', 'keys/make', '--only', 'operator/retry-failed'];
    const proc = world.processes.start('interlock', args, { cwd });
    expect(await proc.ending(60_000)).toEqual({ code: 0, signal: null });
    expect(proc.out).toContain(': 2 passed, 0 failed in ');
    noKeyIn(proc.out, proc.err);
  });

  it('skips what needs keys that were not given, and says which', async () => {
    const { code, out } = await kit('--only', 'isolation/claims', '--only', 'isolation/pools');
    expect(code).toBe(0);
    expect(out).toContain('skipped, needs keys of another project (--other-worker-key-file');
    expect(out).toContain('1 passed, 0 failed, 1 skipped');
  });

  it('ends with 20 when a case fails, with the promise, what was expected and what came', async () => {
    // Its promise is not kept where another key of the project cannot be told from its own: a rate that is used up.
    const slow = ['keys', 'new', 'slow', '--kind', 'task-producer', '--rate', '6/min', '--json'];
    const made = JSON.parse((await world.run(slow)).out);
    const file = join(world.folder, 'slow.key');
    const junit = join(world.folder, 'report.xml');
    writeFileSync(file, made.key, { mode: 0o600 });
    const args = ['--producer-key-file', file, '--only', 'reading/filters', '--junit', junit];
    const { code, out, err } = await kit(...args);
    expect([code, err]).toEqual([20, '']);
    expect(out).toMatch(/^✗ reading\/filters /m);
    expect(out).toMatch(/^ {2}promise 6\.13 {2}The control plane lists tasks by the filters/m);
    expect(out).toMatch(/was answered 429 .*; expected is 201/);
    const xml = readFileSync(junit, 'utf8');
    expect(faultOfXml(xml)).toBeUndefined();
    expect(xml).toContain('tests="1" failures="1" errors="0" skipped="0"');
    noKeyIn(out, xml);
    const again = await kit(...args, '--json');
    const [verdict] = JSON.parse(again.out).cases;
    expect(verdict).toMatchObject({ name: 'reading/filters', outcome: 'failed' });
    expect(verdict.evidence.join('\n')).toContain('POST /tasks');
    noKeyIn(again.out);
  });

  it('refuses a pattern that fits no case, a key that is refused or of another kind, and a peer that is not there', async () => {
    expect(await kit('--only', 'no/such-case')).toMatchObject({ code: 64 });
    const wrong = await kit('--worker-key-file', keyFile('task-producer'));
    expect(wrong.code).toBe(77);
    expect(wrong.err).toContain('is of kind task-producer; task-worker is needed');
    const unknown = join(world.folder, 'unknown.key');
    writeFileSync(unknown, 'il_nobody', { mode: 0o600 });
    const refused = await kit('--producer-key-file', unknown);
    expect(refused.code).toBe(77);
    expect(refused.err).toContain('The producer key (--producer-key-file) is refused');
    // Nobody gave a flag for it.
    const fromOutside = await world.run([...COMMAND, '--only', 'service/'], {
      env: { INTERLOCK_WORKER_KEY: world.key('task-worker'), INTERLOCK_OPERATOR_KEY: 'il_nobody' },
    });
    expect(fromOutside.err).toContain('The operator key (from INTERLOCK_OPERATOR_KEY) is refused.');
    expect(fromOutside.err).toContain('To leave it out, unset INTERLOCK_OPERATOR_KEY:');
    expect(keyAdvice('admin', 'profile /x/.interlock/profile.json')).toContain(
      'To leave it out, name another profile with --profile or take this key out of it:',
    );
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    const nobody = await kit('--url', `http://127.0.0.1:${port}`, '--only', 'service/');
    expect(nobody.code).toBe(68);
    expect(nobody.err).toContain(
      `No answer from a control plane: 127.0.0.1:${port} refused the connection (ECONNREFUSED): nothing listens there; is the control plane running?\n`,
    );
    noKeyIn(wrong.err, refused.err, nobody.err);
    const nowhere = join(world.folder, 'no/such/folder/report.xml');
    expect(await kit('--only', 'service/', '--junit', nowhere)).toMatchObject({
      code: 74,
      out: '',
    });
  });

  it('says why no case checks a promise', async () => {
    const unseen = await kit('--only', '9.31', '--only', '5.1', '--only', '99.1');
    expect(unseen.code).toBe(64);
    expect(unseen.err).toContain(
      'No case checks 9.31 from outside: a kit cannot start the control plane.',
    );
    expect(unseen.err).toContain('No case of this kit checks 5.1');
    expect(unseen.err).toContain('The contract has no promise 99.1.');
  });

  it.each([
    [
      'a page',
      404,
      'text/html',
      '<!DOCTYPE html><title>Error</title>',
      'answers 404 text/html at GET /api/tasks/v1/: that is no control plane of this contract.',
    ],
    [
      'another API',
      200,
      'application/json',
      '{"hello":1}',
      'answers 200 application/json, without `contracts`, at GET /api/tasks/v1/: that is no control',
    ],
    [
      'another version',
      200,
      'application/json',
      '{"contracts":[2,3]}',
      'speaks version 2, 3 of the contract; this kit checks version 1.',
    ],
  ])('ends with 76 and sends no key where %s answers', async (_, status, type, body, says) => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? 'no key'}`);
      response.writeHead(status, { 'content-type': type }).end(body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const { port } = server.address() as AddressInfo;
      const { code, err, out } = await kit('--url', `http://127.0.0.1:${port}`);
      expect([code, out]).toEqual([76, '']);
      expect(err).toContain(says);
      expect(asked).toEqual(['GET /api/tasks/v1/ no key']);
      noKeyIn(err);
    } finally {
      server.close();
    }
  });

  it('takes away what it made when it is stopped in the middle', async () => {
    const args = [...COMMAND, '--only', 'reading/wait-in-vain', '--only', 'leases/', '--json'];
    const run = world.start(args, withWorkerKey());
    const open = async () => {
      const tasks: TaskView[] = [];
      for await (const task of world.producer.list({ status: ['queued', 'running'] }))
        tasks.push(task);
      return tasks.filter(({ type }) => type.startsWith('conformance/'));
    };
    await vi.waitUntil(async () => (await open()).length > 3, { timeout: 60_000, interval: 50 });
    run.kill('SIGINT');
    expect(await run.ending(60_000)).toEqual({ code: 20, signal: null });
    expect(run.err).toMatch(/The run was stopped: \d+ of \d+ cases had begun/);
    const { failed, stopped } = JSON.parse(run.out);
    expect([failed, stopped > 0]).toEqual([0, true]);
    // Nothing runs on, but what it told.
    for (const { id } of await open()) expect(run.err).toContain(id);
    noKeyIn(run.out, run.err);
  });
});
