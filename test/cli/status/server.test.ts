import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CollectingLog } from '../../../sim/log.ts';
import { hostAllowed } from '../../../src/cli/status/host-guard.ts';
import { type Pages, serveStatus, text } from '../../../src/cli/status/server.ts';
import { statusDefaults } from '../../../src/core/defaults.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { isLoopback } from '../../../src/wire/service-url.ts';

/** The status port over real sockets. */
async function open(
  pages: Pages,
  limits: Partial<Record<keyof typeof statusDefaults, number>> = {},
  host = '127.0.0.1',
) {
  const log = new CollectingLog(() => 0);
  const server = await serveStatus({ host, port: 0 }, pages, {
    clock: systemClock(),
    log,
    limits: { ...statusDefaults, ...limits },
  });
  onTestFinished(() => server.close());
  return { server, log, at: `http://127.0.0.1:${server.port}` };
}

const PAGES: Pages = {
  '/healthz': () => text(200, 'ok'),
  '/readyz': () => text(503, 'It drains.'),
};

/** Sends bytes, and resolves with all that came until the connection ended. */
async function raw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let got = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    got += chunk;
  });
  socket.on('error', () => {});
  socket.write(bytes);
  await once(socket, 'close');
  return got;
}

/** Resolves when it answers. */
async function healthy(at: string): Promise<void> {
  const status = async () => (await fetch(`${at}/healthz`).catch(() => undefined))?.status;
  await expect.poll(status, { timeout: 10_000 }).toBe(200);
}

describe('the status port', () => {
  it('answers GET and HEAD, takes a query, and says what else there is', async () => {
    const { at } = await open(PAGES);
    const ok = await fetch(`${at}/healthz?verbose`);
    expect([ok.status, await ok.text()]).toEqual([200, 'ok\n']);
    const not = await fetch(`${at}/readyz`);
    expect([not.status, await not.text()]).toEqual([503, 'It drains.\n']);
    const head = await fetch(`${at}/healthz`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '3']);
    expect(head.headers.get('access-control-allow-origin')).toBeNull();
    const none = await fetch(`${at}/`);
    expect([none.status, await none.text()]).toEqual([
      404,
      'There is only GET /healthz, /readyz.\n',
    ]);
    for (const path of ['/constructor', '/healthz/', '//healthz'])
      expect((await fetch(at + path)).status, path).toBe(404);
  });

  it('changes nothing for anybody: other methods and bodies are refused', async () => {
    const { at, server } = await open(PAGES);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await fetch(`${at}/healthz`, { method });
      expect([answer.status, answer.headers.get('allow')], method).toEqual([405, 'GET, HEAD']);
    }
    const body = 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\n\r\nbody';
    expect(await raw(server.port, body)).toMatch(/^HTTP\/1\.1 400 .*takes no body/s);
  });

  it('answers to addresses and localhost only, so that no foreign page reads it', async () => {
    const { server } = await open(PAGES);
    expect(server.loopback).toBe(true);
    const asked = (host: string) =>
      raw(server.port, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(await asked('evil.example:7421')).toMatch(/^HTTP\/1\.1 403 /);
    expect(await asked('localhost')).toMatch(/^HTTP\/1\.1 200 /);
    expect(await raw(server.port, 'GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('cuts who is slow with a request, or sends a large head', async () => {
    const limits = { headersMs: 150, requestMs: 150, checkEveryMs: 25 };
    const { server } = await open(PAGES, limits);
    expect(await raw(server.port, 'GET /healthz HTT')).toMatch(/^HTTP\/1\.1 408 /);
    const head = `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(9_000)}\r\n\r\n`;
    expect(await raw(server.port, head)).toMatch(/^HTTP\/1\.1 431 /);
  });

  it('cuts who takes no answer, so that others have their turn', async () => {
    const bytes = 32 * 1_048_576;
    const big = () => ({ ...text(200, ''), body: 'x'.repeat(bytes) });
    const { at, server } = await open({ ...PAGES, '/big': big }, { answerMs: 300, connections: 1 });
    const slow = connect(server.port, '127.0.0.1');
    slow.on('error', () => {});
    slow.write('GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(slow, 'readable');
    await healthy(at);
    let got = 0;
    slow.on('data', (chunk: Buffer) => {
      got += chunk.byteLength;
    });
    await once(slow, 'close');
    expect(got).toBeLessThan(bytes);
  });

  it('takes so many connections; beyond them who has said nothing for the longest gives way', async () => {
    const { at, server } = await open(PAGES, { connections: 2 });
    const idle = [0, 1].map(() => connect(server.port, '127.0.0.1'));
    for (const socket of idle) {
      socket.on('error', () => {});
      socket.write('GET /healthz HTTP/1.1\r\n');
    }
    await Promise.all(idle.map((socket) => once(socket, 'connect')));
    const gone = once(idle[0] as Socket, 'close');
    expect((await fetch(`${at}/healthz`)).status).toBe(200);
    await gone;
    expect(idle[1]?.destroyed).toBe(false);
    idle[1]?.destroy();
  });

  it('goes on when a page fails, and says so', async () => {
    const broken = () => {
      throw new Error('no such thing');
    };
    const { at, log } = await open({ ...PAGES, '/metrics': broken });
    expect((await fetch(`${at}/metrics`)).status).toBe(500);
    expect(log.text()).toContain('no such thing');
    expect((await fetch(`${at}/healthz`)).status).toBe(200);
  });

  it('waits a moment for a port that is just being given back, and then says who is to blame', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const listen = { host: '127.0.0.1', port };
    const limits = { ...statusDefaults, portWaitMs: 50, portRetryMs: 10 };
    const around = { clock: systemClock(), log: new CollectingLog(() => 0) };
    await expect(serveStatus(listen, PAGES, { ...around, limits })).rejects.toMatchObject({
      code: 'ADDRESS_IN_USE',
      message: expect.stringContaining(`127.0.0.1:${port}`),
      hint: expect.stringContaining('--status-listen'),
    });
    // More tries than Node allows listeners before it warns of a leak.
    const warned: string[] = [];
    const warn = (warning: Error) => warned.push(warning.name);
    process.on('warning', warn);
    onTestFinished(() => void process.off('warning', warn));
    let tries = 0;
    const clock = Object.assign(Object.create(systemClock()), {
      now: () => tries,
      sleep: async () => ++tries > 0,
    });
    const patient = { ...statusDefaults, portWaitMs: EventEmitter.defaultMaxListeners + 5 };
    await expect(
      serveStatus(listen, PAGES, { ...around, clock, limits: patient }),
    ).rejects.toMatchObject({ code: 'ADDRESS_IN_USE' });
    await new Promise(setImmediate);
    expect(tries).toBe(patient.portWaitMs);
    expect(warned).toEqual([]);
    const later = serveStatus(listen, PAGES, around);
    other.close();
    const server = await later;
    expect(server.port).toBe(port);
    await server.close();
    await expect(
      serveStatus({ host: '203.0.113.1', port: 0 }, PAGES, around),
    ).rejects.toMatchObject({ code: 'LISTEN_FAILED' });
  });
});

it.each([
  ['127.0.0.1', '127.0.0.1:7421', true],
  ['127.0.0.1', 'localhost:7421', true],
  ['127.0.0.1', 'app.localhost', true],
  ['127.0.0.1', '[::1]:7421', true],
  ['127.0.0.1', '10.0.0.7', true],
  ['127.0.0.1', undefined, true],
  ['127.0.0.1', 'evil.example', false],
  ['127.0.0.1', 'evil.example:7421', false],
  ['127.0.0.1', '127.0.0.1.evil.example', false],
  ['127.0.0.1', 'localhost.evil.example', false],
  ['127.0.0.1', '', false],
  ['127.0.0.1', '127.0.0.1:7421/x', false],
  ['localhost', 'localhost', true],
  ['garage.localhost', 'GARAGE.localhost:1', true],
  // Beyond this machine any name may lead to it.
  ['0.0.0.0', 'garage.example:7421', true],
  ['10.0.0.7', 'garage', true],
])('listening on %s, a request for %s: %s', (host, header, allowed) => {
  const loopback = isLoopback(host);
  expect(hostAllowed(header, { host, loopback })).toBe(allowed);
});
