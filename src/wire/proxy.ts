/** Which proxy, if any, a call goes through, and the CONNECT that opens a tunnel in it. */
import { BlockList, isIP, type Socket } from 'node:net';
import { TaskError } from '../contract/index.ts';
import { wireDefaults } from '../core/defaults.ts';
import { WireFault } from './fault.ts';
import { bare, hostPort, isLoopback } from './service-url.ts';

/** As in the environment variables: URLs, and the list of those that are reached directly. */
export interface ProxySettings {
  /** For https addresses. */
  readonly https?: string | undefined;
  /** For http addresses. */
  readonly http?: string | undefined;
  /** `NO_PROXY`: host, .suffix, host:port, CIDR or `*`, separated by commas. */
  readonly none?: string | undefined;
}

/** The same, and the names of the variables that they were read from, for people. */
export interface EnvironmentProxies extends ProxySettings {
  readonly from: {
    readonly https?: string | undefined;
    readonly http?: string | undefined;
    readonly none?: string | undefined;
  };
}

export interface Proxy {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly authorization: string | undefined;
  /** Without user and password. */
  readonly shown: string;
  /** Its variable, where it was one: `HTTPS_PROXY`. */
  readonly from?: string | undefined;
  /**
   * Why it cannot be used, where it is of another kind. Told when a call needs it and not at once: a
   * `socks5` in ALL_PROXY is often meant for others.
   */
  readonly unusable?: string;
}

/** How an address is reached. */
export interface Route {
  /** `undefined`: directly. */
  readonly proxy: Proxy | undefined;
  /** `through http://proxy.test:3128 (HTTPS_PROXY)`, `direct: NO_PROXY names x.test`. */
  readonly says: string;
}

/**
 * Reads `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`; the small-letter form wins, and one that is empty
 * counts as not set, as with curl.
 */
export function proxyFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): EnvironmentProxies {
  const set = (...names: string[]) =>
    names.flatMap((name) => [name.toLowerCase(), name]).find((name) => env[name]);
  const from = {
    https: set('HTTPS_PROXY', 'ALL_PROXY'),
    http: set('HTTP_PROXY', 'ALL_PROXY'),
    none: set('NO_PROXY'),
  };
  const read = (name: string | undefined) => (name === undefined ? undefined : env[name]);
  return { https: read(from.https), http: read(from.http), none: read(from.none), from };
}

/** Checks the settings once; what it returns picks the proxy of an address. Throws `INVALID_PROXY`. */
export function proxyChooser(
  settings: ProxySettings,
): (protocol: string, hostname: string, port: number) => Proxy | undefined {
  const route = proxyRoutes(settings);
  return (protocol, hostname, port) => route(protocol, hostname, port).proxy;
}

/** The same, with the reason in words. */
export function proxyRoutes(
  settings: ProxySettings,
): (protocol: string, hostname: string, port: number) => Route {
  const { from = {} } = settings as Partial<EnvironmentProxies>;
  const https = settings.https ? parseProxy(settings.https, from.https) : undefined;
  const http = settings.http ? parseProxy(settings.http, from.http) : undefined;
  const direct = directList(settings.none ?? '');
  return (protocol, hostname, port) => {
    const secure = protocol === 'https:';
    const proxy = secure ? https : http;
    const past = (why: string): Route => ({ proxy: undefined, says: `direct: ${why}` });
    // A key is allowed over plain http only because loopback never leaves this machine.
    if (!secure && isLoopback(hostname)) return past('http on this machine needs no proxy');
    if (!proxy) return past(`no ${secure ? 'HTTPS_PROXY' : 'HTTP_PROXY'} is set`);
    const host = bare(hostname).toLowerCase();
    if (direct(host, port)) return past(`${from.none ?? 'NO_PROXY'} names ${host}`);
    return { proxy, says: `through ${told(proxy)}` };
  };
}

/** As it is named in sentences. */
export function told({ shown, from }: Pick<Proxy, 'shown' | 'from'>): string {
  return from === undefined ? shown : `${shown} (${from})`;
}

/** Nothing of the text is repeated where it is refused: it may be, or hold, a password. */
function parseProxy(text: string, from: string | undefined): Proxy {
  const refuse = (why: string, hint = 'Write it as http://proxy.example.com:3128.'): never => {
    throw new TaskError('INVALID_PROXY', `The proxy address${from ? ` in ${from}` : ''} ${why}.`, {
      hint: from === undefined ? `${hint} (HTTPS_PROXY, HTTP_PROXY)` : hint,
    });
  };
  let url: URL;
  try {
    url = new URL(/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  } catch {
    return refuse('is no URL', text.includes('@') ? ENCODED : undefined);
  }
  // What was meant as a password has ended the address before its time.
  if (url.hash || url.search || url.pathname.includes('@'))
    return refuse('holds a "#", "?" or "/" where none belongs', ENCODED);
  let user: string;
  try {
    user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  } catch {
    return refuse('holds a "%" that begins no code', ENCODED);
  }
  const tls = url.protocol === 'https:';
  const host = bare(url.hostname);
  const port = Number(url.port) || (tls ? 443 : 80);
  const shown = `${url.protocol}//${hostPort(host, port)}`;
  const known = tls || url.protocol === 'http:';
  return {
    host,
    port,
    tls,
    authorization: user === ':' ? undefined : `Basic ${Buffer.from(user).toString('base64')}`,
    shown,
    ...(from === undefined ? {} : { from }),
    ...(known
      ? {}
      : { unusable: `The proxy ${told({ shown, from })} cannot be used, ${ONLY_HTTP}.` }),
  };
}

const ENCODED =
  'Write it as http://user:password@proxy.example.com:3128, with what is special in user or password encoded: @ is %40, : is %3A, / is %2F, # is %23, ? is %3F, % is %25.';
const ONLY_HTTP = 'only http and https proxies can: set HTTPS_PROXY, or add the host to NO_PROXY';

/** Names are not looked up for it, as everywhere: a CIDR fits addresses only. */
function directList(none: string): (host: string, port: number) => boolean {
  const nets = new BlockList();
  const names: { suffix: string; port: number | undefined }[] = [];
  for (const entry of none.toLowerCase().split(/[\s,]+/)) {
    if (entry === '*') return () => true;
    if (entry === '') continue;
    const [, net, bits] = /^\[?([\da-f.:]+)\]?\/(\d{1,3})$/.exec(entry) ?? [];
    const family = isIP(net ?? '');
    if (net !== undefined && family && Number(bits) <= (family === 6 ? 128 : 32)) {
      nets.addSubnet(net, Number(bits), family === 6 ? 'ipv6' : 'ipv4');
      continue;
    }
    const [, name = entry, port] = isIP(entry) ? [] : (/^(.+?)(?::(\d+))?$/.exec(entry) ?? []);
    names.push({ suffix: bare(name.replace(/^\*?\./, '')), port: port ? Number(port) : undefined });
  }
  return (host, port) => {
    const family = isIP(host);
    if (family && nets.check(host, family === 6 ? 'ipv6' : 'ipv4')) return true;
    return names.some(
      (name) =>
        (name.port ?? port) === port && (host === name.suffix || host.endsWith(`.${name.suffix}`)),
    );
  };
}

/**
 * Asks the proxy on this socket for a tunnel to `target` (`host:port`); the socket is then the tunnel.
 * `signal` ends the wait. Rejects with a `WireFault`.
 */
export async function openTunnel(
  socket: Socket,
  proxy: Proxy,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  const head = await new Promise<string>((resolve, reject) => {
    const fail = (why: string) =>
      end(() => reject(new WireFault('proxy', `The proxy ${told(proxy)} ${why}.`)));
    const onClose = () => fail('closed the connection instead of opening a tunnel');
    const onAbort = () => fail(`opened no tunnel to ${target} in time`);
    const onError = (error: Error) => fail(`failed: ${error.message}`);
    let got = Buffer.alloc(0);
    const onData = (chunk: Buffer) => {
      got = Buffer.concat([got, chunk]);
      const at = got.indexOf('\r\n\r\n');
      if (at >= 0) {
        end(() => {
          socket.pause();
          // Bytes of the tunnel itself that came with the answer.
          if (got.length > at + 4) socket.unshift(got.subarray(at + 4));
          resolve(got.toString('latin1', 0, at));
        });
      } else if (got.length > wireDefaults.proxyAnswerBytes) fail('answered no HTTP');
    };
    const end = (settle: () => void) => {
      socket.off('data', onData).off('close', onClose).off('error', onError);
      signal.removeEventListener('abort', onAbort);
      settle();
    };
    socket.on('data', onData).once('close', onClose).once('error', onError);
    signal.addEventListener('abort', onAbort);
    const auth = proxy.authorization ? `Proxy-Authorization: ${proxy.authorization}\r\n` : '';
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${auth}\r\n`);
    if (signal.aborted) onAbort();
  });
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? 0);
  if (status >= 200 && status < 300) return;
  throw new WireFault('proxy', refusal(proxy, status, target, head));
}

function refusal(proxy: Proxy, status: number, target: string, head: string): string {
  const name = told(proxy);
  if (status === 407) {
    const schemes = [...head.matchAll(/^proxy-authenticate:[ \t]*([\w-]{1,30})/gim)].map(
      ([, scheme = '']) => scheme,
    );
    if (schemes.length > 0 && !schemes.some((scheme) => scheme.toLowerCase() === 'basic'))
      return `The proxy ${name} asks for a sign-on by ${[...new Set(schemes)].join(', ')} (407), and only Basic is spoken here: let it admit this machine without, or put a proxy on this machine that signs on.`;
    const why = proxy.authorization
      ? 'refuses its user and password'
      : 'asks for a user and a password';
    return `The proxy ${name} ${why} (407): write them into the proxy's address.`;
  }
  if (status === 0) return `The proxy ${name} answered no HTTP: is that port a proxy?`;
  return `The proxy ${name} opened no tunnel to ${target} (it answered ${status}): check its rules, or add the host to NO_PROXY.`;
}
