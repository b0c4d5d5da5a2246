import { SimulatedClock } from '../../sim/clock.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import type { KeyKind } from '../../src/contract/index.ts';
import { type App, type AppOptions, createApp } from '../../src/control-plane/app.ts';
import { makeKey } from '../../src/control-plane/keys.ts';
import type { Store } from '../../src/ports/store.ts';
import { openMemoryStore } from '../../src/stores/memory.ts';

export interface LogLine {
  readonly level: string;
  readonly event: string;
  readonly text: string;
  readonly fields: unknown;
}

export interface Reply {
  readonly status: number;
  // Bodies are of every shape; tests say what they expect.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  readonly body: any;
  readonly headers: Headers;
  readonly text: string;
}

export interface CallOptions {
  readonly key?: string | undefined;
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface WorldOptions extends Partial<Omit<AppOptions, 'clock' | 'random'>> {
  readonly clock?: SimulatedClock;
  readonly random?: SimulatedRandom;
}

/** A control plane without sockets on a clock that only tests move. */
export class World {
  readonly clock: SimulatedClock;
  readonly random: SimulatedRandom;
  readonly log: LogLine[] = [];
  store: Store;
  app: App;
  readonly #options: WorldOptions;
  readonly #keys = new Map<string, string>();
  #sessions = 0;

  constructor(options: WorldOptions = {}) {
    this.clock = options.clock ?? new SimulatedClock({ wallMs: Date.UTC(2026, 0, 1) });
    this.random = options.random ?? new SimulatedRandom(7);
    this.store = options.store ?? openMemoryStore({ clock: this.clock, random: this.random });
    this.#options = options;
    this.app = this.#made();
  }

  static async start(options: WorldOptions = {}): Promise<World> {
    const world = new World(options);
    await world.app.start();
    return world;
  }

  #made(): App {
    const line = (level: string) => (event: string, text: string, fields?: unknown) =>
      void this.log.push({ level, event, text, fields });
    return createApp({
      log: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
      secret: new Uint8Array(32).fill(7),
      ...this.#options,
      store: this.store,
      clock: this.clock,
      random: this.random,
    });
  }

  /** The process ends and another one starts on the same store, or on what `reopened` makes of it. */
  async restart(reopened?: () => Promise<Store>): Promise<void> {
    await this.app.stop();
    if (reopened) this.store = await reopened();
    this.app = this.#made();
    await this.app.start();
  }

  async key(kind: KeyKind, project = 'default', name: string = kind): Promise<string> {
    const label = `${project}/${kind}/${name}`;
    const known = this.#keys.get(label);
    if (known) return known;
    const { key } = await makeKey(this, { kind, project, name });
    this.#keys.set(label, key);
    return key;
  }

  /** Without a `key`, the one that fits the call is used. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
    const key = 'key' in options ? options.key : await this.#fitting(method, path);
    const text =
      options.text ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
    const response = await this.app.fetch(
      new Request(
        `http://cp.test${path.startsWith('/') && !path.startsWith('/failures') ? `/api/tasks/v1${path}` : path}`,
        {
          method,
          headers: {
            ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
            ...(text === undefined ? {} : { 'content-type': 'application/json' }),
            ...options.headers,
          },
          ...(text === undefined ? {} : { body: text }),
        },
      ),
    );
    const reply = await response.text();
    const json = /json/.test(response.headers.get('content-type') ?? '');
    return {
      status: response.status,
      headers: response.headers,
      text: reply,
      body: json ? JSON.parse(reply) : undefined,
    };
  }

  #fitting(method: string, path: string): Promise<string> {
    if (
      /^\/(claims|attempts|hints)/.test(path) ||
      (method === 'PUT' && path.startsWith('/workers'))
    )
      return this.key('task-worker');
    if (/\/(retry|resolve|drain)$/.test(path)) return this.key('task-operator');
    if (path.startsWith('/keys')) return this.key('admin');
    return this.key('task-producer');
  }

  async submit(more: Record<string, unknown> = {}): Promise<Reply['body']> {
    const reply = await this.call('POST', '/tasks', {
      body: { type: 'demo/hello', schemaVersion: 1, input: { name: 'Ada' }, ...more },
    });
    if (reply.status >= 300) throw new Error(`submit: ${reply.text}`);
    return reply.body;
  }

  /** A claim of `worker`; a fresh request each time. */
  claimBody(worker = 'w1', more: Record<string, unknown> = {}): Record<string, unknown> {
    return {
      workerId: worker,
      sessionId: `ses-${worker}`,
      requestId: `req-${++this.#sessions}`,
      pools: ['default'],
      want: [{ type: 'demo/hello', schemaVersion: 1, slots: 10, effectSafety: 'pure' }],
      max: 1,
      ...more,
    };
  }

  async claim(worker = 'w1', more: Record<string, unknown> = {}): Promise<Reply['body'][]> {
    const reply = await this.call('POST', '/claims', { body: this.claimBody(worker, more) });
    if (reply.status !== 200) throw new Error(`claim: ${reply.text}`);
    return reply.body.attempts;
  }

  /** Claims one attempt of a task that was just submitted. */
  async running(
    want: Record<string, unknown> = {},
    task: Record<string, unknown> = {},
    worker = 'w1',
  ): Promise<{ task: Reply['body']; attempt: Reply['body'] }> {
    const submitted = await this.submit(task);
    const [attempt] = await this.claim(worker, {
      want: [{ type: 'demo/hello', schemaVersion: 1, slots: 1, effectSafety: 'pure', ...want }],
    });
    if (attempt?.taskId !== submitted.id) throw new Error('another task was claimed');
    return { task: submitted, attempt };
  }

  report(attempt: Reply['body'], op: string, more: Record<string, unknown> = {}): Promise<Reply> {
    const { taskId, attemptId, fence, leaseToken } = attempt;
    return this.call('POST', `/attempts/${attemptId}/${op}`, {
      body: { taskId, attemptId, fence, leaseToken, ...more },
    });
  }

  /** `start` or `effect` from the session that `claim` uses. */
  gate(attempt: Reply['body'], op: 'start' | 'effect' = 'start', worker = 'w1'): Promise<Reply> {
    return this.report(attempt, op, { sessionId: `ses-${worker}` });
  }

  async task(id: string): Promise<Reply['body']> {
    return (await this.call('GET', `/tasks/${id}`)).body;
  }

  async kinds(id: string): Promise<string[]> {
    const { body } = await this.call('GET', `/tasks/${id}/events`);
    return body.events.map((event: { kind: string }) => event.kind);
  }
}
