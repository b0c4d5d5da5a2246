import { createServer, type Server } from 'node:http';
import { type AddressInfo, createConnection } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { afterEach, expect, it } from 'vitest';
import { EventStream } from '../../src/control-plane/event-stream.ts';

/** A stream of hints on a real socket: what its reader does to it. */

let server: Server | undefined;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve) ?? resolve(undefined));
});

async function serve(bufferBytes: number) {
  let ended: () => void = () => {};
  const end = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const stream = new EventStream(bufferBytes, ended);
  server = createServer(
    getRequestListener(
      () => new Response(stream.body, { headers: { 'content-type': 'text/event-stream' } }),
    ),
  );
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { stream, end, port };
}

it('ends when its reader goes away', async () => {
  const { stream, end, port } = await serve(100_000);
  const leave = new AbortController();
  const response = await fetch(`http://127.0.0.1:${port}/`, { signal: leave.signal });
  stream.send('ping', {});
  const reader = response.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('event: ping\ndata: {}\n\n');
  leave.abort();
  await end;
  expect(stream.open).toBe(false);
  expect(stream.send('ping', {})).toBe(false);
  stream.close();
});

it('is cut when its reader takes nothing, however much is to be said', async () => {
  const { stream, end, port } = await serve(100_000);
  const socket = createConnection({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  socket.pause();
  const text = 'x'.repeat(10_000);
  let sent = 0;
  // What the sockets of both sides hold is the system's affair: some megabytes, never all of this.
  while (stream.send('wake', { text }) && sent < 10_000) {
    sent++;
    if (sent % 5 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await end;
  expect(sent).toBeLessThan(5_000);
  socket.destroy();
});
