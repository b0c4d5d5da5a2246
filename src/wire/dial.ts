/**
 * One TCP connection to a name that may have many addresses. They are tried in turn, a new one each 250 ms
 * or as soon as the last has failed, and the first that connects wins; a slow one is never given up for
 * being slow, a dead one never holds up the others. An address that accepted and then sent no byte comes
 * last for a while.
 */
import { lookup } from 'node:dns/promises';
import { connect, isIP, type Socket } from 'node:net';
import { wireDefaults } from '../core/defaults.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import { codeOf, connectWords, WireFault } from './fault.ts';
import { hostPort, isLocalName } from './service-url.ts';

export type Lookup = (host: string) => Promise<readonly string[]>;

export class Dialer {
  readonly #clock: Clock;
  readonly #lookup: Lookup;
  /** Names that are being asked for now: a slow DNS server is not asked in parallel. */
  readonly #asked = new Map<string, Promise<readonly string[]>>();
  /** `address:port` → the newest connection to it, which tells whether anybody spoke there. */
  readonly #newest = new Map<string, Socket>();
  /** `address:port` that accepted and stayed silent → until when it comes last (`now`). */
  readonly #silent = new Map<string, number>();

  constructor(clock: Clock, find: Lookup = systemLookup) {
    this.#clock = clock;
    this.#lookup = find;
  }

  /** Rejects with a `WireFault` that tells what became of each address. */
  async dial(host: string, port: number, timeoutMs: number): Promise<Socket> {
    const until = this.#clock.now() + timeoutMs;
    const addresses = await this.#addresses(host, timeoutMs);
    const left = Math.max(1, until - this.#clock.now());
    const ordered = this.#inOrder(addresses, port);
    const socket = await race(this.#clock, host, port, ordered, left, timeoutMs);
    if (this.#newest.size >= wireDefaults.addressesKept) this.#newest.clear();
    this.#newest.set(hostPort(socket.remoteAddress ?? host, port), socket);
    return socket;
  }

  async #addresses(host: string, timeoutMs: number): Promise<readonly string[]> {
    if (isIP(host)) return [host];
    if (isLocalName(host)) return this.#local(host);
    const asked = this.#asked.get(host) ?? this.#lookup(host);
    if (!this.#asked.has(host)) {
      this.#asked.set(host, asked);
      const done = () => this.#asked.delete(host);
      asked.then(done, done);
    }
    const found = await within(this.#clock, timeoutMs, asked).catch((error: unknown) => {
      const code = codeOf(error);
      const advice =
        code === 'ENOTFOUND'
          ? 'check the address for a typing error, or the DNS of this machine'
          : 'check the DNS of this machine';
      throw new WireFault('dns', `The name "${host}" could not be looked up (${code}): ${advice}.`);
    });
    if (found === undefined || found.length === 0) {
      const why = found
        ? 'has no address'
        : `was not answered by DNS within ${timeoutMs / 1_000} s`;
      throw new WireFault('dns', `The name "${host}" ${why}: check the DNS of this machine.`);
    }
    return found;
  }

  /** This machine, also where no hosts file says so; an address elsewhere is not believed. */
  async #local(host: string): Promise<readonly string[]> {
    const found = await this.#lookup(host).catch(() => []);
    const kept = found.filter((address) => address === '::1' || address.startsWith('127.'));
    return kept.length > 0 ? kept : ['127.0.0.1', '::1'];
  }

  #inOrder(addresses: readonly string[], port: number): string[] {
    const mixed = mixFamilies(addresses).slice(0, wireDefaults.addressesMax);
    const silent = mixed.filter((address) => this.#isSilent(hostPort(address, port)));
    return [...mixed.filter((address) => !silent.includes(address)), ...silent];
  }

  #isSilent(address: string): boolean {
    const now = this.#clock.now();
    if (this.#silent.size > wireDefaults.addressesKept) this.#silent.clear();
    const last = this.#newest.get(address);
    // Looked at when it matters: whoever gave up a call may be here before the socket's own close event.
    if (last?.destroyed) {
      this.#newest.delete(address);
      if (last.bytesRead > 0) this.#silent.delete(address);
      else if (last.bytesWritten > 0) this.#silent.set(address, now + wireDefaults.silentAddressMs);
    }
    const until = this.#silent.get(address);
    if (until === undefined) return false;
    if (until > now) return true;
    this.#silent.delete(address);
    return false;
  }
}

async function systemLookup(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}

/** The first family first, then by turns: a family without a route costs one step, not all of them. */
function mixFamilies(addresses: readonly string[]): string[] {
  const first = addresses.filter((a) => isIP(a) === isIP(addresses[0] ?? ''));
  const second = addresses.filter((a) => !first.includes(a));
  const turns = first.flatMap((a, i) => (second[i] === undefined ? [a] : [a, second[i]]));
  return [...turns, ...second.slice(first.length)];
}

/** @param timeoutMs what is left. @param toldMs the whole limit, for the sentence. */
function race(
  clock: Clock,
  host: string,
  port: number,
  addresses: readonly string[],
  timeoutMs: number,
  toldMs: number,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const open = new Map<string, Socket>();
    const failed: string[] = [];
    let next = 0;
    let stagger: Timer | undefined;

    const end = (settle: () => void) => {
      stagger?.cancel();
      deadline.cancel();
      const losers = [...open.values()];
      open.clear();
      for (const socket of losers) socket.destroy();
      settle();
    };
    const give = () => end(() => reject(unreachable(host, failed)));
    const tryNext = () => {
      stagger?.cancel();
      const address = addresses[next++];
      if (address === undefined) {
        if (open.size === 0) give();
        return;
      }
      const socket = connect({ host: address, port, noDelay: true });
      // A peer that vanished without a word is noticed on an idle stream too.
      socket.setKeepAlive(true, wireDefaults.tcpKeepAliveMs);
      open.set(address, socket);
      socket.once('connect', () => {
        if (open.delete(address)) end(() => resolve(socket));
      });
      // Stays for the life of the socket: an error between two owners must not end the process.
      socket.on('error', (error) => {
        if (!open.delete(address)) return;
        failed.push(`${hostPort(address, port)} ${connectWords(codeOf(error), error.message)}`);
        tryNext();
      });
      if (next < addresses.length) stagger = clock.timer(wireDefaults.staggerMs, tryNext);
    };
    const deadline = clock.timer(timeoutMs, () => {
      for (const address of open.keys())
        failed.push(`${hostPort(address, port)} did not answer within ${toldMs / 1_000} s`);
      give();
    });
    tryNext();
  });
}

function unreachable(host: string, failed: readonly string[]): WireFault {
  const refused = failed.length > 0 && failed.every((text) => text.includes('ECONNREFUSED'));
  const next = refused
    ? 'nothing listens there; is the control plane running?'
    : 'check the address, the network and firewalls on the way.';
  const [only = `no address of "${host}" was left to try`] = failed;
  const what =
    failed.length > 1 ? `No address of "${host}" could be reached: ${failed.join('; ')}` : only;
  return new WireFault('connect', `${what}: ${next}`);
}

/** The promise's value, or `undefined` when the time is over first. */
async function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: Timer | undefined;
  const over = new Promise<undefined>((resolve) => {
    timer = clock.timer(ms, () => resolve(undefined));
  });
  return Promise.race([work, over]).finally(() => timer?.cancel());
}
