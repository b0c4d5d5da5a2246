import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/system/clock.ts';
import { openFetch } from '../../src/wire/open-fetch.ts';
import { afterTest, deadPort, openDoor, plainCall, tcpPeer } from './peers.ts';

const folder = join(import.meta.dirname, 'certificates');
const caFile = join(folder, 'authority.pem');
const lookup = () => Promise.resolve(['127.0.0.1']);
const OK = JSON.stringify({ ok: true });

async function httpsPeer(name: string): Promise<number> {
  const read = (end: string) => readFileSync(join(folder, `${name}.${end}`));
  const server = createHttps({ key: read('key'), cert: read('pem') }, (_, response) =>
    response.end(OK),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterTest(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** A proxy that opens a tunnel where `answer` lets it; tells what it was asked. */
async function proxyPeer(answer: (head: string) => string = () => 'HTTP/1.1 200 OK\r\n\r\n') {
  const asked: string[] = [];
  const peer = await tcpPeer((socket) =>
    socket.once('data', (bytes) => {
      const head = bytes.toString();
      asked.push(head);
      const said = answer(head);
      socket.write(said);
      if (!said.startsWith('HTTP/1.1 200')) return;
      const through = connect(Number(/:(\d+) HTTP/.exec(head)?.[1]), '127.0.0.1');
      through.on('error', () => socket.destroy());
      socket.pipe(through).pipe(socket);
      socket.once('close', () => through.destroy());
    }),
  );
  return { ...peer, asked };
}

describe('https', () => {
  it('trusts a private authority from its file, on every connection', async () => {
    const port = await httpsPeer('right');
    const door = openDoor(`https://cp.test:${port}`, { net: { caFile, lookup } });
    const answers = await Promise.all([1, 2, 3].map(() => door.call(plainCall)));
    expect(answers.map(({ kind }) => kind)).toEqual(['ok', 'ok', 'ok']);
  });

  it.each([
    ['an authority that nobody knows', 'right', undefined, '--ca-file'],
    ['another name', 'other', caFile, 'for other names'],
    ['a certificate that is over', 'expired', caFile, 'has expired'],
  ])('tells %s', async (_, name, file, words) => {
    const port = await httpsPeer(name);
    const door = openDoor(`https://localhost:${port}`, { net: { caFile: file } });
    expect(await door.call(plainCall)).toMatchObject({
      kind: 'no-answer',
      cause: 'tls',
      why: expect.stringContaining(words),
    });
  });

  it('tells a port that speaks plain http', async () => {
    const peer = await tcpPeer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const answer = await openDoor(`https://127.0.0.1:${peer.port}`).call(plainCall);
    expect(answer).toMatchObject({ cause: 'tls', why: expect.stringContaining('http://') });
  });

  it('refuses a CA file that holds no certificate or is not there', () => {
    const clock = systemClock();
    for (const file of [join(folder, 'none.pem'), join(folder, 'right.key')]) {
      expect(() => openFetch({ clock, caFile: file })).toThrow(
        expect.objectContaining({ code: 'CA_FILE_UNREADABLE' }),
      );
    }
  });
});

describe('a proxy', () => {
  it('is asked for a tunnel, with its user and password, and never sees the key', async () => {
    const port = await httpsPeer('right');
    const proxy = await proxyPeer();
    const https = `http://user:s%40cret@127.0.0.1:${proxy.port}`;
    // Only the proxy can find the name.
    const nowhere = () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' }));
    const net = { caFile, proxy: { https }, lookup: nowhere };
    const door = openDoor(`https://cp.test:${port}`, { net });
    expect(await door.call(plainCall)).toMatchObject({ kind: 'ok' });
    expect(proxy.asked).toEqual([
      expect.stringMatching(new RegExp(`^CONNECT cp\\.test:${port} HTTP/1\\.1\r\n`)),
    ]);
    expect(proxy.asked[0]).toContain(`Proxy-Authorization: Basic ${btoa('user:s@cret')}`);
    expect(proxy.asked[0]).not.toContain('il_');
  });

  it('is passed by for what NO_PROXY names', async () => {
    const port = await httpsPeer('right');
    const proxy = await proxyPeer();
    const net = { caFile, lookup, proxy: { https: proxy.url, none: '.test' } };
    const door = openDoor(`https://cp.test:${port}`, { net });
    expect(await door.call(plainCall)).toMatchObject({ kind: 'ok' });
    expect(proxy.asked).toEqual([]);
  });

  it.each([
    [
      '407',
      'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n',
      /refuses its user and password \(407\)/,
    ],
    ['403', 'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n', /opened no tunnel.*403/],
    ['no HTTP', 'SSH-2.0-x\r\n\r\n', /no HTTP/],
  ])('that answers %s is named as the cause, without its password', async (_, said, words) => {
    const proxy = await proxyPeer(() => said);
    const https = `http://user:s3cret@127.0.0.1:${proxy.port}`;
    const door = openDoor('https://cp.test', { net: { proxy: { https } } });
    const answer = await door.call(plainCall);
    expect(answer).toMatchObject({ kind: 'no-answer', cause: 'proxy' });
    expect(answer).toHaveProperty('why', expect.stringMatching(words));
    expect(answer).toHaveProperty('why', expect.stringContaining(String(proxy.port)));
    expect(JSON.stringify(answer)).not.toContain('s3cret');
  });

  it('that is not there is named as the cause', async () => {
    const https = `http://127.0.0.1:${await deadPort()}`;
    const door = openDoor('https://cp.test', { net: { proxy: { https } } });
    expect(await door.call(plainCall)).toMatchObject({
      cause: 'proxy',
      why: expect.stringMatching(/proxy .* could not be reached: .*ECONNREFUSED/),
    });
  });

  it('of another kind is named as the cause', async () => {
    const door = openDoor('https://cp.test', { net: { proxy: { https: 'socks5://u:pw@s.test' } } });
    const answer = await door.call(plainCall);
    expect(answer).toMatchObject({
      cause: 'proxy',
      why: expect.stringContaining('socks5://s.test'),
    });
    expect(JSON.stringify(answer)).not.toContain('pw');
  });

  it('that closes without a word is named as the cause', async () => {
    const proxy = await tcpPeer((socket) => socket.once('data', () => socket.end()));
    const door = openDoor('https://cp.test', { net: { proxy: { https: proxy.url } } });
    expect(await door.call(plainCall)).toMatchObject({ cause: 'proxy' });
  });
});
