import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { TaskError } from '../contract/errors.ts';
import { CONTRACT_HEADER, CONTRACT_VERSION } from '../contract/limits.ts';
import { makeProblem } from '../contract/problems.ts';
import type { serverDefaults } from '../core/defaults.ts';
import { isLoopbackAddress, type Peer } from '../pages/peer.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { SocketOwners } from '../ports/socket-owners.ts';
import { problemAnswer, refusal } from './answer.ts';
import { answerDirectly } from './direct.ts';
import { type AnswerTo, respond } from './mount.ts';
import { OneAtATime } from './one-at-a-time.ts';
import { PlainDoor } from './plain-http.ts';
import { SlowReaders } from './slow-readers.ts';
import { type Certificate, TLS_OPTIONS } from './tls-files.ts';
import type { Turns } from './turns.ts';

/** What a peer may take of the control plane: time, memory, connections. */
export type SocketLimits = { readonly [K in keyof typeof serverDefaults]: number };

export interface SocketOptions {
  readonly fetch: (request: Request, peer: Peer) => Promise<Response>;
  /** With it plain calls take the short way. */
  readonly answerTo?: AnswerTo | undefined;
  /** For what cannot be read as a call. */
  readonly requestId: () => string;
  readonly limits: SocketLimits;
  readonly clock: Clock;
  readonly log: Log;
  /** With it the socket speaks TLS and nothing else. */
  readonly certificate?: Certificate | undefined;
  /** Whose the other ends of connections within this machine are; without it nobody asks. */
  readonly owners?: SocketOwners | undefined;
  /** Told of answers that their readers have not taken. */
  readonly turns?: Turns | undefined;
}

/** A server, and a way to end what is connected to it. */
export interface Opened {
  readonly server: Server;
  /** Connections that wait for a request. */
  closeIdle(): void;
  /** Connections at once, those too that have not shaken hands yet. */
  cut(): void;
}

/** The server, not listening yet. */
export function makeServer(options: SocketOptions): Opened {
  const { fetch, answerTo, requestId, limits, clock, log, certificate, turns } = options;
  const settings: ServerOptions = {
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkEveryMs,
    keepAliveTimeout: limits.keepAliveMs,
    maxHeaderSize: limits.headerBytes,
  };
  const readers = new SlowReaders({
    clock,
    answerMs: limits.answerMs,
    everyMs: limits.checkEveryMs,
    pressedMs: limits.pressedMs,
    pressed: () => turns?.pressed === true,
    onCut: (afterMs) =>
      log.debug(
        'serve.slow-reader',
        `A reader that had not taken its answer after ${afterMs / 1_000} s was cut.`,
      ),
  });
  const byFetch = getRequestListener(
    async (request, { incoming, outgoing }) => {
      const response = await fetch(request, peerOf(incoming, options.owners));
      readers.began(outgoing, incoming.url ?? '');
      return response;
    },
    {
      errorHandler: (error) =>
        unreadable(error instanceof Error ? error.message : String(error), requestId()),
    },
  );
  const inTurn = new OneAtATime<IncomingMessage, ServerResponse>({
    clock,
    perConnection: limits.pipelined,
    inAll: limits.pipelinedInAll,
    headMs: limits.headersMs,
    begin: async (incoming, outgoing) => {
      // The head is read before its body: what came with it is there when the parser is done.
      await undefined;
      const direct = answerTo && answerDirectly(answerTo, incoming, outgoing);
      await (direct ?? byFetch(incoming, outgoing));
      if (outgoing.destroyed || outgoing.writableLength === 0) return;
      if (direct !== undefined) readers.began(outgoing, incoming.url ?? '');
      if (turns !== undefined) outgoing.once('close', turns.untaken(outgoing.writableLength));
    },
  });
  const listener = (incoming: IncomingMessage, outgoing: ServerResponse) =>
    inTurn.request(incoming, outgoing);
  const server = certificate
    ? createSecureServer(
        {
          ...settings,
          ...TLS_OPTIONS,
          cert: certificate.cert,
          key: certificate.key,
          handshakeTimeout: limits.headersMs,
        },
        listener,
      )
    : createServer(settings, listener);
  server.maxConnections = limits.connections;
  // A reader that takes nothing for so long is gone; pings keep the others.
  server.timeout = limits.silenceMs;
  let toldAt = Number.NEGATIVE_INFINITY;
  server.on('drop', () => {
    if (clock.now() - toldAt < FULL_TOLD_MS) return;
    toldAt = clock.now();
    log.warn(
      'serve.full',
      `${limits.connections} connections are open: further ones are refused. Those that are open go on.`,
    );
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && inTurn.heldUp(socket as Socket)) return;
    // Nothing can be said before hands are shaken.
    const shaking = (socket as { secureConnecting?: boolean }).secureConnecting === true;
    if (error.code === 'ECONNRESET' || shaking || !socket.writable) socket.destroy();
    else refuseRaw(socket as Socket, error, limits);
  });
  // Node knows of no connection of a TLS server before that.
  const sockets = new Set<Socket>();
  if (certificate)
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
  const door =
    answerTo && !certificate
      ? new PlainDoor(server, { answerTo, limits, clock, readers, turns })
      : undefined;
  const closeIdle = () => {
    server.closeIdleConnections();
    door?.closeIdle();
  };
  const cut = () => {
    server.closeAllConnections();
    door?.cut();
    for (const socket of sockets) socket.destroy();
  };
  return { server, closeIdle, cut };
}

function peerOf(
  {
    socket,
    httpVersion,
  }: {
    readonly socket: Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>;
    readonly httpVersion: string;
  },
  owners: SocketOwners | undefined,
): Peer {
  const { remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 } = socket;
  const loopback =
    httpVersion === '1.1' && isLoopbackAddress(remoteAddress) && isLoopbackAddress(localAddress);
  if (!loopback || owners === undefined) return { address: remoteAddress, loopback };
  return {
    address: remoteAddress,
    loopback,
    ours: () => {
      const ours =
        OURS.get(socket) ??
        owners.ours({
          here: { address: localAddress, port: localPort },
          there: { address: remoteAddress, port: remotePort },
        });
      OURS.set(socket, ours);
      return ours;
    },
  };
}

/** Asked once for each connection: whoever opened it keeps it. */
const OURS = new WeakMap<object, Promise<boolean | undefined>>();

/** A flood is told once in a while, not once a connection. */
const FULL_TOLD_MS = 60_000;

function unreadable(why: string, requestId: string): Response {
  const refused = refusal('INVALID_REQUEST', `The request cannot be read: ${why}.`);
  return respond(problemAnswer(refused, requestId), requestId);
}

/** What is no HTTP, too slow or too large in its head is told so before the connection ends. */
function refuseRaw(socket: Socket, error: NodeJS.ErrnoException, limits: SocketLimits): void {
  const [status, why] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [
          '431 Request Header Fields Too Large',
          `its head has more than ${limits.headerBytes} bytes`,
        ]
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'it came too slowly']
        : ['400 Bad Request', 'it is not HTTP'];
  const problem = {
    ...makeProblem('INVALID_REQUEST', `The request cannot be read: ${why}.`),
    status: Number.parseInt(status ?? '', 10),
  };
  const body = JSON.stringify(problem);
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\n${CONTRACT_HEADER}: ${CONTRACT_VERSION}\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** @throws TaskError `LISTEN_INVALID`. */
export function parseListen(text: string): Address {
  const [, host, port] = /^(.*):(\d{1,5})$/.exec(text.trim()) ?? [];
  if (host === undefined || Number(port) > 65_535) {
    throw new TaskError('LISTEN_INVALID', `--listen ${text} is no address with a port.`, {
      hint: 'Write it as 127.0.0.1:7420 or [::1]:7420.',
    });
  }
  return { host: host.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1', port: Number(port) };
}

/** @throws TaskError `ADDRESS_IN_USE`, `LISTEN_FAILED`. */
export function listen(server: Server, { host, port }: Address): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const inUse = cause.code === 'EADDRINUSE';
      reject(
        new TaskError(
          inUse ? 'ADDRESS_IN_USE' : 'LISTEN_FAILED',
          inUse
            ? `Something already listens on ${host}:${port}.`
            : `The control plane cannot listen on ${host}:${port}: ${cause.message}.`,
          {
            hint: inUse
              ? 'Stop it, or use another port with --listen.'
              : 'Use an address of this machine and a port above 1023 with --listen.',
            cause,
            details: { systemCode: cause.code },
          },
        ),
      );
    });
    server.listen({ host, port }, () => resolve());
  });
}

/** Before anything is made: whether the address can be had. @throws TaskError `ADDRESS_IN_USE`, `LISTEN_FAILED`. */
export async function refuseTaken(address: Address): Promise<void> {
  const probe = createServer();
  await listen(probe, address);
  await new Promise((resolve) => probe.close(resolve));
}

/** Only this machine reaches it. What is written in another way counts as beyond: it is asked for more, never for less. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Where clients on this machine reach it. */
export function visibleHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
