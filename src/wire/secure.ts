/** TLS on a connection, with sentences for the ways in which it fails. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isIP, type Socket } from 'node:net';
import type { SecureContext, TLSSocket } from 'node:tls';
import { TaskError } from '../contract/index.ts';
import { wireDefaults } from '../core/defaults.ts';
import { codeOf, WireFault } from './fault.ts';
import { hostPort } from './service-url.ts';

/** Authorities of a PEM file, beside those that are trusted anyway. Throws `CA_FILE_UNREADABLE`. */
export function authorities(caFile: string | undefined): string[] {
  if (caFile === undefined) return [];
  const refuse = (why: string, cause?: unknown): never => {
    throw new TaskError('CA_FILE_UNREADABLE', `The CA file ${caFile} ${why}.`, {
      hint: 'Give a PEM file with the certificate of the authority (--ca-file).',
      cause,
    });
  };
  let pem: string;
  try {
    pem = readFileSync(caFile, 'utf8');
  } catch (error) {
    return refuse(`cannot be read (${codeOf(error)})`, error);
  }
  const given = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g);
  if (!given) return refuse('holds no certificate in PEM form');
  for (const [i, one] of given.entries()) {
    try {
      new X509Certificate(one);
    } catch (error) {
      refuse(`holds a damaged certificate (number ${i + 1} of ${given.length})`, error);
    }
  }
  return given;
}

/** Loaded for the first connection with TLS: on plain ones it would only cost its memory. */
const tls = (): typeof import('node:tls') => createRequire(import.meta.url)('node:tls');

/** What the store of the operating system holds; nothing on a Node.js that cannot read it (before 22.15). */
export function systemAuthorities(): string[] {
  return tls().getCACertificates?.('system') ?? [];
}

/**
 * Trusts the authorities that come with Node.js (with NODE_EXTRA_CA_CERTS), those that were given, and those of the
 * operating system, where companies install theirs. The system's are read only when a certificate is signed by nobody
 * else: that costs 70 ms and another 30 ms to make a context of some 600 of them (Debian, 2 cores), for which nobody
 * should wait whose control plane has a well-known certificate, and a connection is tried once more then.
 */
export class Securer {
  readonly #given: readonly string[];
  readonly #readSystem: () => readonly string[];
  /** `undefined` until they were needed. */
  #system: readonly string[] | undefined;
  /** One for all connections: making it from a list costs 5 ms. */
  #context: SecureContext | undefined;
  /** The last session of each peer: a new connection to it is one round trip shorter. */
  readonly #sessions = new Map<string, Buffer>();

  constructor(given: readonly string[], readSystem: () => readonly string[] = systemAuthorities) {
    this.#given = given;
    this.#readSystem = readSystem;
  }

  /** How much is trusted: grows when more is. */
  get knows(): number {
    return this.#system === undefined ? 0 : 1;
  }

  /**
   * Whether a connection that failed so may succeed now, since more is trusted than when it was begun.
   * @param knew `knows` at that time
   */
  learn(error: unknown, knew: number): boolean {
    const fault = error instanceof WireFault && error.reason === 'tls' ? error.cause : undefined;
    if (!UNKNOWN_ISSUER.test(codeOf(fault) ?? '')) return false;
    if (this.#system === undefined) {
      this.#system = this.#readSystem();
      this.#context = undefined;
    }
    return this.knows > knew && this.#system.length > 0;
  }

  #trusting(): SecureContext {
    const more = [...this.#given, ...(this.#system ?? [])];
    // Node 20 cannot tell which authorities it uses; these are its own.
    const known = () => tls().getCACertificates?.('default') ?? tls().rootCertificates;
    this.#context ??= tls().createSecureContext(
      more.length > 0 ? { ca: [...known(), ...more] } : {},
    );
    return this.#context;
  }

  /** Rejects with a `WireFault`; the socket is then destroyed. `signal` ends the wait. */
  secure(socket: Socket, host: string, port: number, signal: AbortSignal): Promise<TLSSocket> {
    const peer = hostPort(host, port);
    return new Promise((resolve, reject) => {
      const session = this.#sessions.get(peer);
      const secured = tls().connect({
        socket,
        host,
        ...(isIP(host) ? {} : { servername: host }),
        secureContext: this.#trusting(),
        ...(session ? { session } : {}),
        ALPNProtocols: ['http/1.1'],
      });
      const end = (settle: () => void) => {
        secured.off('secureConnect', onSecure).off('error', onError).off('close', onClose);
        signal.removeEventListener('abort', onAbort);
        settle();
      };
      const fail = (why: string, cause?: unknown) =>
        end(() => {
          // A session that a changed certificate made useless must not stay.
          this.#sessions.delete(peer);
          secured.on('error', () => {});
          secured.destroy();
          socket.destroy();
          reject(new WireFault('tls', why, cause));
        });
      const onSecure = () => end(() => resolve(secured));
      const onError = (error: Error) => fail(tlsWords(error, peer), error);
      const onClose = () => fail(`${peer} closed the connection during the TLS handshake.`);
      const onAbort = () =>
        fail(
          `${peer} accepted the connection but did not finish the TLS handshake in time: is that port https?`,
        );
      secured.once('secureConnect', onSecure).once('error', onError).once('close', onClose);
      signal.addEventListener('abort', onAbort);
      secured.on('session', (fresh) => {
        if (this.#sessions.size >= wireDefaults.addressesKept) this.#sessions.clear();
        this.#sessions.set(peer, fresh);
      });
      if (signal.aborted) onAbort();
    });
  }
}

const UNKNOWN_ISSUER = /SELF_SIGNED|UNABLE_TO|CERT_UNTRUSTED|ISSUER/;

function tlsWords(error: Error, peer: string): string {
  const code = codeOf(error) ?? '';
  if (UNKNOWN_ISSUER.test(code))
    return `The certificate of ${peer} is signed by nobody known here or to this system (${code}): give the authority's certificate with --ca-file.`;
  if (code === 'CERT_HAS_EXPIRED')
    return `The certificate of ${peer} has expired (${code}): renew it there, or check the clock of this machine.`;
  if (code === 'CERT_NOT_YET_VALID')
    return `The certificate of ${peer} is not valid yet (${code}): check the clock of this machine.`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `The certificate of ${peer} is for other names (${code}): use the name that it was made for.`;
  if (/^(EPROTO|ERR_SSL_)/.test(code) || /wrong version number|packet length/.test(error.message))
    return `${peer} does not speak TLS as we do (${code || error.message}): is it http://?`;
  if (code === 'ECONNRESET')
    return `${peer} closed the connection during the TLS handshake (${code}): is that port https?`;
  return `TLS with ${peer} failed (${code || error.message}).`;
}
