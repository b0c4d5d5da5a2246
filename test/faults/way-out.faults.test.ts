/** F23: a control plane behind TLS of a private authority that only a CONNECT proxy can reach. */
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { type Fcp, startFcp } from '../../src/fcp/fcp.ts';
import { ROOT, until } from '../e2e/processes.ts';
import { World } from '../e2e/world.ts';
import { missing } from './needs.ts';

const CERTIFICATES = join(ROOT, 'test', 'wire', 'certificates');
const CA = join(CERTIFICATES, 'authority.pem');
const USER = 'worker:open sesame';

/** Servers of one test. */
class Way implements AsyncDisposable {
  readonly world = new World();
  /** Heads of what the proxy was asked. */
  readonly asked: string[] = [];
  fcp!: Fcp;
  url = '';
  #proxy = '';
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();

  static async open(): Promise<Way> {
    const way = new Way();
    way.fcp = await startFcp({ keys: ['il_way'] });
    const behind = Number(new URL(way.fcp.url).port);
    const read = (end: string) => readFileSync(join(CERTIFICATES, `right.${end}`));
    const front = createTlsServer({ key: read('key'), cert: read('pem') }, (socket) =>
      way.#join(socket, behind),
    );
    const port = await way.#listen(front);
    way.url = `https://cp.test:${port}`;
    const proxy = createServer((socket) => {
      way.#keep(socket);
      socket.once('data', (bytes) => {
        const head = bytes.toString();
        way.asked.push(head);
        const user = /^proxy-authorization: basic (.+)$/im.exec(head)?.[1] ?? '';
        if (Buffer.from(user, 'base64').toString() !== USER) {
          socket.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n');
          return;
        }
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        way.#join(socket, port);
      });
    });
    way.#proxy = `127.0.0.1:${await way.#listen(proxy)}`;
    return way;
  }

  /** The proxy's address with a user and a password. */
  proxy(user: string): string {
    return `http://${user.split(':').map(encodeURIComponent).join(':')}@${this.#proxy}`;
  }

  async #listen(server: Server): Promise<number> {
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  #join(socket: Socket, port: number): void {
    const onward = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [this.#keep(socket), onward],
      [this.#keep(onward), socket],
    ] as const)
      one.once('close', () => other.destroy());
    socket.pipe(onward).pipe(socket);
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket);
    return socket.on('error', () => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]();
    for (const socket of this.#sockets) socket.destroy();
    for (const server of this.#servers) server.close();
    await this.fcp.stop();
  }
}

describe.skipIf(missing())('F23: where only a proxy leads out', () => {
  it.concurrent.each(['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY'])(
    'claims, reports and hints go through the one that %s names, and it never sees the key',
    async (variable) => {
      await using way = await Way.open();
      const { fcp, world } = way;
      const env = { INTERLOCK_WORKER_KEY: 'il_way', [variable]: way.proxy(USER) };
      const worker = await world.worker({ url: way.url, args: ['--ca-file', CA], env });
      await fcp.hints.opened();
      const task = fcp.offer({ type: 'test/echo', effectSafety: 'pure', input: 'through' });
      await task.accepted('complete', { timeoutMs: 20_000 });
      worker.kill('SIGTERM');
      expect(await worker.ending()).toMatchObject({ code: 0 });
      // One for calls and one for hints at least.
      expect(way.asked.length).toBeGreaterThanOrEqual(2);
      for (const head of way.asked) {
        expect(head).toMatch(/^CONNECT cp\.test:\d+ /);
        expect(head).not.toContain('il_');
      }
      expect(worker.err).not.toMatch(/sesame|il_way/);
      expect(fcp.violations).toEqual([]);
    },
  );

  it.concurrent('doctor names the proxy that asks for another password, and shows none', async () => {
    await using way = await Way.open();
    const env = { INTERLOCK_WORKER_KEY: 'il_way', HTTPS_PROXY: way.proxy('worker:swordfish') };
    const args = ['tasks', 'doctor', '--url', way.url, '--ca-file', CA];
    const { code, out, err } = await way.world.run(args, { env, cwd: way.world.folder });
    expect(code).toBe(20);
    expect(out).toMatch(/^fail +proxy .*refuses its user and password \(407\)/m);
    expect(out + err).not.toMatch(/swordfish|il_way/);
  });

  it.concurrent.each([
    ['cp.test', false],
    ['.test', false],
    ['*', false],
    ['other.test, 10.0.0.0/8', true],
  ])('NO_PROXY=%s is heeded', async (none, asked) => {
    await using way = await Way.open();
    const env = {
      INTERLOCK_PRODUCER_KEY: 'il_way',
      HTTPS_PROXY: way.proxy(USER),
      NO_PROXY: none,
    };
    const args = ['tasks', 'doctor', '--url', way.url, '--ca-file', CA];
    const { out } = await way.world.run(args, { env, cwd: way.world.folder });
    await until(() => out !== '', 'words of doctor');
    expect(way.asked.length > 0).toBe(asked);
    // Whom curl was told is not whom we were told.
    if (!asked) expect(out).toMatch(/^fail +name +.*"cp\.test".*\n.*set HTTPS_PROXY\.$/m);
  });
});
