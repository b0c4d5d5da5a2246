import { createConnection } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServedControlPlane, serveControlPlane } from '../../src/control-plane/serve.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';

/** One connection, whose requests are read here or by Node: nobody can tell which. */

const log = { debug() {}, info() {}, warn() {}, error() {} };
const make = (socket: object = {}) =>
  serveControlPlane({
    listen: '127.0.0.1:0',
    store: 'memory',
    clock: systemClock(),
    random: systemRandom(),
    log,
    socket: { checkEveryMs: 20, ...socket },
  });
let served: ServedControlPlane;
beforeAll(async () => {
  served = await make();
});
afterAll(() => served.stop());

const plain = (n: number, more = '') => {
  const body = JSON.stringify({ type: 'demo/hello', schemaVersion: 1, input: { n } });
  return `POST /api/tasks/v1/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${served.adminKey}\r\nContent-Type: application/json\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;
};
const chunked = () =>
  plain(7)
    .replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked')
    .replace(
      /\r\n\r\n(.*)$/,
      (_, body) => `\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    );

/** Sends each piece when the answers to those before it, as many as they ask for, have come. */
function talk(pieces: readonly (readonly [text: string, answers: number])[]): Promise<string[]> {
  return new Promise((resolve) => {
    const socket = createConnection({ port: served.port, host: '127.0.0.1' });
    let got = '';
    let next = 0;
    let wanted = 0;
    const answers = () => got.split(/(?=HTTP\/1\.1 )/).filter((one) => one.includes('"priority"'));
    const step = () => {
      const piece = pieces[next++];
      if (piece === undefined) {
        socket.destroy();
        resolve(answers());
        return;
      }
      wanted += piece[1];
      socket.write(piece[0]);
      if (piece[1] === 0) setImmediate(step);
    };
    socket.on('connect', step);
    socket.on('data', (chunk) => {
      got += chunk.toString('latin1');
      if (wanted > 0 && answers().length === wanted) step();
    });
    socket.on('close', () => resolve(answers()));
    socket.on('error', () => {});
  });
}

describe('requests of one connection', () => {
  type Pieces = (readonly [string, number])[];
  it.each<[string, () => Pieces]>([
    ['one after the other', () => [1, 2, 3].map((n) => [plain(n), 1])],
    ['two in one piece', () => [[plain(1) + plain(2), 2]]],
    [
      'two in one piece behind another',
      () => [
        [plain(1), 1],
        [plain(2) + plain(3), 2],
        [plain(4), 1],
      ],
    ],
    [
      'one before its turn',
      () => [
        [plain(1), 0],
        [plain(2), 0],
        [plain(3), 3],
        [plain(4), 1],
      ],
    ],
    [
      'a body in chunks between others',
      () => [
        [plain(1), 1],
        [chunked(), 1],
        [plain(2), 1],
      ],
    ],
    [
      'a body in two pieces',
      () => [
        [plain(1), 1],
        [plain(2).slice(0, -9), 0],
        [plain(2).slice(-9), 1],
      ],
    ],
    [
      'a head in two pieces',
      () => [
        [plain(2).slice(0, 30), 0],
        [plain(2).slice(30), 1],
        [plain(3), 1],
      ],
    ],
    [
      'a head byte by byte',
      () => [...plain(1)].map((byte, i, all) => [byte, i === all.length - 1 ? 1 : 0]),
    ],
  ])('%s are answered once each', async (_, given) => {
    const pieces = given();
    const answers = await talk(pieces);
    const wanted = pieces.reduce((sum, [, count]) => sum + count, 0);
    expect(answers.map((one) => one.slice(9, 12))).toEqual(Array(wanted).fill('201'));
    const ids = new Set(answers.map((one) => /"id":"(\w+)"/.exec(one)?.[1]));
    expect(ids.size).toBe(wanted);
  });

  it('the last one of a connection is answered before it ends', async () => {
    const answers = await talk([
      [plain(1), 1],
      [plain(2, 'Connection: close\r\n'), 1],
    ]);
    expect(answers).toHaveLength(2);
    expect(answers[1]).toMatch(/Connection: close/i);
  });
});

it('a connection that waits for another request is closed when the control plane stops', async () => {
  const before = served;
  served = await make();
  const socket = createConnection({ port: served.port, host: '127.0.0.1' });
  const ended = new Promise((resolve) => socket.once('close', resolve));
  socket.write(plain(1));
  await new Promise((resolve) => socket.once('data', resolve));
  await served.stop();
  await ended;
  served = before;
});

it('a connection that waits too long for another request is closed', async () => {
  const before = served;
  served = await make({ keepAliveMs: 50 });
  const socket = createConnection({ port: served.port, host: '127.0.0.1' });
  socket.write(plain(1));
  socket.resume();
  await new Promise((resolve) => socket.once('close', resolve));
  await served.stop();
  served = before;
});
