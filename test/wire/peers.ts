/** Small servers on ports of their own, for behaviour that lies below HTTP; all end after each test. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../src/system/clock.ts';
import { Door, type DoorOptions } from '../../src/wire/door.ts';
import { constantKey } from '../../src/wire/key.ts';
import { type FetchOptions, openFetch } from '../../src/wire/open-fetch.ts';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** Something to end after the test, last one first. */
export function afterTest(clean: () => unknown): void {
  cleanups.push(clean);
}

export interface Peer {
  readonly port: number;
  readonly url: string;
  readonly sockets: Set<Socket>;
}

export async function httpPeer(listener: RequestListener, host = '127.0.0.1'): Promise<Peer> {
  const server = createServer(listener);
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  afterTest(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return { port, url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`, sockets };
}

export const certificates = join(import.meta.dirname, 'certificates');

/** With the certificate of that name. Default: it answers as `plainCall` takes it. @returns its port. */
export async function httpsPeer(
  name: string,
  listener: RequestListener = (_, response) => response.end(JSON.stringify({ ok: true })),
): Promise<number> {
  const read = (end: string) => readFileSync(join(certificates, `${name}.${end}`));
  const server = createHttps({ key: read('key'), cert: read('pem') }, listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterTest(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

export async function tcpPeer(
  onSocket: (socket: Socket) => void,
  { host = '127.0.0.1', port = 0 } = {},
): Promise<Peer> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onSocket(socket);
  });
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  afterTest(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return { port: address.port, url: `http://${host}:${address.port}`, sockets };
}

/** A port where nobody listens: it was ours a moment ago. */
export async function deadPort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export const KEY = 'il_test_key_0123456789';

export interface Opened extends Partial<Omit<DoorOptions, 'serviceUrl' | 'key'>> {
  readonly net?: Partial<FetchOptions>;
  readonly key?: string;
}

export function openDoor(serviceUrl: string, { net, key = KEY, ...options }: Opened = {}): Door {
  const clock = systemClock();
  const own = openFetch({ clock, ...net });
  afterTest(() => own.close());
  return new Door({ serviceUrl, key: constantKey(key), clock, fetch: own.fetch, ...options });
}

export const anyObject = z.looseObject({ ok: z.boolean() });

/** A plain call that takes 200 `{ok: …}` for a success. */
export const plainCall = {
  method: 'GET',
  path: '/thing',
  statuses: [200],
  schema: anyObject,
} as const;
