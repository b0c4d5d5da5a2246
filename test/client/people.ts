/** Producers and operators at a control plane without sockets, on a clock that only the test moves. */
import {
  type OpenClient,
  openClient,
  type ProducerClientOptions,
} from '../../src/client/open-client.ts';
import { Operator } from '../../src/client/task-operator.ts';
import { Producer } from '../../src/client/task-producer.ts';
import type { KeyKind } from '../../src/contract/index.ts';
import type { WireFetch, WireInit } from '../../src/wire/fetch.ts';
import { World } from '../control-plane/world.ts';

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  /** Simulated ms since the beginning. */
  readonly at: number;
}

/** What happens to a request instead of, before or after its way to the control plane. */
export type Mishap = (
  go: () => Promise<Response>,
  request: Sent,
) => Promise<Response | undefined> | Response | undefined;

export class People {
  readonly world: World;
  readonly sent: Sent[] = [];
  /** Asked for each request; `undefined`: it just goes. */
  mishap: Mishap = () => undefined;
  readonly #startMs: number;

  private constructor(world: World) {
    this.world = world;
    this.#startMs = world.clock.now();
  }

  static async start(): Promise<People> {
    return new People(await World.start());
  }

  async client(kind: KeyKind, options: Partial<ProducerClientOptions> = {}): Promise<OpenClient> {
    const { clock, random } = this.world;
    const key = await this.world.key(kind);
    const serviceUrl = 'http://127.0.0.1:7420';
    return openClient({ serviceUrl, key, fetch: this.fetch, ...options }, { clock, random });
  }

  async producer(options?: Partial<ProducerClientOptions>): Promise<Producer> {
    return new Producer((await this.client('task-producer', options)).client);
  }

  async operator(kind: KeyKind = 'task-operator'): Promise<Operator> {
    return new Operator((await this.client(kind)).client);
  }

  /** The promise's value, with as much time as it needs. */
  settled<T>(work: Promise<T>): Promise<T> {
    return this.world.clock.time.until(work);
  }

  get nowMs(): number {
    return this.world.clock.now() - this.#startMs;
  }

  readonly fetch: WireFetch = async (url: string, init: WireInit) => {
    const { pathname, search } = new URL(url);
    const body = init.body === undefined ? undefined : JSON.parse(String(init.body));
    const path = pathname.replace('/api/tasks/v1', '') + search;
    const sent = { method: init.method, path, body, at: this.nowMs };
    this.sent.push(sent);
    const go = () => this.world.app.fetch(new Request(url, init));
    return (await this.mishap(go, sent)) ?? go();
  };

  /** Bodies of requests to this path. */
  bodies(path: string): unknown[] {
    return this.sent.filter((one) => one.path === path).map(({ body }) => body);
  }
}

export function reset(): never {
  throw new TypeError('fetch failed', {
    cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
  });
}

export function html(status: number, headers: Record<string, string> = {}): Response {
  return new Response('<html><title>Bad Gateway</title></html>', {
    status,
    headers: { 'content-type': 'text/html', ...headers },
  });
}

export function refusal(
  status: number,
  code: string,
  headers: Record<string, string> = {},
  more = {},
): Response {
  return Response.json({ status, code, detail: 'as the test says', ...more }, { status, headers });
}
