/** TLS on a connection, with sentences for the ways in which it fails. */
import { readFileSync } from 'node:fs';
import { isIP, type Socket } from 'node:net';
import * as tls from 'node:tls';
import { TaskError } from '../contract/index.ts';
import { wireDefaults } from '../core/defaults.ts';
import { codeOf, WireFault } from './fault.ts';
import { hostPort } from './service-url.ts';

/** The system's authorities and those of a PEM file beside them. Throws `CA_FILE_UNREADABLE`. */
export function authorities(caFile: string | undefined): string[] | undefined {
  if (caFile === undefined) return undefined;
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
  // Node 20 cannot tell which authorities it uses; these are its own.
  const known = tls.getCACertificates?.('default') ?? tls.rootCertificates;
  return [...known, ...given];
}

export class Securer {
  readonly #ca: string[] | undefined;
  /** The last session of each peer: a new connection to it is one round trip shorter. */
  readonly #sessions = new Map<string, Buffer>();

  constructor(ca: string[] | undefined) {
    this.#ca = ca;
  }

  /** Rejects with a `WireFault`; the socket is then destroyed. `signal` ends the wait. */
  secure(socket: Socket, host: string, port: number, signal: AbortSignal): Promise<tls.TLSSocket> {
    const peer = hostPort(host, port);
    return new Promise((resolve, reject) => {
      const session = this.#sessions.get(peer);
      const secured = tls.connect({
        socket,
        host,
        ...(isIP(host) ? {} : { servername: host }),
        ...(this.#ca ? { ca: this.#ca } : {}),
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

function tlsWords(error: Error, peer: string): string {
  const code = codeOf(error) ?? '';
  if (/SELF_SIGNED|UNABLE_TO|CERT_UNTRUSTED|ISSUER/.test(code))
    return `The certificate of ${peer} is signed by nobody known here (${code}): give the authority's certificate with --ca-file.`;
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
