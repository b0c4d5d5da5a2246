import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { TaskError } from '../../contract/index.ts';
import { statusDefaults } from '../../core/defaults.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { createServer } from '../../wire/node-http.ts';
import { hostPort, isLoopback } from '../../wire/service-url.ts';
import type { Listen } from '../setting-schemas.ts';
import { hostAllowed } from './host-guard.ts';

export interface Page {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** By path: `/healthz`. */
export type Pages = Readonly<Record<string, () => Page | Promise<Page>>>;

type Limits = { readonly [K in keyof typeof statusDefaults]: number };

export interface StatusSurroundings {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: Limits;
}

export interface StatusServer {
  /** Only this machine reaches it: by the address, whatever name it was given by. */
  readonly loopback: boolean;
  readonly port: number;
  close(): Promise<void>;
}

/**
 * A small server for probes: pages without input, read by whoever reaches the address. It keeps no process alive and
 * delays no end. Throws `ADDRESS_IN_USE` or `LISTEN_FAILED`.
 */
export async function serveStatus(
  listen: Listen,
  pages: Pages,
  { clock, limits = statusDefaults, log }: StatusSurroundings,
): Promise<StatusServer> {
  const { headersMs, requestMs, checkEveryMs, answerMs, headerBytes, connections } = limits;
  let loopback = true;
  /** Connections that have sent no whole head yet, the oldest first. */
  const silent = new Set<Socket>();
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: checkEveryMs,
      maxHeaderSize: headerBytes,
    },
    (request, response) => {
      silent.delete(request.socket);
      // Also who asks for little and reads nothing.
      const cut = clock.timer(answerMs, () => request.socket.destroy());
      response.once('close', () => cut.cancel());
      void answer(request, response);
    },
  );
  server.timeout = answerMs;
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    socket.unref();
    open.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      silent.delete(socket);
    });
    silent.add(socket);
    if (open.size <= connections) return;
    // Who has said nothing for the longest gives way: silence shuts nobody out.
    const [oldest = socket] = silent;
    oldest.destroy();
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let page: Page;
    try {
      page = await pageFor(request, response, pages, { host: listen.host, loopback });
    } catch (error) {
      log.error('bug', `A status page failed: ${error instanceof Error ? error.stack : error}`);
      page = text(500, 'This page failed; the log of the worker says how. The worker goes on.');
    }
    if (response.destroyed) return;
    const body = Buffer.from(page.body);
    response.writeHead(page.status, {
      'Content-Type': page.type,
      'Content-Length': body.byteLength,
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      Connection: 'close',
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  await listening(server, listen, clock, limits);
  const { address, port } = server.address() as AddressInfo;
  loopback = isLoopback(address);
  server.on('error', (error) => log.warn('status.failed', `The status port: ${error.message}`));
  server.unref();
  return {
    loopback,
    port,
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function pageFor(
  request: IncomingMessage,
  response: ServerResponse,
  pages: Pages,
  listens: Parameters<typeof hostAllowed>[1],
): Promise<Page> {
  const { headers, method, url = '' } = request;
  if (!hostAllowed(headers.host, listens))
    return text(
      403,
      'This port answers to an IP address, localhost, or the name it listens on, so that no foreign page reads it.',
    );
  const path = url.split('?', 1)[0] ?? '';
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (page === undefined) return text(404, `There is only GET ${Object.keys(pages).join(', ')}.`);
  if (method !== 'GET' && method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    return text(405, `${path} is only read: GET or HEAD.`);
  }
  const length = headers['content-length'] ?? '0';
  if (headers['transfer-encoding'] !== undefined || Number(length) !== 0)
    return text(400, `${path} takes no body.`);
  return page();
}

/** A probe's answer: a code and a sentence. */
export function text(status: number, says: string): Page {
  return { status, type: 'text/plain; charset=utf-8', body: `${says}\n` };
}

/**
 * A worker that has just ended may still hold the port for a moment after it gave its spool back: so long it is tried again.
 * After that it is an error: a worker that nobody can watch would be noticed too late.
 */
async function listening(
  server: ReturnType<typeof createServer>,
  { host, port }: Listen,
  clock: Clock,
  limits: Limits,
): Promise<void> {
  const last = clock.now() + limits.portWaitMs;
  for (;;) {
    const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
      // Each try takes both of its listeners with it: there are many tries.
      const listens = () => {
        server.off('error', fails);
        resolve(undefined);
      };
      const fails = (cause: NodeJS.ErrnoException) => {
        server.off('listening', listens);
        resolve(cause);
      };
      server.once('error', fails);
      server.once('listening', listens);
      server.listen({ host, port });
    });
    if (error === undefined) return;
    const inUse = error.code === 'EADDRINUSE';
    if (inUse && clock.now() < last) {
      await clock.sleep(limits.portRetryMs);
      continue;
    }
    const at = hostPort(host, port);
    throw new TaskError(
      inUse ? 'ADDRESS_IN_USE' : 'LISTEN_FAILED',
      inUse
        ? `Something already listens on ${at}, where this worker was to tell its status.`
        : `The worker cannot tell its status on ${at}: ${error.message}.`,
      {
        hint: inUse
          ? 'Stop it, or give this worker another port with --status-listen (127.0.0.1:0 takes any free one).'
          : 'Use an address of this machine and a port above 1023 with --status-listen.',
        cause: error,
        details: { systemCode: error.code },
      },
    );
  }
}
