import type { Peer, Place } from '../../src/pages/peer.ts';
import type { World } from '../control-plane/world.ts';

/** A control plane on loopback, without TLS and without a proxy. */
export const HERE: Place = { loopback: true, behindProxy: false, secure: false };
/** One that is reached from elsewhere, by TLS. */
export const BEYOND: Place = { loopback: false, behindProxy: false, secure: true };
/** Somebody elsewhere. */
export const FAR: Peer = { address: '192.0.2.7', loopback: false };

/** A browser with its cookies, as far as the server can tell. */
export class Visitor {
  readonly #world: World;
  readonly #peer: Peer;
  readonly #host: string;
  readonly cookies = new Map<string, string>();

  /** @param options `peer`: default somebody at this machine. */
  constructor(world: World, options: { readonly peer?: Peer; readonly host?: string } = {}) {
    this.#world = world;
    this.#peer = options.peer ?? { address: '127.0.0.1', loopback: true };
    this.#host = options.host ?? '127.0.0.1:7420';
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') {
    return this.#ask(path, { method, headers });
  }

  /** @param fields without the token. `token`: default the one of the page at `from`. */
  async post(
    path: string,
    fields: Readonly<Record<string, string>>,
    options: { token?: string; from?: string; headers?: Readonly<Record<string, string>> } = {},
  ) {
    const token = options.token ?? (await this.token(options.from ?? '/sign-in'));
    return this.#ask(path, {
      method: 'POST',
      body: new URLSearchParams({ ...fields, token }).toString(),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: `http://${this.#host}`,
        ...options.headers,
      },
    });
  }

  async token(from: string): Promise<string> {
    const { text } = await this.get(from);
    return /name="token" value="([^"]+)"/.exec(text)?.[1] ?? '';
  }

  async signIn(key: string, to = '/tasks') {
    return this.post('/sign-in', { key, to });
  }

  async #ask(
    path: string,
    init: { method: string; body?: string; headers: Readonly<Record<string, string>> },
  ) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const request = new Request(`http://${this.#host}${path}`, {
      method: init.method,
      headers: {
        accept: 'text/html,*/*',
        host: this.#host,
        ...(cookie && { cookie }),
        ...init.headers,
      },
      ...(init.body !== undefined && { body: init.body }),
      redirect: 'manual',
    });
    const response = await this.#world.app.fetch(request, this.#peer);
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/Max-Age=0/.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const stream = response.headers.get('content-type') === 'text/event-stream';
    return {
      status: response.status,
      headers: response.headers,
      location: response.headers.get('location'),
      text: stream ? '' : await response.text(),
      body: stream ? response.body : null,
    };
  }
}
