/**
 * The real `WireFetch`: HTTP over connections that this file makes itself (addresses raced, proxy,
 * private authorities), in lanes of their own. Time limits are the caller's: its signal ends a call.
 */
import type { Socket } from 'node:net';
import { wireDefaults, workerDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';
import { isBadPort } from './bad-ports.ts';
import { Connections, type Opener } from './connections.ts';
import { Dialer, type Lookup } from './dial.ts';
import { codeOf, WireFault } from './fault.ts';
import type { Lane, WireFetch } from './fetch.ts';
import { exchange } from './plain-line.ts';
import { openTunnel, type ProxySettings, proxyChooser, told } from './proxy.ts';
import { authorities, Securer } from './secure.ts';
import { bare, hostPort } from './service-url.ts';

export interface FetchOptions {
  readonly clock: Clock;
  /** PEM file with further authorities. */
  readonly caFile?: string | undefined;
  readonly proxy?: ProxySettings | undefined;
  /** How many connections each lane may have at the same time [a worker's]. */
  readonly connections?: Partial<Readonly<Record<Lane, number>>> | undefined;
  /** For tests: those of the operating system. */
  readonly systemAuthorities?: (() => readonly string[]) | undefined;
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
  const open = opener(options);
  const { connections = {} } = options;
  const lanes: Record<Lane, Connections> = {
    calls: new Connections(open, connections.calls ?? wireDefaults.connections),
    renew: new Connections(open, connections.renew ?? wireDefaults.renewConnections),
    stream: new Connections(open, connections.stream ?? wireDefaults.streamConnections),
  };
  return {
    fetch: async (url, init) => {
      const target = targetOf(url);
      if (isBadPort(target)) throw new Error('bad port');
      const { signal, lane = 'calls' } = init;
      const connection = await lanes[lane].take(target, signal, false);
      const { socket, calls } = connection;
      const before = socket.bytesRead;
      return exchange(connection, target, init).catch(async (error: unknown) => {
        // A kept connection may have been closed by the peer at the moment it was used again. No byte of an
        // answer came, and every call may be repeated (ids, fences and keys see to that), so it is, once.
        const diedIdle =
          calls > 0 && socket.bytesRead === before && CLOSED.test(codeOf(error) ?? '');
        if (!diedIdle || init.once || signal.aborted) throw error;
        return exchange(await lanes[lane].take(target, signal, true), target, init);
      });
    },
    close: async () => {
      for (const lane of Object.values(lanes)) lane.close();
    },
  };
}

/** Most calls go to the same few addresses again and again. */
const targets = new Map<string, URL>();

function targetOf(url: string): URL {
  let target = targets.get(url);
  if (target === undefined) {
    target = new URL(url);
    if (targets.size >= TARGETS_MAX) targets.clear();
    targets.set(url, target);
  }
  return target;
}

/** Others have ids in them and come once. */
const TARGETS_MAX = 16;

const CLOSED = /^(ECONNRESET|EPIPE)$/;

function opener(options: FetchOptions): Opener {
  const { clock } = options;
  const dialer = new Dialer(clock, options.lookup);
  const securer = new Securer(authorities(options.caFile), options.systemAuthorities);
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
        socket = await dialProxy(dialer, proxy.host, proxy.port, timeoutMs, told(proxy));
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

  return async ({ protocol, hostname, port }) => {
    const number = Number(port) || (protocol === 'https:' ? 443 : 80);
    const knew = securer.knows;
    return open(protocol, hostname, number).catch((error: unknown) => {
      if (!securer.learn(error, knew)) throw error;
      return open(protocol, hostname, number);
    });
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
