import { copyFileSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ServedControlPlane, serveControlPlane } from '../../src/control-plane/serve.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';

/** The files of the database are taken away from a control plane that runs. */

const clock = systemClock();
const random = systemRandom();
const lines: { level: string; event: string; text: string }[] = [];
const to = (level: string) => (event: string, text: string) =>
  void lines.push({ level, event, text });
const log = { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') };
const served: ServedControlPlane[] = [];
let base: string;
let data: string;
let file: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'interlock-lost-'));
  data = join(base, 'data');
  file = join(data, 'control-plane.db');
  lines.length = 0;
});
afterEach(async () => {
  for (const one of served.splice(0)) await one.stop();
  rmSync(base, { recursive: true, force: true });
});

async function serve(folder = data): Promise<ServedControlPlane> {
  const one = await serveControlPlane({
    listen: '127.0.0.1:0',
    data: folder,
    clock,
    random,
    log,
  });
  served.push(one);
  return one;
}

async function api(url: string, path: string, key = '', json?: unknown): Promise<Response> {
  return fetch(`${url}/api/tasks/v1${path}`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(json === undefined ? {} : { method: 'POST', body: JSON.stringify(json) }),
  });
}

async function submit({ url }: ServedControlPlane, key: string, name: string) {
  const body = { type: 'demo/hello', schemaVersion: 1, input: {}, idempotencyKey: name };
  const answer = await api(url, '/tasks', key, body);
  return {
    status: answer.status,
    body: (await answer.json()) as { code?: string; detail?: string },
  };
}

const names = async ({ url }: ServedControlPlane, key: string) => {
  const { tasks } = (await (await api(url, '/tasks', key)).json()) as {
    tasks: { idempotencyKey: string }[];
  };
  return tasks.map(({ idempotencyKey }) => idempotencyKey).sort();
};

const lost = () => lines.filter(({ event }) => event === 'store.lost');
const take = (...ends: string[]) => {
  for (const end of ends) rmSync(`${file}${end}`);
};

describe('a database that is removed under a control plane', () => {
  it('is never acknowledged into: everything is refused, told once, and saved beside it', async () => {
    const plane = await serve();
    const key = plane.adminKey as string;
    expect((await submit(plane, key, 'before')).status).toBe(201);
    take('', '-wal', '-shm');
    expect(await submit(plane, key, 'after')).toMatchObject({
      status: 503,
      body: {
        code: 'UNAVAILABLE',
        detail: expect.stringMatching(/^The files of its database were taken away/),
      },
    });
    // Reading too, with a key and without.
    for (const path of ['/tasks', '/doctor', '/'])
      expect((await api(plane.url, path, key)).status, path).toBe(503);
    expect(lost()).toHaveLength(1);
    expect(lost()[0]).toMatchObject({ level: 'error' });
    expect(lost()[0]?.text).toContain(`rename ${file}.rescued to ${file}`);
    await plane.stop();
    expect(plane.loss).toMatchObject({ rescued: true });
    expect(readdirSync(data).sort()).toEqual(['control-plane.db.rescued', 'lock', 'secret']);

    await expect(serve()).rejects.toMatchObject({
      code: 'DATA_UNUSABLE',
      hint: expect.stringContaining(`rename ${file}.rescued`),
    });
    renameSync(`${file}.rescued`, file);
    const next = await serve();
    expect(await names(next, key)).toContain('before');
    expect((await submit(next, key, 'later')).status).toBe(201);
  });

  it('is noticed while nobody calls', async () => {
    await serve();
    take('', '-wal', '-shm');
    await expect.poll(() => lost().length, { timeout: 5_000 }).toBe(1);
    expect(existsSync(`${file}.rescued`)).toBe(true);
  });

  it('cannot be saved where its whole folder is gone, which is told', async () => {
    const plane = await serve();
    rmSync(data, { recursive: true });
    expect((await submit(plane, plane.adminKey as string, 'after')).status).toBe(503);
    await plane.stop();
    expect(plane.loss).toMatchObject({ rescued: false });
    expect(lost()[0]?.text).toContain('could not be saved');
  });

  it('is not written over by what was put in its place', async () => {
    const plane = await serve();
    const key = plane.adminKey as string;
    await submit(plane, key, 'before');
    const other = join(base, 'other.db');
    copyFileSync(file, other);
    renameSync(other, file);
    expect((await submit(plane, key, 'after')).status).toBe(503);
    await plane.stop();
    expect(plane.loss?.error.message).toContain('removed or replaced');
    expect(existsSync(`${file}.rescued`)).toBe(true);
  });
});

describe('a write-ahead log that is removed', () => {
  it('under a control plane: everything is refused, and all that was acknowledged is in the database', async () => {
    const plane = await serve();
    const key = plane.adminKey as string;
    expect((await submit(plane, key, 'before')).status).toBe(201);
    take('-wal');
    expect((await submit(plane, key, 'after')).status).toBe(503);
    expect(lost()[0]?.text).toContain('is safe');
    // What a kill leaves now.
    const copy = killed();
    expect(await names(await serve(copy), key)).toContain('before');
    await plane.stop();
    expect(await names(await serve(), key)).toContain('before');
  });

  it('after a kill: the start refuses until somebody decides', async () => {
    const first = await serve();
    const key = first.adminKey as string;
    await first.stop();
    const plane = await serve();
    await submit(plane, key, 'before');
    const copy = killed();
    rmSync(join(copy, 'control-plane.db-wal'));
    const refused = {
      code: 'DATA_UNUSABLE',
      message: expect.stringContaining('without its -wal file'),
      hint: expect.stringContaining(join(copy, 'owner.json')),
    };
    await expect(serve(copy)).rejects.toMatchObject(refused);
    // Asking twice is no decision.
    await expect(serve(copy)).rejects.toMatchObject(refused);
    rmSync(join(copy, 'owner.json'));
    await expect(serve(copy)).resolves.toBeDefined();
  });

  it('is not missed after an end in order, nor where a kill left it', async () => {
    const plane = await serve();
    const key = plane.adminKey as string;
    await submit(plane, key, 'before');
    expect(await names(await serve(killed()), key)).toEqual(['before']);
    await plane.stop();
    expect(existsSync(`${file}-wal`)).toBe(false);
    expect(await names(await serve(), key)).toEqual(['before']);
  });
});

/** The folder as the end of the process would leave it at this moment. */
function killed(): string {
  const copy = mkdtempSync(join(base, 'copy-'));
  for (const name of readdirSync(data)) copyFileSync(join(data, name), join(copy, name));
  return copy;
}
