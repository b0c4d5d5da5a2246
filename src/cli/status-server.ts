import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Log } from '../ports/log.ts';
import { hostPort } from '../wire/service-url.ts';
import type { Worker } from '../worker/worker.ts';
import type { Listen } from './setting-table.ts';

/**
 * `GET /status`: what the worker does, as JSON. 200 while it works, 503 while it drains or has stopped. Whoever can
 * reach the address may read it: it holds ids and types, no inputs and no secrets.
 */
export async function serveStatus(
  listen: Listen,
  worker: Pick<Worker, 'status'>,
  log: Log,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const found = request.url === '/status' && request.method === 'GET';
    const status = worker.status();
    const working = status.state === 'ready' || status.state === 'full';
    const code = found ? (working ? 200 : 503) : 404;
    response.writeHead(code, { 'Content-Type': 'application/json', Connection: 'close' });
    response.end(`${JSON.stringify(found ? status : { error: 'There is only GET /status.' })}\n`);
  });
  server.listen(listen.port, listen.host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  log.info(
    'status.listening',
    `GET http://${hostPort(listen.host, port)}/status tells what this worker does.`,
  );
  // It alone is no reason to stay alive.
  server.unref();
  return {
    port,
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
