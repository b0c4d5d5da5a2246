import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:https';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { openClient } from '../../src/client/open-client.ts';
import { type ServedControlPlane, serveControlPlane } from '../../src/control-plane/serve.ts';
import { CertificateLoop, readCertificate } from '../../src/control-plane/tls-files.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';

/** The control plane's own TLS. */

const certificates = join(import.meta.dirname, '../wire/certificates');
const caFile = join(certificates, 'authority.pem');
const clock = systemClock();
const random = systemRandom();
let folder: string;
let served: ServedControlPlane[];
let lines: string[];
let told: () => void = () => {};
const line = (event: string, text: string) => {
  lines.push(`${event} ${text}`);
  told();
};
const log = { debug: line, info: line, warn: line, error: line };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'interlock-tls-'));
  served = [];
  lines = [];
});
afterEach(async () => {
  for (const one of served) await one.stop();
  rmSync(folder, { recursive: true, force: true });
});

const given = (name: string) => ({
  certFile: join(certificates, `${name}.pem`),
  keyFile: join(certificates, `${name}.key`),
});

/** Files of this test's own, which it may replace. */
function placed(name: string) {
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
  copyFileSync(given(name).certFile, files.certFile);
  copyFileSync(given(name).keyFile, files.keyFile);
  chmodSync(files.keyFile, 0o600);
  return files;
}

async function serve(more: object): Promise<ServedControlPlane> {
  const one = await serveControlPlane({
    listen: '127.0.0.1:0',
    store: 'memory',
    clock,
    random,
    log,
    ...more,
  });
  served.push(one);
  return one;
}

/** The certificate that a peer shows now, whoever signed it. */
function shownBy(port: number): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

function logged(words: RegExp): Promise<string> {
  return new Promise((resolve) => {
    told = () => {
      const found = lines.find((one) => words.test(one));
      if (found) resolve(found);
    };
    told();
  });
}

describe('https', () => {
  it('is spoken with the given certificate, and our clients work over it', async () => {
    const { url, adminKey = '' } = await serve({ tls: given('right') });
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const open = openClient({ serviceUrl: url, key: adminKey, caFile }, { clock, random });
    expect(await open.client.doctor()).toMatchObject({ keyKind: 'admin' });
    await open.close();
  });

  it('tells a private key that others may read, and none that a group may', async () => {
    const files = placed('right');
    chmodSync(files.keyFile, 0o640);
    await serve({ tls: files });
    expect(lines.join()).not.toContain('tls.key-kept-openly');
    chmodSync(files.keyFile, 0o644);
    await serve({ tls: files });
    expect(lines.join()).toContain(
      `${files.keyFile} is open to other users of this machine (mode 0644)`,
    );
  });

  it('is of version 1.2 at least', async () => {
    const { port } = await serve({ tls: given('right') });
    const versions = await Promise.all(
      (['TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const).map(
        (version) =>
          new Promise((resolve) => {
            const socket = connect(
              {
                port,
                host: '127.0.0.1',
                rejectUnauthorized: false,
                minVersion: version,
                maxVersion: version,
                // Else this end would refuse the old one by itself.
                ciphers: 'DEFAULT@SECLEVEL=0',
              },
              () => {
                resolve(socket.getProtocol());
                socket.destroy();
              },
            );
            socket.on('error', () => resolve('refused'));
          }),
      ),
    );
    expect(versions).toEqual(['refused', 'TLSv1.2', 'TLSv1.3']);
  });

  it('ends streams and answers in order when it stops', async () => {
    const { port, adminKey, stop } = await serve({ tls: given('right') });
    const stream = new Promise<string>((resolve, reject) => {
      const call = request(
        {
          port,
          host: '127.0.0.1',
          path: '/api/tasks/v1/events',
          rejectUnauthorized: false,
          headers: { authorization: `Bearer ${adminKey}` },
        },
        (response) => {
          let got = '';
          response.on('data', (chunk) => {
            got += chunk;
            void stop();
          });
          response.on('end', () => resolve(got));
        },
      );
      call.on('error', reject);
      call.end();
    });
    expect(await stream).toContain('event: ping');
  });

  it('gives no time to a peer that never shakes hands, or speaks plain http', async () => {
    const { port } = await serve({ tls: given('right'), socket: { headersMs: 200 } });
    const peer = (text: string) =>
      new Promise<string>((resolve) => {
        const socket = createConnection({ port, host: '127.0.0.1' });
        let got = '';
        socket.on('data', (chunk) => {
          got += chunk.toString('latin1');
        });
        socket.on('error', () => {});
        socket.on('close', () => resolve(got));
        if (text) socket.write(text);
      });
    const [silent, plain] = await Promise.all([
      peer(''),
      peer('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
    ]);
    expect(silent).toBe('');
    expect(plain).not.toContain('200');
    expect((await shownBy(port)).subject.CN).toBe('right');
  });
});

describe('a certificate that cannot be used', () => {
  const read = (certFile: string, keyFile: string) => () =>
    readCertificate({ certFile, keyFile }, clock.wall());
  const { certFile, keyFile } = given('right');

  it.each([
    [
      'is not there',
      join(certificates, 'none.pem'),
      keyFile,
      'TLS_UNUSABLE',
      /none\.pem does not exist/,
      /--tls-cert/,
    ],
    [
      'has no key',
      certFile,
      join(certificates, 'none.key'),
      'TLS_UNUSABLE',
      /none\.key does not exist/,
      /--tls-key/,
    ],
    ['is a folder', certificates, keyFile, 'TLS_UNUSABLE', /is no file/, /PEM/],
    [
      'is something else',
      join(certificates, 'README.md'),
      keyFile,
      'TLS_UNUSABLE',
      /README\.md holds no certificate/,
      /PEM/,
    ],
    [
      'has something else for a key',
      certFile,
      join(certificates, 'README.md'),
      'TLS_UNUSABLE',
      /holds no private key/,
      /PEM/,
    ],
    [
      'stands in the place of its key',
      keyFile,
      certFile,
      'TLS_UNUSABLE',
      /holds no certificate/,
      /wrong way round/,
    ],
    [
      'belongs to another key',
      certFile,
      given('other').keyFile,
      'TLS_MISMATCH',
      /is not the one of the certificate .*CN=right/,
      /made together/,
    ],
    [
      'is over',
      given('expired').certFile,
      given('expired').keyFile,
      'TLS_EXPIRED',
      /expired \(2020-01-02/,
      /Renew it/,
    ],
  ])('because it %s is told with the next step', (_, cert, key, code, message, hint) => {
    let thrown: unknown;
    try {
      read(cert, key)();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({
      code,
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
    });
  });

  it('because its key wants a passphrase is told how to write it without', () => {
    const file = join(folder, 'key.pem');
    writeFileSync(
      file,
      '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n',
    );
    expect(read(certFile, file)).toThrow(/protected by a passphrase/);
  });

  it('keeps the control plane from starting, before anything is made', async () => {
    const data = join(folder, 'data');
    await expect(serve({ store: 'sqlite', data, tls: given('expired') })).rejects.toMatchObject({
      code: 'TLS_EXPIRED',
    });
    expect(() => readFileSync(join(data, 'secret'))).toThrow(/ENOENT/);
  });
});

describe('new files', () => {
  const quick = { socket: { certificateLookMs: 10 } };

  it('are taken while it runs; open connections go on', async () => {
    const files = placed('right');
    const { port } = await serve({ tls: files, ...quick });
    const held = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
    await new Promise((resolve) => held.once('secureConnect', resolve));
    for (const [from, to] of [
      [given('other').certFile, files.certFile],
      [given('other').keyFile, files.keyFile],
    ] as const) {
      copyFileSync(from, `${to}.new`);
      renameSync(`${to}.new`, to);
    }
    expect(await logged(/tls\.renewed/)).toMatch(/DNS:other\.test, until 2126-/);
    expect((await shownBy(port)).subject.CN).toBe('other');
    held.write('GET /api/tasks/v1/ HTTP/1.1\r\nHost: x\r\n\r\n');
    const answer = await new Promise<string>((resolve) =>
      held.once('data', (d) => resolve(String(d))),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200/);
    held.destroy();
  });

  it('that do not fit yet are told, and the old ones stay until they do', async () => {
    const files = placed('right');
    const { port } = await serve({ tls: files, ...quick });
    copyFileSync(given('other').certFile, files.certFile);
    expect(await logged(/tls\.kept/)).toMatch(/in use stays: The key .* is not the one of the/);
    expect((await shownBy(port)).subject.CN).toBe('right');
    copyFileSync(given('other').keyFile, files.keyFile);
    await logged(/tls\.renewed/);
    expect((await shownBy(port)).subject.CN).toBe('other');
  });

  it('that are gone are told once', async () => {
    const files = placed('right');
    const { port } = await serve({ tls: files, ...quick });
    rmSync(files.keyFile);
    expect(await logged(/tls\.kept/)).toMatch(/key\.pem does not exist/);
    copyFileSync(given('right').keyFile, files.keyFile);
    copyFileSync(given('other').certFile, files.certFile);
    copyFileSync(given('other').keyFile, files.keyFile);
    await logged(/tls\.renewed/);
    expect(lines.filter((one) => /does not exist/.test(one))).toHaveLength(1);
    expect((await shownBy(port)).subject.CN).toBe('other');
  });
});

it('tells once a day that its certificate ends soon, and that it has ended', async () => {
  const files = placed('right');
  const current = readCertificate(files, clock.wall());
  const days = 86_400_000;
  const time = new SimulatedClock({ wallMs: current.validToMs - 14.5 * days });
  const loop = new CertificateLoop({
    files,
    current,
    server: { setSecureContext() {} },
    clock: time,
    log,
    everyMs: 3_600_000,
  });
  loop.start();
  expect(lines).toEqual([]);
  await time.advance(days);
  expect(lines).toEqual([
    expect.stringMatching(/^tls\.expires-soon .* expires in 1[34] days \(2126-/),
  ]);
  await time.advance(13 * days);
  expect(lines.length).toBeGreaterThanOrEqual(13);
  expect(lines.length).toBeLessThanOrEqual(15);
  await time.advance(2 * days);
  expect(lines.at(-1)).toMatch(/^tls\.expired .*clients refuse it/);
  await loop.stop();
});
