import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { TaskError } from '../contract/errors.ts';
import { serverDefaults } from '../core/defaults.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';

/** Where a certificate (PEM, the chain after it) and its key stand. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A pair that fits and is not over. */
export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly names: string;
  readonly validFromMs: number;
  readonly validToMs: number;
}

/** Older versions are broken; Node's own choice of ciphers for these is sound. */
export const TLS_OPTIONS = { minVersion: 'TLSv1.2' } as const satisfies SecureContextOptions;

/**
 * Reads the pair whole, before any of it is used.
 *
 * @throws TaskError `TLS_UNUSABLE` (a file that is not there, cannot be read or holds something else), `TLS_MISMATCH`,
 *   `TLS_EXPIRED`.
 */
export function readCertificate({ certFile, keyFile }: TlsFiles, wallMs: number): Certificate {
  const cert = readPem(certFile, '--tls-cert', 'certificate');
  const key = readPem(keyFile, '--tls-key', 'private key');
  const swapped = cert.includes('PRIVATE KEY') && key.includes('BEGIN CERTIFICATE');
  const parsed = usable(certFile, 'certificate', swapped, () => new X509Certificate(cert));
  if (key.includes('ENCRYPTED'))
    throw unusable(
      `The private key ${keyFile} is protected by a passphrase, and nobody could type it when this starts by itself.`,
      `Write it without one into a file of this user (0600): openssl pkey -in ${keyFile} -out <file>.`,
    );
  const privateKey = usable(keyFile, 'private key', swapped, () => createPrivateKey(key));
  if (!parsed.checkPrivateKey(privateKey))
    throw new TaskError(
      'TLS_MISMATCH',
      `The key ${keyFile} is not the one of the certificate ${certFile} (${parsed.subject.replaceAll('\n', ', ')}).`,
      {
        hint: 'Give the two that were made together. Where the file holds a chain, the own certificate is its first.',
      },
    );
  const [validFromMs, validToMs] = [Date.parse(parsed.validFrom), Date.parse(parsed.validTo)];
  if (validToMs <= wallMs)
    throw new TaskError(
      'TLS_EXPIRED',
      `The certificate ${certFile} has expired (${day(validToMs)}): every client would refuse it.`,
      { hint: 'Renew it, or check the clock of this machine.' },
    );
  // What OpenSSL has against it (a key that is too short) shows here, not at the first connection.
  usable(certFile, 'certificate and key', false, () =>
    createSecureContext({ ...TLS_OPTIONS, cert, key }),
  );
  const names = parsed.subjectAltName ?? parsed.subject.replaceAll('\n', ', ');
  return { cert, key, names, validFromMs, validToMs };
}

export interface SecureServer {
  setSecureContext(options: SecureContextOptions): void;
}

/**
 * Takes a new pair when its files change, so that renewing needs no restart: new connections get it, open ones go on.
 * A pair that cannot be used is told, and the one in use stays. Also tells of one that ends soon. Woken by time, every
 * `certificateLookMs`; ends with `stop`.
 */
export class CertificateLoop {
  readonly #files: TlsFiles;
  readonly #server: SecureServer;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #everyMs: number;
  #current: Certificate;
  /** Of the files as they were looked at last, whatever became of it. */
  #seen: string;
  #warnedAt = Number.NEGATIVE_INFINITY;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: {
    readonly files: TlsFiles;
    readonly current: Certificate;
    readonly server: SecureServer;
    readonly clock: Clock;
    readonly log: Log;
    readonly everyMs: number;
  }) {
    this.#files = options.files;
    this.#server = options.server;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#everyMs = options.everyMs;
    this.#current = options.current;
    this.#seen = stampOf(options.files);
  }

  start(): void {
    this.#tellOpen();
    this.#tell();
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (await this.#clock.sleep(this.#everyMs, this.#stop.signal)) {
      const stamp = stampOf(this.#files);
      if (stamp !== this.#seen) {
        this.#seen = stamp;
        this.#take();
      }
      this.#tell();
    }
  }

  #take(): void {
    const { certFile } = this.#files;
    try {
      const fresh = readCertificate(this.#files, this.#clock.wall());
      if (fresh.cert.equals(this.#current.cert) && fresh.key.equals(this.#current.key)) return;
      this.#server.setSecureContext({ ...TLS_OPTIONS, cert: fresh.cert, key: fresh.key });
      this.#current = fresh;
      this.#warnedAt = Number.NEGATIVE_INFINITY;
      this.#tellOpen();
      this.#log.info(
        'tls.renewed',
        `The certificate ${certFile} was read again: ${fresh.names}, until ${day(fresh.validToMs)}.`,
      );
    } catch (error) {
      // Also where only one of the two files has been replaced so far: the other one's change is looked at again.
      const why = error instanceof Error ? error.message : String(error);
      this.#log.warn('tls.kept', `The certificate that is in use stays: ${why}`);
    }
  }

  /** Whoever has the key can pass for this control plane. A group that may read it has been given that on purpose. */
  #tellOpen(): void {
    const { keyFile } = this.#files;
    const mode = statSync(keyFile, { throwIfNoEntry: false })?.mode ?? 0;
    if (process.platform === 'win32' || (mode & OTHERS) === 0) return;
    this.#log.warn(
      'tls.key-kept-openly',
      `The private key ${keyFile} is open to other users of this machine (mode ${(mode & 0o777).toString(8).padStart(4, '0')}): chmod 600 ${keyFile}`,
    );
  }

  #tell(): void {
    const wallMs = this.#clock.wall();
    const { validFromMs, validToMs } = this.#current;
    const left = validToMs - wallMs;
    const early = validFromMs > wallMs;
    if (left > serverDefaults.certificateEndsSoonMs && !early) return;
    if (this.#clock.now() - this.#warnedAt < DAY_MS) return;
    this.#warnedAt = this.#clock.now();
    const { certFile } = this.#files;
    if (left <= 0)
      this.#log.error(
        'tls.expired',
        `The certificate ${certFile} has expired (${day(validToMs)}): clients refuse it. Replace the files; they are read again by themselves.`,
      );
    else if (early)
      this.#log.warn(
        'tls.not-yet-valid',
        `The certificate ${certFile} is valid from ${day(validFromMs)} on: clients refuse it until then. Check the clock of this machine.`,
      );
    else
      this.#log.warn(
        'tls.expires-soon',
        `The certificate ${certFile} expires in ${Math.floor(left / DAY_MS)} days (${day(validToMs)}). Replace the files; they are read again by themselves.`,
      );
  }
}

const DAY_MS = 86_400_000;
/** Rights of everybody, and the group's to write. */
const OTHERS = 0o027;
/** A chain of a dozen certificates is some 20 KB. */
const PEM_BYTES_MAX = 1_048_576;

const day = (ms: number) => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');

/** Changes when a file is written, replaced, or its rights are; also through symbolic links. */
function stampOf({ certFile, keyFile }: TlsFiles): string {
  return [certFile, keyFile]
    .map((file) => {
      const found = statSync(file, { throwIfNoEntry: false, bigint: true });
      return found
        ? `${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`
        : '-';
    })
    .join(' ');
}

function readPem(file: string, flag: string, what: string): Buffer {
  let why: string;
  try {
    const found = statSync(file);
    if (found.isFile() && found.size <= PEM_BYTES_MAX) return readFileSync(file);
    why = found.isFile() ? 'is too large for one' : 'is no file';
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? message})`;
  }
  throw unusable(
    `The ${what} ${file} ${why}.`,
    `Give ${flag} a file in PEM form that this user may read.`,
  );
}

function usable<T>(file: string, what: string, swapped: boolean, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw unusable(
      `${file} holds no ${what} that can be used (${why}).`,
      swapped
        ? 'The two files are the wrong way round: --tls-cert is the certificate, --tls-key its key.'
        : 'It must be in PEM form: a text that begins with -----BEGIN.',
      error,
    );
  }
}

function unusable(message: string, hint: string, cause?: unknown): TaskError {
  return new TaskError('TLS_UNUSABLE', message, { hint, cause });
}
