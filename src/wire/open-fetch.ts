/**
 * The real `WireFetch`: undici's fetch over connections that this file makes itself (addresses raced, proxy,
 * private authorities), in lanes of their own. Time limits are the caller's: its signal ends a call.
 */
import type { Socket } from 'node:net';
import { Agent, type buildConnector, fetch } from 'undici';
import { wireDefaults, workerDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';
import { Dialer, type Lookup } from './dial.ts';
import { codeOf, WireFault } from './fault.ts';
import type { Lane, WireFetch, WireInit, WireResponse } from './fetch.ts';
import { openTunnel, type ProxySettings, proxyChooser } from './proxy.ts';
import { authorities, Securer } from './secure.ts';
import { bare, hostPort } from './service-url.ts';

export interface FetchOptions {
  readonly clock: Clock;
  /** PEM file with further authorities. */
  readonly caFile?: string | undefined;
  readonly proxy?: ProxySettings | undefined;
  /** For tests. */
  readonly lookup?: Lookup | undefined;
}

export interface OpenFetch {
  readonly fetch: WireFetch;
  /** Ends all connections, also busy ones. Twice is fine. */
  close(): Promise<void>;
}

/** Throws `INVALID_PROXY` or `CA_FILE_UNREADABLE`. */
export function openFetch(options: FetchOptions): OpenFetch {
  const reused = new WeakSet<object>();
  const connect = connector(options, reused);
  const agents: Record<Lane, Agent> = {
    calls: agent(connect, wireDefaults.connections),
    renew: agent(connect, wireDefaults.renewConnections),
    stream: agent(connect, wireDefaults.streamConnections),
  };
  const once = async (url: string, init: WireInit): Promise<WireResponse> => {
    const { lane = 'calls', once: _, ...plain } = init;
    const response = await fetch(url, { ...plain, dispatcher: agents[lane] });
    return response as WireResponse;
  };
  return {
    // A kept connection may have been closed by the peer at the moment it was used again. No byte of an
    // answer came, and every call may be repeated (ids, fences and keys see to that), so it is, once.
    fetch: (url, init) =>
      once(url, init).catch((error: unknown) => {
        if (init.once || init.signal.aborted || !diedIdle(error, reused)) throw error;
        return once(url, init);
      }),
    close: async () => {
      await Promise.all(Object.values(agents).map((one) => one.destroy()));
    },
  };
}

function agent(connect: buildConnector.connector, connections: number): Agent {
  return new Agent({
    connect,
    connections,
    pipelining: 1,
    keepAliveTimeout: wireDefaults.idleConnectionMs,
    keepAliveMaxTimeout: wireDefaults.idleConnectionMaxMs,
    // The caller's signal is the limit: undici's own timers would only add a second opinion.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: wireDefaults.headerBytes,
  });
}

function connector(options: FetchOptions, reused: WeakSet<object>): buildConnector.connector {
  const { clock } = options;
  const dialer = new Dialer(clock, options.lookup);
  const securer = new Securer(authorities(options.caFile));
  const choose = proxyChooser(options.proxy ?? {});
  const timeoutMs = workerDefaults.connectTimeoutMs;

  const open = async (protocol: string, hostname: string, port: number): Promise<Socket> => {
    const host = bare(hostname);
    const proxy = choose(protocol, host, port);
    const limit = new AbortController();
    const timer = clock.timer(timeoutMs, () => limit.abort());
    let socket: Socket | undefined;
    try {
      if (proxy?.unusable) throw new WireFault('proxy', proxy.unusable);
      if (proxy) {
        socket = await dialProxy(dialer, proxy.host, proxy.port, timeoutMs, proxy.shown);
        if (proxy.tls) socket = await securer.secure(socket, proxy.host, proxy.port, limit.signal);
        await openTunnel(socket, proxy, hostPort(host, port), limit.signal);
      } else socket = await dialer.dial(host, port, timeoutMs);
      if (protocol === 'https:') socket = await securer.secure(socket, host, port, limit.signal);
      return socket;
    } catch (error) {
      socket?.destroy();
      throw error;
    } finally {
      timer.cancel();
    }
  };

  return (target, callback) => {
    const port = Number(target.port) || (target.protocol === 'https:' ? 443 : 80);
    open(target.protocol, target.hostname, port).then(
      (socket) => {
        const before = socket.bytesRead;
        socket.on('error', (error) => {
          if (socket.bytesRead > before) reused.add(error);
        });
        callback(null, socket);
      },
      (error: Error) => callback(error, null),
    );
  };
}

async function dialProxy(
  dialer: Dialer,
  host: string,
  port: number,
  timeoutMs: number,
  shown: string,
): Promise<Socket> {
  return dialer.dial(host, port, timeoutMs).catch((error: unknown) => {
    const why = error instanceof WireFault ? error.message : String(error);
    throw new WireFault('proxy', `The proxy ${shown} could not be reached: ${why}`);
  });
}

/** Whether a call failed because its connection, used before, was closed before any byte of the answer. */
function diedIdle(error: unknown, reused: WeakSet<object>): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error)) return false;
  const code = codeOf(cause);
  if (code !== 'UND_ERR_SOCKET' && code !== 'ECONNRESET' && code !== 'EPIPE') return false;
  const told = (cause as { socket?: { bytesRead?: number } | null }).socket?.bytesRead ?? 0;
  return reused.has(cause) || told > 0;
}
