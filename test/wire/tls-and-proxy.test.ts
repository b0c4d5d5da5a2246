import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/system/clock.ts';
import { openFetch } from '../../src/wire/open-fetch.ts';
import { proxyFromEnvironment } from '../../src/wire/proxy.ts';
import {
  afterTest,
  certificates,
  deadPort,
  httpsPeer,
  openDoor,
  plainCall,
  tcpPeer,
} from './peers.ts';

const caFile = join(certificates, 'authority.pem');
const lookup = () => Promise.resolve(['127.0.0.1']);
const hasIpv6 = Object.values(networkInterfaces()).some((one) =>
  one?.some(({ address }) => address === '::1'),
);
if (!hasIpv6) console.log('This machine has no ::1: a proxy with an IPv6 address is not tried.');

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

  it('trusts what the system trusts, read only when nobody else knows an authority, by all at once', async () => {
    const port = await httpsPeer('right');
    let asked = 0;
    const systemAuthorities = () => {
      asked++;
      return [readFileSync(caFile, 'utf8')];
    };
    const door = openDoor(`https://cp.test:${port}`, { net: { lookup, systemAuthorities } });
    const answers = await Promise.all([1, 2, 3].map(() => door.call(plainCall)));
    expect(answers.map(({ kind }) => kind)).toEqual(['ok', 'ok', 'ok']);
    expect(asked).toBe(1);
    const known = openDoor(`https://cp.test:${port}`, {
      net: { caFile, lookup, systemAuthorities },
    });
    expect(await known.call(plainCall)).toMatchObject({ kind: 'ok' });
    const expired = await httpsPeer('expired');
    const late = openDoor(`https://localhost:${expired}`, { net: { caFile, systemAuthorities } });
    expect(await late.call(plainCall)).toMatchObject({ cause: 'tls' });
    expect(asked).toBe(1);
  });

  it('asks the system once, also where that knows nothing', async () => {
    const port = await httpsPeer('right');
    let asked = 0;
    const systemAuthorities = () => {
      asked++;
      return [];
    };
    const door = openDoor(`https://cp.test:${port}`, { net: { lookup, systemAuthorities } });
    for (const _ of [1, 2]) {
      expect(await door.call(plainCall)).toMatchObject({
        cause: 'tls',
        why: expect.stringContaining('--ca-file'),
      });
    }
    expect(asked).toBe(1);
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
    const damaged = join(mkdtempSync(join(tmpdir(), 'interlock-ca-')), 'damaged.pem');
    afterTest(() => rmSync(dirname(damaged), { recursive: true }));
    writeFileSync(damaged, readFileSync(caFile, 'utf8').replace(/\nM.{40}/, '\nAAAA'));
    for (const file of [join(certificates, 'none.pem'), join(certificates, 'right.key'), damaged]) {
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

  it.each([
    ['cp.test', 'cp.test', 'direct'],
    ['.test', 'cp.test', 'direct'],
    ['test', 'cp.test', 'direct'],
    ['*.test', 'cp.test', 'direct'],
    ['CP.Test:PORT', 'cp.test', 'direct'],
    ['cp.test:1', 'cp.test', 'proxy'],
    ['p.test', 'cp.test', 'proxy'],
    ['other.test', 'cp.test', 'proxy'],
    ['127.0.0.0/8', '127.0.0.1', 'direct'],
    ['127.0.0.1', '127.0.0.1', 'direct'],
    ['127.0.0.1:PORT', '127.0.0.1', 'direct'],
    ['128.0.0.0/1', '127.0.0.1', 'proxy'],
    ['127.0.0.0/8', 'cp.test', 'proxy'],
    ['other.test, *', 'cp.test', 'direct'],
    ['', 'cp.test', 'proxy'],
  ])('with NO_PROXY "%s" %s is reached: %s', async (none, host, way) => {
    const port = await httpsPeer('right');
    const proxy = await proxyPeer();
    const set = { HTTPS_PROXY: proxy.url, NO_PROXY: none.replace('PORT', String(port)) };
    const net = { caFile, lookup, proxy: proxyFromEnvironment(set) };
    const door = openDoor(`https://${host}:${port}`, { net });
    expect(await door.call(plainCall)).toMatchObject({ kind: 'ok' });
    expect(proxy.asked.length).toBe(way === 'direct' ? 0 : 1);
  });

  it.skipIf(!hasIpv6)(
    'may speak TLS itself, with a private authority, and have an IPv6 address',
    async () => {
      const read = (end: string) => readFileSync(join(certificates, `right.${end}`));
      const port = await httpsPeer('right');
      const proxy = createHttps({ key: read('key'), cert: read('pem') });
      const asked: string[] = [];
      proxy.on('connect', ({ url, headers }, socket) => {
        asked.push(`${url} ${headers['proxy-authorization']}`);
        socket.on('error', () => {}).write('HTTP/1.1 200 OK\r\n\r\n');
        const through = connect(port, '127.0.0.1').on('error', () => socket.destroy());
        socket.pipe(through).pipe(socket);
      });
      proxy.listen(0, '::1');
      await once(proxy, 'listening');
      afterTest(() => {
        proxy.closeAllConnections();
        return new Promise((resolve) => proxy.close(resolve));
      });
      const at = (proxy.address() as AddressInfo).port;
      const https = `https://user:p%C3%A4ss@localhost:${at}`;
      const six = () => Promise.resolve(['::1']);
      const door = openDoor(`https://cp.test:${port}`, {
        net: { caFile, proxy: { https }, lookup: six },
      });
      expect(await door.call(plainCall)).toMatchObject({ kind: 'ok' });
      const basic = Buffer.from('user:päss').toString('base64');
      expect(asked).toEqual([`cp.test:${port} Basic ${basic}`]);
      const numbered = openDoor(`https://cp.test:${port}`, {
        net: { caFile, proxy: { https: `https://[::1]:${at}` } },
      });
      // The certificate is not for that address: so far it came.
      expect(await numbered.call(plainCall)).toMatchObject({
        cause: 'tls',
        why: expect.stringContaining(`[::1]:${at} is for other names`),
      });
    },
  );

  it.each([
    [
      '407',
      'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n',
      /refuses its user and password \(407\)/,
    ],
    [
      '407 and another way to sign on',
      'HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate\r\nProxy-Authenticate: NTLM x\r\n\r\n',
      /sign-on by Negotiate, NTLM \(407\), and only Basic/,
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
