import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeKey } from '../../src/control-plane/keys.ts';
import { type ServedControlPlane, serveControlPlane } from '../../src/control-plane/serve.ts';
import { openDataFolder } from '../../src/stores/data-folder.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';
import { earlierVersion } from '../stores/earlier-version.ts';
import { bundled, type Child, start } from './child-process.ts';

/** The control plane on real sockets and a real disk, in this process and in others. */

const clock = systemClock();
const random = systemRandom();
const folders: string[] = [];
const served: ServedControlPlane[] = [];
const children: Child[] = [];
const lines: string[] = [];
const line = (event: string, text: string) => void lines.push(`${event} ${text}`);
const log = { debug: line, info: line, warn: line, error: line };

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'interlock-serve-'));
  folders.push(made);
  return made;
}

afterEach(async () => {
  for (const one of served.splice(0)) await one.stop();
  for (const child of children.splice(0)) {
    child.process.kill('SIGKILL');
    await child.ended;
  }
  for (const one of folders.splice(0)) rmSync(one, { recursive: true, force: true });
  lines.length = 0;
});

async function serve(data: string, more = {}): Promise<ServedControlPlane> {
  const one = await serveControlPlane({ listen: '127.0.0.1:0', data, clock, random, log, ...more });
  served.push(one);
  return one;
}

const api = (url: string, path: string, key: string, init: RequestInit & { json?: unknown } = {}) =>
  fetch(`${url}/api/tasks/v1${path}`, {
    ...init,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(init.json === undefined ? {} : { method: 'POST', body: JSON.stringify(init.json) }),
  });
const hello = (more = {}) => ({
  type: 'demo/hello',
  schemaVersion: 1,
  input: { name: 'Ada' },
  ...more,
});

describe('a data folder', () => {
  it('gets an admin key at the first start only, and is for its owner alone', async () => {
    const data = join(folder(), 'data');
    const first = await serve(data);
    expect(first.adminKey).toMatch(/^il_[0-9A-Za-z]{43}$/);
    const doctor = await api(first.url, '/doctor', first.adminKey as string);
    expect(await doctor.json()).toMatchObject({ project: 'default', keyKind: 'admin' });
    expect(statSync(data).mode & 0o777).toBe(0o700);
    for (const name of ['secret', 'control-plane.db', 'control-plane.db-wal', 'lock', 'owner.json'])
      expect(statSync(join(data, name)).mode & 0o077, name).toBe(0);
    await first.stop();
    expect((await serve(data)).adminKey).toBeUndefined();
    expect(lines.join('\n')).not.toContain(first.adminKey);
  });

  it('belongs to one control plane at a time, and to the next as soon as that is gone', async () => {
    const data = folder();
    const first = await serve(data);
    await expect(serve(data)).rejects.toMatchObject({
      code: 'DATA_IN_USE',
      message: expect.stringContaining(`process ${process.pid}`),
      hint: expect.stringContaining('--data'),
    });
    expect((await api(first.url, '/doctor', first.adminKey as string)).status).toBe(200);
    await first.stop();
    await serve(data);
  });

  it('of an earlier program is brought to this version, and the log says that there is no way back', async () => {
    const data = folder();
    const database = new DatabaseSync(join(data, 'control-plane.db'));
    database.exec(earlierVersion(6));
    database.close();
    const upgrades = () => lines.filter((said) => said.startsWith('store.upgraded'));
    await (await serve(data)).stop();
    expect(upgrades()).toEqual([expect.stringContaining('from version 6 to 7')]);
    await (await serve(data)).stop();
    await serve(folder());
    expect(upgrades()).toHaveLength(1);
  });

  it('of a newer program is refused and left alone', async () => {
    const data = folder();
    await (await serve(data)).stop();
    const database = new DatabaseSync(join(data, 'control-plane.db'));
    database.exec('PRAGMA user_version = 99');
    database.close();
    await expect(serve(data)).rejects.toMatchObject({
      code: 'STORE_TOO_NEW',
      message: expect.stringMatching(
        /version 99, this program knows versions up to \d.* Nothing was changed/,
      ),
      hint: expect.stringContaining('copy of the folder'),
    });
    // It gave the folder back.
    await expect(serve(data)).rejects.toMatchObject({ code: 'STORE_TOO_NEW' });
  });

  it('that cannot be one says why and what to do', async () => {
    const file = join(folder(), 'file');
    writeFileSync(file, 'x');
    await expect(serve(file)).rejects.toMatchObject({
      code: 'DATA_UNUSABLE',
      hint: expect.stringContaining('--data'),
    });
    const data = folder();
    writeFileSync(join(data, 'secret'), 'short\n');
    await expect(serve(data)).rejects.toMatchObject({ code: 'DATA_UNUSABLE' });
    await expect(serveControlPlane({ clock, random, log })).rejects.toMatchObject({
      code: 'USAGE',
    });
  });

  it('is not needed for a control plane that forgets', async () => {
    const one = await serve('', { store: 'memory', data: undefined });
    expect((await api(one.url, '/doctor', one.adminKey as string)).status).toBe(200);
  });
});

describe('an address', () => {
  it('in use is told with the next step', async () => {
    const { port } = await serve(folder());
    const refused = folder();
    await expect(serve(refused, { listen: `127.0.0.1:${port}` })).rejects.toMatchObject({
      code: 'ADDRESS_IN_USE',
      message: expect.stringContaining(`127.0.0.1:${port}`),
      hint: expect.stringContaining('--listen'),
    });
    // Nothing was made of which nobody was told a key.
    expect(readdirSync(refused)).toEqual([]);
  });

  it('is a host and a port', async () => {
    for (const listen of ['7420', 'host', '127.0.0.1:99999', '127.0.0.1:-1'])
      await expect(serve(folder(), { listen })).rejects.toMatchObject({ code: 'LISTEN_INVALID' });
    const used = folder();
    await (await serve(used)).stop();
    await expect(serve(used, { listen: '203.0.113.9:0', behindProxy: true })).rejects.toMatchObject(
      {
        code: 'LISTEN_FAILED',
      },
    );
  });

  it('beyond loopback wants TLS, or to be told that a proxy has it', async () => {
    const data = join(folder(), 'data');
    await expect(serve(data, { listen: '0.0.0.0:0' })).rejects.toMatchObject({
      code: 'LISTEN_PLAIN',
      hint: expect.stringMatching(/--tls-cert.*--behind-proxy/),
    });
    await (await serve(data)).stop();
    const one = await serve(data, { listen: '0.0.0.0:0', behindProxy: true });
    expect(one.url).toBe(`http://127.0.0.1:${one.port}`);
    expect(lines.join('\n')).toMatch(/serve.behind-proxy .* without TLS/);
  });

  it('beyond loopback wants keys first, and nothing is made without them', async () => {
    const above = folder();
    const data = join(above, 'data');
    const open = { listen: '0.0.0.0:0', behindProxy: true };
    const refused = {
      code: 'LISTEN_WITHOUT_KEYS',
      hint: expect.stringMatching(
        /interlock keys new "admin" --kind admin --data .*data --create-data\. .*interlock control-plane --data/,
      ),
    };
    await expect(serve(data, open)).rejects.toMatchObject(refused);
    expect(readdirSync(above)).toEqual([]);
    await expect(serve('', { ...open, store: 'memory', data: undefined })).rejects.toMatchObject({
      code: 'LISTEN_WITHOUT_KEYS',
    });
    // One that was used and holds no key (its first start could not show it) is no better.
    const stopped = serve(data, { showKey: () => Promise.reject(new Error('nobody reads it')) });
    await expect(stopped).rejects.toThrow('nobody reads it');
    await expect(serve(data, open)).rejects.toMatchObject(refused);
    const { store, close } = openDataFolder(data, { clock, random, as: 'visitor' });
    await makeKey({ store, random }, { kind: 'admin', project: 'default', name: 'a' });
    await close();
    expect((await serve(data, open)).adminKey).toBeUndefined();
  });

  it('beyond loopback still says that a database was lost', async () => {
    const data = folder();
    await (await serve(data)).stop();
    rmSync(join(data, 'control-plane.db'));
    await expect(serve(data, { listen: '0.0.0.0:0', behindProxy: true })).rejects.toMatchObject({
      code: 'DATA_UNUSABLE',
    });
  });
});

/** A raw socket and what came back on it. */
async function raw(
  port: number,
  text: string,
): Promise<{ socket: Socket; ended: Promise<string> }> {
  const socket = createConnection({ port, host: '127.0.0.1' });
  let got = '';
  socket.on('data', (chunk) => {
    got += chunk;
  });
  socket.on('error', () => {});
  const ended = new Promise<string>((resolve) => socket.once('close', () => resolve(got)));
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write(text);
  return { socket, ended };
}

describe('a peer', () => {
  it('that speaks no HTTP, or too much of it, is told so in the problem shape', async () => {
    const { port } = await serve(folder());
    const nonsense = await raw(port, 'HELLO?\r\n\r\n');
    expect(await nonsense.ended).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"INVALID_REQUEST"/);
    const large = await raw(port, `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`);
    expect(await large.ended).toMatch(/^HTTP\/1\.1 431 [\s\S]*"status":431/);
    const host = await raw(
      port,
      'GET /api/tasks/v1/ HTTP/1.1\r\nHost: a/b\r\nConnection: close\r\n\r\n',
    );
    expect(await host.ended).toMatch(/^HTTP\/1\.1 400 [\s\S]*INVALID_REQUEST/);
  });

  it('with a body over the cap gets its 413, and the connection ends', async () => {
    const { url, adminKey } = await serve(folder());
    const reply = await api(url, '/tasks', adminKey as string, {
      method: 'POST',
      body: JSON.stringify(hello({ input: 'x'.repeat(1_100_000) })),
    });
    expect(reply.status).toBe(413);
    expect(reply.headers.get('connection')).toBe('close');
    expect(await reply.json()).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  });

  it('with a body far over the cap gets its 413 too, with and without a length', async () => {
    const { url, adminKey } = await serve(folder());
    const chunk = new Uint8Array(1_000_000).fill(0x20);
    const chunked = (count: number) =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          if (count-- > 0) controller.enqueue(chunk);
          else controller.close();
        },
      });
    for (let i = 0; i < 5; i++) {
      for (const body of [chunked(13), new Uint8Array(20_000_000).fill(0x20)]) {
        const init = { method: 'POST', body, duplex: 'half' } as RequestInit;
        const reply = await api(url, '/tasks', adminKey as string, init);
        expect(reply.status).toBe(413);
        expect(await reply.json()).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
      }
    }
  });

  it('that stops in the middle of a body over the cap is answered within seconds', async () => {
    const { port, adminKey } = await serve(folder());
    const head = `POST /api/tasks/v1/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${adminKey}\r\nContent-Type: application/json\r\nContent-Length: 2000000\r\n\r\n`;
    const { ended } = await raw(port, `${head}${' '.repeat(1_000)}`);
    expect(await ended).toMatch(/^HTTP\/1\.1 413 [\s\S]*PAYLOAD_TOO_LARGE/);
  }, 20_000);
});

it('stops within 5 s with open streams, a long poll and an idle socket (F12)', async () => {
  const data = folder();
  const { url, port, adminKey = '', stop } = await serve(data);
  const worker = (await (
    await api(url, '/keys', adminKey, { json: { name: 'w', kind: 'task-worker' } })
  ).json()) as { key: string };
  const task = (await (await api(url, '/tasks', adminKey, { json: hello() })).json()) as {
    id: string;
  };
  const streams = await Promise.all([
    api(url, '/events', adminKey),
    api(url, '/hints?workerId=w1&sessionId=s1', worker.key),
  ]);
  for (const { status } of streams) expect(status).toBe(200);
  const bodies = streams.map((stream) => stream.text());
  const watching = api(url, `/tasks/${task.id}/events?after=1&waitMs=30000`, adminKey);
  const idle = await raw(port, 'GET /api/tasks/v1/ HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise((resolve) => idle.socket.once('data', resolve));
  const began = clock.now();
  await stop();
  expect(clock.now() - began).toBeLessThan(5_000);
  for (const body of bodies) expect(await body).toContain('event: ping');
  expect(await (await watching).json()).toEqual({ events: [], seq: 1 });
  await idle.ended;
  await expect(api(url, '/tasks', adminKey)).rejects.toThrow();
  await stop();
  const database = new DatabaseSync(join(data, 'control-plane.db'));
  expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  database.close();
});

describe('processes', { timeout: 60_000 }, () => {
  let script: string;
  let scripts: string;
  beforeAll(async () => {
    scripts = mkdtempSync(join(tmpdir(), 'interlock-child-'));
    script = await bundled('child.ts', scripts);
    return () => rmSync(scripts, { recursive: true, force: true });
  });
  const run = (...args: string[]) => {
    const child = start(script, args);
    children.push(child);
    return child;
  };

  it('makes keys in another process while the control plane runs and works', async () => {
    const data = folder();
    const server = run('serve', data);
    const { url, adminKey } = await server.next<{ url: string; adminKey: string }>();
    let busy = true;
    const load = (async () => {
      while (busy) expect((await api(url, '/tasks', adminKey, { json: hello() })).status).toBe(201);
    })();
    for (let i = 0; i < 3; i++) {
      const { key } = await run('key', data).next<{ key: string }>();
      expect((await api(url, '/tasks', key, { json: hello() })).status).toBe(201);
    }
    busy = false;
    await load;
    server.process.kill('SIGTERM');
    expect(await server.ended).toBe(0);
  });

  it('loses no acknowledged submit when it is killed in the middle of its work (F50)', async () => {
    const data = folder();
    const server = run('serve', data);
    const { url, adminKey } = await server.next<{ url: string; adminKey: string }>();
    const acknowledged: string[] = [];
    const submitters = Array.from({ length: 8 }, async (_, n) => {
      for (let i = 0; ; i++) {
        try {
          const reply = await api(url, '/tasks', adminKey, {
            json: hello({ idempotencyKey: `${n}-${i}` }),
          });
          const body = (await reply.json()) as { id: string };
          if (reply.status === 201) acknowledged.push(body.id);
        } catch {
          return;
        }
        if (acknowledged.length === 300) server.process.kill('SIGKILL');
      }
    });
    await Promise.all(submitters);
    expect(await server.ended).toBe('SIGKILL');
    expect(acknowledged.length).toBeGreaterThanOrEqual(300);
    const again = await serve(data);
    const { store, close } = openDataFolder(data, { clock, random, as: 'visitor' });
    const { key } = await makeKey(
      { store, random },
      { kind: 'task-producer', project: 'default', name: 'p' },
    );
    for (const id of acknowledged) {
      const row = await store.task('default', id);
      expect(row?.task.seq, id).toBe(1);
      expect((await store.events(row?.ref ?? 0, 0, 9)).map(({ kind }) => kind)).toEqual([
        'submitted',
      ]);
    }
    await close();
    // What was in flight may be there or not; sent again it is there once.
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        api(again.url, '/tasks', key, { json: hello({ idempotencyKey: `${n}-0` }) }),
      ),
    );
    for (const { status } of replies) expect([200, 201]).toContain(status);
  });
});
