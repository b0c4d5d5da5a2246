/** Where a request came from, as far as headers that a browser or a socket sets can tell. */

/** What the socket knows of the other side. */
export interface Peer {
  /** Without brackets or zone. */
  readonly address: string;
  /**
   * Both ends of the connection are this machine's own loopback addresses, and it speaks HTTP/1.1, as all browsers do and some
   * proxies do not.
   */
  readonly loopback: boolean;
  /** Whether it is of the control plane's own user, or of root; `undefined`: the system does not tell. Absent where nobody asks it. */
  ours?(): Promise<boolean | undefined>;
}

export interface Place {
  /** The control plane listens on loopback only, and says of no proxy in front. */
  readonly loopback: boolean;
  readonly behindProxy: boolean;
  /** The browser speaks TLS, with us or with the proxy. */
  readonly secure: boolean;
}

/**
 * Whether a request came from somebody at this machine, who needs no key: both ends are loopback, nothing says that it was
 * passed on by a proxy, the name it asked for cannot be one that somebody else's DNS made point here (rebinding), and no page of
 * another site has made a browser ask. A proxy that shows nothing of itself mostly runs as a user of its own.
 */
export async function isLocal(
  { headers, url }: Request,
  peer: Peer | undefined,
  place: Place,
): Promise<boolean> {
  // Who speaks TLS on loopback does so for others, whom something passes on.
  if (peer?.loopback !== true || !place.loopback || place.behindProxy || place.secure) return false;
  for (const name of headers.keys()) if (PASSED_ON.test(name)) return false;
  // A request may name its host in its first line too, and that one counts.
  for (const host of [headers.get('host') ?? '', new URL(url).host])
    if (!LOCAL_HOST.test(host)) return false;
  // Only a link that was followed shows what it opens to a person.
  const site = headers.get('sec-fetch-site');
  const foreign = site === 'cross-site' || site === 'same-site';
  if (foreign && headers.get('sec-fetch-mode') !== 'navigate') return false;
  return (await peer.ours?.()) !== false;
}

const PASSED_ON =
  /^(?:forwarded|via|x-forwarded.*|x-original-.*|x-real-ip|.*-client-ip|x-cluster-.*|x-envoy-.*|x-request-id|x-scheme|x-url-scheme|x-appengine-.*|proxy-.*|cf-.*|tailscale-.*)$/;
const LOCAL_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

export function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && /^(?:::1|(?:::ffff:)?127(?:\.\d{1,3}){3})$/i.test(address);
}

/**
 * Whether a form was sent from one of our own pages. Browsers say so in headers that no page can set: `Sec-Fetch-Site` where
 * the connection is safe, `Origin` elsewhere. What says nothing is no browser, and has to have the token anyway.
 */
export function isOwnForm(headers: Headers, place: Place): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin') return false;
  const origin = headers.get('origin');
  if (origin === null) return true;
  const asked = [headers.get('host'), place.behindProxy ? headers.get('x-forwarded-host') : null];
  // A proxy may have asked us for another name; the browser has compared the two itself then.
  if (site === 'same-origin' && place.behindProxy) return origin !== 'null';
  return asked.some((host) => host !== null && hostOf(origin) === host.toLowerCase());
}

/** What is known of a form that is none of ours: behind a proxy that keeps the name it was asked for to itself, it may be one. */
export function foreignWords(headers: Headers): string {
  const site = headers.get('sec-fetch-site');
  const from = hostOf(headers.get('origin') ?? '');
  const elsewhere = site !== null && site !== 'same-origin';
  if (elsewhere || from === undefined)
    return 'It was sent from a page of another site. Nothing was done.';
  const origin = (headers.get('origin') ?? '').slice(0, 200);
  const host = (headers.get('host') ?? 'no name').slice(0, 200);
  return `The browser says it is at ${origin}, but the request asked for ${host}. Nothing was done. If a proxy stands between, let it pass the name on that it was asked for: in Host, or in X-Forwarded-Host to a control plane that runs with --behind-proxy (nginx: proxy_set_header Host $http_host). Else it was sent from a page of another site.`;
}

function hostOf(origin: string): string | undefined {
  return /^https?:\/\/([^/?#@]+)$/i.exec(origin)?.[1]?.toLowerCase();
}

/** Whom wrong keys are counted for: of a network's IPv6 addresses its owner has 2^64. */
export function countedAddress(headers: Headers, peer: Peer | undefined, place: Place): string {
  // The last one is what the proxy itself saw.
  const forwarded = place.behindProxy && headers.get('x-forwarded-for')?.split(',').at(-1)?.trim();
  const address = (forwarded || peer?.address || '').replace(/^::ffff:/i, '').slice(0, 64);
  return address.includes(':') ? address.split(':').slice(0, 4).join(':') : address;
}
