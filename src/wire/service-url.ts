import { BlockList, isIP } from 'node:net';
import { hideInAddress, hideKeys } from '../contract/hidden.ts';
import { BASE_PATH, TaskError } from '../contract/index.ts';

/** Where a control plane lives. */
export interface ServiceAddress {
  /** With the base path, without a slash at the end. */
  readonly base: string;
  readonly origin: string;
  /** As people write it. */
  readonly shown: string;
}

/**
 * Reads the address of a control plane, with or without a slash at its end. Throws `INVALID_ADDRESS`, or
 * `INSECURE_HTTP` where a key would travel readable: http beyond loopback, unless `insecureHttp`.
 */
export function serviceAddress(serviceUrl: string, insecureHttp = false): ServiceAddress {
  const url = parse(serviceUrl);
  if (url.protocol === 'http:' && !insecureHttp && !isLoopback(url.hostname)) {
    throw new TaskError(
      'INSECURE_HTTP',
      `${hideKeys(url.origin)} is plain http beyond this machine: the key could be read on its way.`,
      {
        hint: 'Use https, or allow it with --insecure-http (`insecureHttp: true`) on a network that you trust.',
      },
    );
  }
  const path = url.pathname.replace(/\/+$/, '');
  const above = path.endsWith(BASE_PATH) ? path.slice(0, -BASE_PATH.length) : path;
  const shown = url.origin + above;
  return { base: shown + BASE_PATH, origin: url.origin, shown };
}

/** An address as it was given, also a bad one; not whole: it may hold a password, or a token behind its "?". */
export function shownAddress(serviceUrl: string): string {
  return hideInAddress(serviceUrl)
    .replace(/[?#].*/s, '?…')
    .slice(0, SHOWN_CHARS);
}

function parse(serviceUrl: string): URL {
  const refuse = (why: string): never => {
    throw new TaskError('INVALID_ADDRESS', `The address of the control plane ${why}.`, {
      hint: 'Write it as https://tasks.example.com or http://127.0.0.1:7420.',
    });
  };
  const text = serviceUrl.trim();
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return refuse(`is no URL ("${shownAddress(text)}")`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    // `user:password@host` has a protocol too.
    return refuse(
      `must begin with https:// or http://${text.includes('@') && !text.includes('://') ? '' : `, not ${url.protocol}`}`,
    );
  if (url.username || url.password) return refuse('holds a user or a password; keys go elsewhere');
  // `https://user:12/34@host`: the slash of a password has ended the host before its time.
  if (url.pathname.includes('@'))
    return refuse('holds an "@"; users and passwords have no place in it (in a path, write %40)');
  if (url.search || url.hash) return refuse(`must end with its path (without "?" and "#")`);
  return url;
}

/** More than any good address has. */
const SHOWN_CHARS = 200;
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether a host name or address (in brackets or not) is this machine. */
export function isLoopback(hostname: string): boolean {
  const host = bare(hostname);
  const version = isIP(host);
  if (version) return loopback.check(host, version === 6 ? 'ipv6' : 'ipv4');
  return isLocalName(host);
}

/** `localhost` and names below it: never asked of a DNS server, never another machine (RFC 6761). */
export function isLocalName(host: string): boolean {
  return /^(?:.+\.)?localhost\.?$/i.test(host);
}

/** `[::1]` → `::1`. */
export function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** `::1`, 7420 → `[::1]:7420`. */
export function hostPort(host: string, port: number | string): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
