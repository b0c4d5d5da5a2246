import { createConnection } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type ServedControlPlane, serveControlPlane } from '../../src/control-plane/serve.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';

/** Pages over a real socket: what is seen of the other side there decides who is let in. */

const served: ServedControlPlane[] = [];
const silent = () => {};
async function serve(more = {}): Promise<ServedControlPlane> {
  const one = await serveControlPlane({
    listen: '127.0.0.1:0',
    store: 'memory',
    clock: systemClock(),
    random: systemRandom(),
    log: { debug: silent, info: silent, warn: silent, error: silent },
    ...more,
  });
  served.push(one);
  return one;
}
afterEach(async () => {
  for (const one of served.splice(0)) await one.stop();
});

/** Sends texts over one connection, each after the answer to the one before. @returns the head of each answer. */
async function heads(port: number, ...requests: string[]): Promise<string[]> {
  const socket = createConnection({ host: '127.0.0.1', port }).setEncoding('utf8');
  const found: string[] = [];
  for (const text of requests) {
    socket.write(text);
    let answer = '';
    for await (const part of socket.iterator({ destroyOnReturn: false })) {
      answer += part;
      const [head = '', body] = answer.split('\r\n\r\n', 2);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (body !== undefined && Buffer.byteLength(body) >= length) break;
    }
    found.push(answer.split('\r\n\r\n', 1)[0] ?? '');
  }
  socket.destroy();
  return found;
}
const get = (path: string, host: string, version = '1.1', more = '') =>
  `GET ${path} HTTP/${version}\r\nHost: ${host}\r\nAccept: text/html\r\n${more}\r\n`;
const status = (head: string | undefined) => Number(/^HTTP\/1\.1 (\d+)/.exec(head ?? '')?.[1]);

describe('a control plane on loopback', () => {
  it('lets in who is at this machine, beside calls on the same connection', async () => {
    const { port } = await serve();
    const here = `127.0.0.1:${port}`;
    const answers = await heads(
      port,
      get('/api/tasks/v1/tasks', here),
      get('/tasks', here),
      get('/failures', here),
    );
    expect(answers.map(status)).toEqual([401, 200, 200]);
  });

  it('asks once for each connection whose it is, and asks those of others for a key', async () => {
    const asked: unknown[] = [];
    const ours = async (ends: { here: { port: number }; there: { address: string } }) => {
      asked.push([ends.here.port, ends.there.address]);
      return false;
    };
    const { port } = await serve({ owners: { ours } });
    const host = `127.0.0.1:${port}`;
    const answers = await heads(port, get('/tasks', host), get('/workers', host));
    expect(answers.map(status)).toEqual([303, 303]);
    expect(asked).toEqual([[port, '127.0.0.1']]);
  });
  it('asks the name in the first line, where one stands there', async () => {
    const { port } = await serve();
    const [answer] = await heads(port, get('http://evil.test/tasks', `127.0.0.1:${port}`));
    expect(status(answer)).toBe(303);
  });

  it.each([
    ['another name', (p: number) => get('/tasks', `evil.test:${p}`)],
    ['a proxy of the old kind', (p: number) => get('/tasks', `127.0.0.1:${p}`, '1.0')],
    [
      'a proxy that says so',
      (p: number) => get('/tasks', `127.0.0.1:${p}`, '1.1', 'X-Real-IP: 192.0.2.7\r\n'),
    ],
  ])('asks for a key through %s', async (_, text) => {
    const { port } = await serve();
    const [head] = await heads(port, text(port));
    expect(status(head)).toBe(303);
    expect(head).toMatch(/location: \/sign-in/i);
  });

  it('asks for a key where a proxy is said to be in front, and its cookie goes over TLS only', async () => {
    const { port, url, adminKey = '' } = await serve({ behindProxy: true });
    expect(status((await heads(port, get('/tasks', `127.0.0.1:${port}`)))[0])).toBe(303);
    const form = await fetch(`${url}/sign-in`, { headers: { accept: 'text/html' } });
    const [cookie = ''] = form.headers.getSetCookie();
    const [, token = ''] = /name="token" value="([^"]+)"/.exec(await form.text()) ?? [];
    const done = await fetch(`${url}/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: cookie.split(';')[0] ?? '', origin: url },
      body: new URLSearchParams({ token, key: adminKey, to: '/workers' }),
    });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/workers']);
    const [signedIn = ''] = done.headers.getSetCookie();
    expect(signedIn).toMatch(/^__Host-.+; HttpOnly; SameSite=Strict; Secure$/);
    const page = await fetch(`${url}/workers`, {
      headers: { cookie: signedIn.split(';')[0] ?? '' },
    });
    expect(page.status).toBe(200);
  });

  it('ends while pages listen', async () => {
    const one = await serve();
    const stream = await fetch(`${one.url}/live`, { headers: { accept: 'text/event-stream' } });
    const reader = stream.body?.getReader();
    await reader?.read();
    const stopped = one.stop();
    while (!(await reader?.read())?.done);
    await stopped;
  });
});
