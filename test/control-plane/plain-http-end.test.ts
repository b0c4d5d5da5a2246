import { createServer } from 'node:http';
import { type AddressInfo, createConnection, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Answer, answer, problemAnswer } from '../../src/control-plane/answer.ts';
import { tooLarge } from '../../src/control-plane/call-request.ts';
import { PlainDoor } from '../../src/control-plane/plain-http.ts';
import { SlowReaders } from '../../src/control-plane/slow-readers.ts';
import type { SocketLimits } from '../../src/control-plane/socket.ts';
import { serverDefaults } from '../../src/core/defaults.ts';
import { systemClock } from '../../src/system/clock.ts';

/** A door whose calls are answered when the test says so; `asked` holds their addresses, Node's among them. */
async function door(
  answered: (nth: number) => Answer | Promise<Answer>,
  more: Partial<SocketLimits> = {},
) {
  const asked: string[] = [];
  const byNode = Promise.withResolvers<void>();
  const clock = systemClock();
  const server = createServer((incoming, outgoing) => {
    asked.push(`Node: ${incoming.url}`);
    byNode.resolve();
    outgoing.end();
  });
  // As the socket does: what is too slow is told so, and ended.
  server.on('clientError', (_, socket) => socket.end('HTTP/1.1 408 Request Timeout\r\n\r\n'));
  const limits = { ...serverDefaults, headersMs: 20, ...more };
  const readers = new SlowReaders({ ...never, clock });
  const answerTo = async (_: unknown, { url }: { url: string }) => ({
    answer: await answered(asked.push(url)),
    requestId: 'req_1',
  });
  new PlainDoor(server, { answerTo, limits, clock, readers });
  const peer = new Promise<Socket>((resolve) => server.once('connection', resolve));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const socket = createConnection({
    port: (server.address() as AddressInfo).port,
    host: '127.0.0.1',
    allowHalfOpen: true,
  });
  onTestFinished(() => void socket.destroy());
  let got = '';
  socket.on('data', (chunk) => {
    got += chunk.toString('latin1');
  });
  const over = new Promise<string>((resolve) => socket.once('end', () => resolve(got)));
  /** The door has read another piece. */
  const read = async () => {
    const there = await peer;
    await new Promise((resolve) => there.once('data', resolve));
  };
  return { server, socket, asked, over, read, byNode: byNode.promise };
}

const never = {
  answerMs: 60_000,
  everyMs: 60_000,
  pressedMs: 60_000,
  pressed: () => false,
  onCut() {},
};
const call = (id: string) =>
  `GET /api/tasks/v1/tasks/${id} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer il_x\r\n\r\n`;

it('what comes behind the last answer of a connection is not carried out', async () => {
  const begun = Promise.withResolvers<void>();
  const first = Promise.withResolvers<Answer>();
  const { server, socket, asked, over } = await door((nth) => {
    begun.resolve();
    return nth === 1 ? first.promise : answer({});
  });
  const read = new Promise<void>((resolve) => {
    server.on('connection', (inside) => {
      let chunks = 0;
      inside.on('data', () => ++chunks === 2 && resolve());
    });
  });
  socket.write(call('tsk_1'));
  await begun.promise;
  socket.write(call('tsk_2'));
  await read;
  server.close();
  first.resolve(answer({}));
  expect(await over).toMatch(/Connection: close/);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.end(call('tsk_3'));
  await closed;
  expect(asked).toEqual(['/api/tasks/v1/tasks/tsk_1']);
});

it('what comes after it was too slow is not carried out', async () => {
  const { socket, asked, over } = await door(() => answer({}));
  expect(await over).toContain('408');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.end(call('tsk_1'));
  await closed;
  expect(asked).toEqual([]);
});

it('an answer that ends its connection says so once, and ends it', async () => {
  const { socket, over } = await door(() => problemAnswer(tooLarge(10), 'req_1'));
  socket.write(call('tsk_1'));
  const text = await over;
  expect(text.match(/^(?:Connection|Keep-Alive):.*$/gim)).toEqual(['Connection: close']);
});

describe('a body that comes in pieces', () => {
  const head = 'POST /api/tasks/v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n';
  const half = '12345';

  /** The answers of so many calls, as they are told apart here. */
  const answers = (socket: Socket, count: number) =>
    new Promise<void>((resolve) => {
      let got = '';
      socket.on('data', (chunk) => {
        got += chunk.toString('latin1');
        if (got.split('HTTP/1.1 200').length > count) resolve();
      });
    });

  it('is waited for, and the connection is not given away', async () => {
    const { socket, asked, read } = await door(() => answer({}), { comingInAllBytes: 100 });
    // The first is no longer counted when the second comes: both are more than the bound.
    for (const _ of [1, 2]) {
      const come = answers(socket, 1);
      socket.write(head + half);
      await read();
      socket.write(half);
      await come;
    }
    expect(asked).toEqual(['/api/tasks/v1/tasks', '/api/tasks/v1/tasks']);
  });

  it.each<[string, Partial<SocketLimits>]>([
    ['does not come soon', { comingMs: 20 }],
    ['is too large to be waited for', { comingBytes: 50 }],
    ['is more than all may be together', { comingInAllBytes: 50 }],
  ])('and %s is for Node', async (_, limits) => {
    const { socket, asked, byNode } = await door(() => answer({}), limits);
    socket.write(head + half);
    await byNode;
    expect(asked).toEqual(['Node: /api/tasks/v1/tasks']);
  });

  it('and has another request behind it is for Node', async () => {
    const { socket, asked, read, byNode } = await door(() => answer({}));
    socket.write(head + half);
    await read();
    socket.write(half + call('tsk_1'));
    await byNode;
    expect(asked[0]).toBe('Node: /api/tasks/v1/tasks');
  });

  it('and breaks off is told that it cannot be read', async () => {
    const { socket, asked, over } = await door(() => answer({}));
    socket.end(head + half);
    expect(await over).toMatch(/^HTTP\/1.1 408/);
    expect(asked).toEqual([]);
  });
});
