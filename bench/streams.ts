import { connect, type Socket } from 'node:net';
import { API, type Bench, cpuMs, rssMiB } from './processes.ts';
import type { Row } from './rows.ts';

/**
 * What it costs to hold `count` streams of hints on which nothing happens but pings: the control plane's memory once the
 * last one is open and the first pings have gone out, and its processor time in a minute.
 */
export async function idleStreams(bench: Bench, count: number, seconds: number): Promise<Row[]> {
  const { pid } = bench.controlPlane;
  const before = rssMiB(pid) ?? Number.NaN;
  const sockets: Socket[] = [];
  // A hundred at a time: the queue of connections that are not taken yet is short.
  for (let i = 0; i < count; i += 100)
    sockets.push(...(await Promise.all(Array.from({ length: 100 }, (_, k) => open(bench, i + k)))));
  await pinged(sockets);
  const from = performance.now();
  const cpuFrom = cpuMs(pid) ?? Number.NaN;
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const cpu = (cpuMs(pid) ?? Number.NaN) - cpuFrom;
  const minutes = (performance.now() - from) / 60_000;
  const after = rssMiB(pid) ?? Number.NaN;
  for (const socket of sockets) socket.destroy();
  return [
    {
      what: `${count} idle hint streams: memory of the control plane`,
      value: after,
      unit: 'MiB',
      aim: '< 250',
      note: `${before.toFixed(0)} before, ${(((after - before) * 1024) / count).toFixed(1)} KiB a stream`,
    },
    {
      what: `${count} idle hint streams: processor time of the control plane`,
      value: cpu / minutes,
      unit: 'ms/min',
    },
  ];
}

/** Resolves with the first event. The socket itself is used: a client's own objects would fill the machine. */
function open(bench: Bench, n: number): Promise<Socket> {
  const { hostname, port } = new URL(bench.url);
  const query = `workerId=listener-${n}&sessionId=session-${n}`;
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(
        `GET ${API}/hints?${query} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${bench.keys['task-worker']}\r\n\r\n`,
      ),
    );
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('a stream of hints was closed')));
    let text = '';
    socket.on('data', function first(chunk) {
      text += chunk;
      if (!text.includes('event: ping')) return;
      socket.off('data', first);
      socket.on('data', () => {});
      resolve(socket);
    });
  });
}

/** Until the last of them has been pinged once more. */
function pinged(sockets: readonly Socket[]): Promise<unknown> {
  return Promise.all(sockets.map((socket) => new Promise((done) => socket.once('data', done))));
}
