import { type ClientRequest, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BASE_PATH, operations } from '../../src/contract/index.ts';
import { answer, isRefusal } from '../../src/control-plane/answer.ts';
import { findCall } from '../../src/control-plane/find-call.ts';
import { type ServedControlPlane, serveControlPlane } from '../../src/control-plane/serve.ts';
import { listen, makeServer } from '../../src/control-plane/socket.ts';
import { serverDefaults } from '../../src/core/defaults.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';

/** Plain calls take a short way through the socket. Nobody can tell it from the long one. */

const log = { debug() {}, info() {}, warn() {}, error() {} };
let served: ServedControlPlane;
beforeAll(async () => {
  served = await serveControlPlane({
    listen: '127.0.0.1:0',
    store: 'memory',
    clock: systemClock(),
    random: systemRandom(),
    log,
  });
});
afterAll(() => served.stop());

interface Given {
  readonly headers?: Record<string, string | string[]>;
  readonly text?: string;
}

/** What came back, without what differs from answer to answer. */
function ask(method: string, path: string, { headers = {}, text }: Given = {}) {
  return new Promise<unknown>((resolve, reject) => {
    const { port } = served;
    const given = {
      authorization: `Bearer ${served.adminKey}`,
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...(text === undefined ? {} : { 'content-length': String(Buffer.byteLength(text)) }),
      ...headers,
    };
    const asked = send({ port, method, path: BASE_PATH + path, headers: given }, (answer) => {
      let body = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk) => {
        body += chunk;
      });
      answer.on('end', () => {
        const { date: _, 'interlock-request-id': id, ...rest } = answer.headers;
        expect(id).toMatch(/^req_/);
        expect(rest['content-length']).toBe(String(Buffer.byteLength(body)));
        resolve({
          status: answer.statusCode,
          headers: { ...rest, 'content-length': 'told' },
          body: body.replace(/(tsk|req|key)_\w+|\d{4}-[\d-]+T[\d:.]+Z/g, '…'),
        });
      });
    });
    asked.on('error', reject);
    asked.end(text);
  });
}

const task = (more: object = {}) =>
  JSON.stringify({ type: 'demo/hello', schemaVersion: 1, input: { ä: '😀' }, ...more });

describe('a call by the short way is answered as by the long one', () => {
  it.each<[string, string, string, Given?]>([
    ['a task', 'POST', '/tasks', { text: task() }],
    [
      'a task with a key in the head',
      'POST',
      '/tasks',
      { text: task(), headers: { 'Idempotency-Key': 'once' } },
    ],
    ['a batch', 'POST', '/tasks/batch', { text: `[${task()},{"type":4}]` }],
    ['a list', 'GET', '/tasks?status=queued&limit=1&pool=none'],
    ['a task that is not there', 'GET', '/tasks/tsk_none'],
    ['a query that is wrong', 'GET', '/tasks?limit=many'],
    ['a call for another kind of key', 'POST', '/claims', { text: '{}' }],
    ['no key', 'GET', '/workers', { headers: { authorization: 'none' } }],
    ['two keys', 'GET', '/workers', { headers: { authorization: ['Bearer il_a', 'Bearer il_b'] } }],
    ['another contract', 'GET', '/workers', { headers: { 'interlock-contract': '9' } }],
    ['no JSON', 'POST', '/tasks', { text: '{"type":' }],
    ['no text at all', 'POST', '/tasks', { text: '' }],
    ['another type', 'POST', '/tasks', { text: task(), headers: { 'content-type': 'text/plain' } }],
    [
      'a compressed body',
      'POST',
      '/tasks',
      { text: task(), headers: { 'content-encoding': 'gzip' } },
    ],
    ['this machine by IPv6', 'GET', '/tasks', { headers: { host: '[::1]:7420' } }],
    ['what is no address', 'GET', '/tasks', { headers: { host: '[::::]' } }],
    [
      'an address that is written in another way',
      'GET',
      '/tasks',
      { headers: { host: '[1]:8080' } },
    ],
    ['a long address', 'GET', '/tasks', { headers: { host: '[0:0:0:0:0:0:0:1]:7420' } }],
    ['a mark before the text', 'POST', '/tasks', { text: `\ufeff${task()}` }],
  ])('%s', async (_, method, path, given) => {
    const [bare, query = ''] = path.split('?');
    expect(findCall(method, BASE_PATH + path)).toBeDefined();
    const short = await ask(method, path, given);
    // A slash at the end is looked at closely.
    const long = await ask(method, `${bare}/${query && `?${query}`}`, given);
    expect(short).toEqual(given?.headers?.['Idempotency-Key'] ? expect.anything() : long);
  });
});

describe('what takes the short way', () => {
  const named = (path: string) => path.replace('{op}', 'start').replace(/\{\w+\}/g, 'att_1');

  it('is every call of the table but streams, by its own name and parameters', () => {
    for (const operation of operations) {
      const rare = operation.answers[200] === 'sse';
      const found = findCall(operation.method, BASE_PATH + named(operation.path));
      expect(found?.operation.id, operation.id).toBe(rare ? undefined : operation.id);
      const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      if (!rare) expect(Object.keys(found?.params ?? {})).toEqual(names);
    }
  });

  it.each([
    ['HEAD', '/tasks'],
    ['DELETE', '/tasks'],
    ['GET', '/tasks/batch'],
    ['POST', '/tasks/'],
    ['GET', '/tasks/a%20b'],
    ['GET', '/tasks/..'],
    ['GET', '/tasks/a/../b'],
    ['GET', '/tasks/a#b'],
    ['GET', '/tasks?cursor=a%20b'],
    ['GET', '/tasks/ä'],
    ['POST', '/attempts/batch/'],
    ['TRACE', '/tasks'],
  ])('is not %s %s', (method, path) => {
    expect(findCall(method, BASE_PATH + path)).toBeUndefined();
  });

  it('is no whole address, and no path outside of the contract', () => {
    expect(findCall('GET', `http://cp.test${BASE_PATH}/tasks`)).toBeUndefined();
    expect(findCall('GET', '/failures')).toBeUndefined();
    expect(findCall('POST', `//cp.test${BASE_PATH}/tasks`)).toBeUndefined();
  });
});

describe('the socket', () => {
  it('needs no request object for a plain call, and takes the long way for a body that comes later', async () => {
    const ways: string[] = [];
    const { server } = makeServer({
      fetch: async (request) => {
        ways.push(`long ${await request.text()}`);
        return new Response('{}');
      },
      answerTo: async (operation, request) => {
        const body = await request.bytes(100, systemClock());
        ways.push(`short ${operation.id} ${isRefusal(body) ? '' : Buffer.from(body)}`);
        return { answer: answer({}), requestId: 'req_1' };
      },
      requestId: () => 'req_1',
      limits: serverDefaults,
      clock: systemClock(),
      log,
    });
    let byNode = 0;
    server.on('request', () => byNode++);
    await listen(server, { host: '127.0.0.1', port: 0 });
    const { port } = server.address() as AddressInfo;
    const head = { port, method: 'POST', path: `${BASE_PATH}/tasks` };
    const done = (asked: ClientRequest) =>
      new Promise((resolve) => asked.on('response', (got) => got.resume().on('end', resolve)));
    const whole = send({ ...head, headers: { 'content-length': 2 } });
    const whole2 = done(whole);
    whole.end('{}');
    await whole2;
    // Nor one of Node's.
    expect(byNode).toBe(0);
    const later = send({ ...head, headers: { 'content-length': 4, expect: '100-continue' } });
    const later2 = done(later);
    // The head has gone ahead when the server asks for the rest.
    later.on('continue', () => later.end('{  }'));
    later.flushHeaders();
    await later2;
    expect(ways).toEqual(['short submit {}', 'long {  }']);
    expect(byNode).toBe(1);
    server.closeAllConnections();
    server.close();
  });
});
