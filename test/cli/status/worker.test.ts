import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { exitCodes } from '../../../src/cli/exit-codes.ts';
import type { StatusAnswer } from '../../../src/cli/status/ask.ts';
import {
  judgeStatusFile,
  readStatusFile,
  removeStatusFile,
  writeStatusFile,
} from '../../../src/cli/status/status-file.ts';
import { TaskProducer } from '../../../src/index.ts';
import { systemProcessInfo } from '../../../src/system/process-info.ts';
import { Processes, until } from '../../e2e/processes.ts';
import { startPlane } from '../plane.ts';
import { interlock } from '../run.ts';
import { temporaryFolder } from '../world.ts';
import { readExposition } from './exposition.ts';

// Real processes on a machine that others keep busy.
vi.setConfig({ testTimeout: 60_000 });

let processes: Processes;
beforeEach(() => {
  processes = new Processes(temporaryFolder());
});
afterEach(() => processes.end());

/** Runs until the file in its input is there. */
const WAITS = `import { existsSync } from 'node:fs';
export const effectSafety = 'idempotent';
export default async ({ file }) => {
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 10));
  return 'done';
};
`;

describe('a worker with a status port', () => {
  it('tells all that is asked, at work and while it drains, and leaves nothing behind', async () => {
    const plane = await startPlane();
    const folder = temporaryFolder();
    const [handlers, spool, go] = ['handlers', 'spool', 'go'].map((name) => join(folder, name));
    mkdirSync(handlers as string);
    writeFileSync(join(handlers as string, 'wait@1.mjs'), WAITS);
    const worker = (...args: string[]) =>
      processes.start(
        'interlock-worker',
        [
          ...['--url', plane.url, '--worker-id', 'garage', '--max-concurrent', '2'],
          ...['--handlers', handlers as string, ...args],
        ],
        { cwd: folder, env: plane.env('task-worker') },
      );
    const proc = worker('--spool', spool as string, '--status-listen', '127.0.0.1:0');
    const [, at = ''] = await proc.says(/GET (http:\/\/127\.0\.0\.1:\d+)\/status/);
    const asked = async (path: string) => {
      const answer = await fetch(at + path);
      return { code: answer.status, text: await answer.text() };
    };
    const shown = (...args: string[]) =>
      interlock(['worker', 'status', '--spool', spool as string, ...args]);
    await until(async () => (await asked('/readyz')).code === 200, 'ready');
    expect(await asked('/healthz')).toEqual({ code: 200, text: 'ok\n' });

    // Another one cannot have the port, and says so before it does anything.
    const { host, port } = new URL(at);
    const second = worker('--spool', join(folder, 'other'), '--status-listen', host);

    const producer = new TaskProducer({ serviceUrl: plane.url, key: plane.key('task-producer') });
    const { id } = await producer.submit('wait', 1, { file: go });
    const status = async () => JSON.parse((await asked('/status')).text) as StatusAnswer;
    await until(async () => (await status()).attempts?.[0]?.phase === 'running', 'a handler');
    const people = await shown();
    expect(people.code).toBe(0);
    expect(people.out).toMatch(/^garage is ready \(process \d+, up .*, version /);
    expect(people.out).toMatch(/Ready +yes\n.*Slots +1 of 2 taken\n/s);
    expect(people.out).toMatch(/Drain +would be over in at most 10 min\n.*wait@1 \(idempotent\)/s);
    expect(people.out).toMatch(new RegExp(`running.*wait@1 +${id} +lease \\d+`));
    const programs = JSON.parse((await shown('--json')).out) as StatusAnswer;
    expect(programs).toMatchObject({ workerId: 'garage', pid: proc.pid, ready: true });
    expect(statSync(join(spool as string, 'status.json')).mode & 0o777).toBe(0o600);

    const { code } = await second.ending();
    expect(code).toBe(exitCodes['port-in-use'].code);
    expect(second.err).toMatch(
      new RegExp(`Something already listens on ${host}.*--status-listen`, 's'),
    );
    expect(second.events('worker.ready')).toEqual([]);

    const idle = connect(Number(port), '127.0.0.1').on('error', () => {});
    await once(idle, 'connect');
    proc.kill('SIGTERM');
    await until(async () => (await asked('/readyz')).code === 503, 'not ready');
    expect((await asked('/readyz')).text).toBe('It drains: nothing more is claimed.\n');
    expect((await asked('/healthz')).code).toBe(200);
    expect(await asked('/status')).toMatchObject({ code: 503 });
    const draining = await shown('--json');
    expect(draining.code).toBe(exitCodes['not-ready'].code);
    expect(JSON.parse(draining.out)).toMatchObject({ state: 'draining', ready: false });

    const families = readExposition((await asked('/metrics')).text);
    const value = (name: string) => families.get(`interlock_worker_${name}`)?.samples[0]?.value;
    expect(value('claims_total')).toBe(1);
    expect(value('running')).toBe(1);
    expect(value('draining')).toBe(1);
    expect(value('ready')).toBe(0);

    writeFileSync(go as string, '');
    expect(await proc.ending()).toEqual({ code: 0, signal: null });
    expect((await producer.await(id)).status).toBe('succeeded');
    await producer.close();
    idle.destroy();
    expect(existsSync(join(spool as string, 'status.json'))).toBe(false);
    const gone = await shown();
    expect(gone.code).toBe(exitCodes['not-found'].code);
    expect(gone.err).toMatch(/No worker with a status port .*--status-listen 127\.0\.0\.1:7421/s);
    const nobody = await interlock(['worker', 'status', '--status-listen', host]);
    expect(nobody.code).toBe(exitCodes.unreachable.code);
    expect(nobody.err).toMatch(/nothing listens there/);
  });
});

describe('the file beside the spool', () => {
  it('is stale when its process is gone, or its pid is another process now', async () => {
    const spool = temporaryFolder();
    const info = await systemProcessInfo();
    const where = { host: '127.0.0.1', port: 7421, workerId: 'garage' };
    writeStatusFile(spool, where, info.self);
    const file = readStatusFile(spool);
    if (file === undefined) throw new Error('it is not there');
    expect(file).toMatchObject({ ...where, pid: process.pid });
    if (file.startTime !== undefined) {
      expect(await judgeStatusFile(file, info)).toBe('alive');
      expect(await judgeStatusFile({ ...file, startTime: '1' }, info)).toBe('gone');
    }
    const dead = { ...info, look: async () => ({ alive: false }) };
    expect(await judgeStatusFile(file, dead)).toBe('gone');
    // Of another machine that shares the folder nothing is known.
    expect(await judgeStatusFile({ ...file, hostName: 'x', bootId: 'y' }, dead)).toBe('unknown');

    writeStatusFile(spool, where, { ...info.self, startTime: '1' });
    const shown = await interlock(['worker', 'status', '--spool', spool]);
    expect(shown.code).toBe(exitCodes['not-found'].code);
    expect(shown.err).toMatch(/Worker garage \(process \d+\) is gone/);
  });

  it('is removed by the process that wrote it only', async () => {
    const spool = temporaryFolder();
    const { self } = await systemProcessInfo();
    writeStatusFile(spool, { host: '::1', port: 1, workerId: 'garage' }, self);
    removeStatusFile(spool, self.pid + 1);
    expect(readStatusFile(spool)?.host).toBe('::1');
    removeStatusFile(spool, self.pid);
    expect(readStatusFile(spool)).toBeUndefined();
    writeFileSync(join(spool, 'status.json'), '{"port":"x"');
    expect(readStatusFile(spool)).toBeUndefined();
    expect(readFileSync(join(spool, 'status.json'), 'utf8')).toBe('{"port":"x"');
  });
});
