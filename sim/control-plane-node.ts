import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLAIM_WAIT, type KeyKind, START_IN_OUTCOME } from '../src/contract/index.ts';
import { type App, createApp } from '../src/control-plane/app.ts';
import { makeKey } from '../src/control-plane/keys.ts';
import { sha256 } from '../src/control-plane/lease-token.ts';
import type { Note, Store } from '../src/ports/store.ts';
import { openMemoryStore } from '../src/stores/memory.ts';
import { openSqliteStore } from '../src/stores/sqlite.ts';
import type { WireInit } from '../src/wire/fetch.ts';
import { SimulatedClock } from './clock.ts';
import type { Faults } from './faults.ts';
import type { History } from './history.ts';
import { Life } from './life.ts';
import { BASE, type Stream } from './line.ts';
import type { SimulatedRandom } from './random.ts';
import type { SimLog } from './sim-log.ts';
import type { SimulatedTime } from './time.ts';

export interface ControlPlaneOptions {
  readonly time: SimulatedTime;
  readonly random: SimulatedRandom;
  readonly faults: Faults;
  readonly history: History;
  readonly log: SimLog;
  readonly store: 'memory' | 'sqlite';
}

/** The control plane's machine: the real app on a simulated clock, its process comes and goes, its store stays. */
export class ControlPlaneNode {
  readonly clock: SimulatedClock;
  readonly #o: ControlPlaneOptions;
  readonly #streams = new Set<Stream>();
  readonly #refused = new Set<string>();
  readonly #keys = new Map<string, string>();
  readonly #folder: string | undefined;
  #store!: Store;
  #life: Life | undefined;
  #reopening: Promise<void> | undefined;
  #app: App | undefined;

  constructor(options: ControlPlaneOptions) {
    this.#o = options;
    const { time, faults } = options;
    this.clock = new SimulatedClock({
      time,
      rate: 1 + faults.rates.drift * (2 * faults.of('drift').fraction() - 1),
    });
    this.#folder =
      options.store === 'sqlite' ? mkdtempSync(join(tmpdir(), 'interlock-sim-')) : undefined;
    this.#store = this.#open();
  }

  get up(): boolean {
    return this.#app !== undefined;
  }

  /** Timers of the process that runs. */
  get timers(): number {
    return this.#life?.timers ?? 0;
  }

  /** Takes a key's value by its name; made where there is none. */
  async key(kind: KeyKind, name: string = kind): Promise<string> {
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const { random } = this.#o;
    const { key } = await makeKey(
      { store: this.#store, random },
      { kind, project: 'default', name },
    );
    this.#keys.set(name, key);
    return key;
  }

  /** From now on nobody knows this key. */
  refuse(key: string): void {
    this.#refused.add(sha256(key));
  }

  /** A request arrives. `undefined`: nobody listens. Rejects where the process dies before it has answered. */
  handle(url: string, init: WireInit): Promise<Response> | undefined {
    const app = this.#app;
    if (app === undefined) return undefined;
    const life = this.#life as Life;
    return new Promise((resolve, reject) => {
      life.onDeath(() => reject(new Error('the control plane died')));
      const { method, headers, body } = init;
      const answer = () =>
        app
          .fetch(new Request(url, { method, headers, ...(body === undefined ? {} : { body }) }))
          .then((response) => this.#asOlder(url, response))
          .then((response) => {
            if (life.alive) resolve(response);
          }, reject);
      if (this.clock.asleep) life.clock.timer(0, () => void answer());
      else void answer();
    });
  }

  async #asOlder(url: string, response: Response): Promise<Response> {
    if (url !== `${BASE}/` || !this.#o.faults.strikes('olderPlane')) return response;
    const info = (await response.json()) as { features: string[] };
    const features = info.features.filter(
      (name) => name !== CLAIM_WAIT && name !== START_IN_OUTCOME,
    );
    const { status, headers } = response;
    return new Response(JSON.stringify({ ...info, features }), { status, headers });
  }

  /** Without a network and without faults, for checkers and the operator. */
  async ask(method: 'GET' | 'POST', path: string, body?: unknown, kind: KeyKind = 'task-operator') {
    const key = await this.key(kind);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await this.#app?.fetch(new Request(BASE + path, { method, headers, ...text }));
    // biome-ignore lint/suspicious/noExplicitAny: bodies are of every shape; who asks knows which
    return { status: response?.status ?? 0, body: (await response?.json()) as any };
  }

  async start(): Promise<void> {
    if (this.#app !== undefined) return;
    const { time, history, log, random } = this.#o;
    if (this.#reopening) return this.#reopening;
    // A database is opened again, by the clock as it is now; what is in memory cannot be.
    if (this.#folder !== undefined && this.#life !== undefined) {
      this.#reopening = this.#store.close();
      await this.#reopening;
      this.#reopening = undefined;
      this.#store = this.#open();
    }
    history.tell(
      time.nowMs,
      `control plane starts, its clock says ${new Date(this.clock.wall()).toISOString()}`,
    );
    const life = new Life(this.clock);
    this.#life = life;
    const app = createApp({
      store: this.#mortal(life),
      clock: life.clock,
      random,
      log,
      secret: new Uint8Array(32).fill(7),
    });
    this.#app = app;
    // By its own time, which a store in memory does not take from the wall clock again.
    history.planeStarts.push(await this.#store.nowMs());
    await app.start();
  }

  /** kill -9. */
  kill(): void {
    if (this.#app === undefined) return;
    const { time, history } = this.#o;
    history.tell(time.nowMs, 'control plane is killed');
    this.#app = undefined;
    this.#life?.die();
    for (const stream of [...this.#streams]) stream.cut();
  }

  /** SIGTERM: requests under way are answered, streams end. */
  async stop(): Promise<void> {
    const app = this.#app;
    if (app === undefined) return;
    const { time, history } = this.#o;
    history.tell(time.nowMs, 'control plane stops');
    await app.stop();
    this.#app = undefined;
    this.#life?.die();
  }

  streamOpened(stream: Stream): void {
    this.#streams.add(stream);
  }

  streamEnded(stream: Stream): void {
    this.#streams.delete(stream);
  }

  get streams(): number {
    return this.#streams.size;
  }

  /** At the end of the world. */
  async close(): Promise<void> {
    await this.stop();
    await this.#store.close();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }

  #open(): Store {
    const { random } = this.#o;
    const clock = this.clock;
    return this.#folder === undefined
      ? openMemoryStore({ clock, random })
      : // Its machine never loses power, and a thread pool knows nothing of simulated time.
        openSqliteStore({
          file: join(this.#folder, 'tasks.db'),
          clock,
          random,
          sync: () => undefined,
        });
  }

  /**
   * The store as one process has it: what it asked for and did not hear before its death was done or was not, as with a
   * database of its own. It dies now and then just before a commit, or just after one.
   */
  #mortal(life: Life): Store {
    const { faults, time } = this.#o;
    const inner = this.#store;
    const dies = () => {
      if (!faults.strikes('killPlaneAtWrite')) return false;
      this.kill();
      time.at(
        time.nowMs + faults.between('killPlaneAtWrite', 500, 10_000),
        () => void this.start(),
      );
      return true;
    };
    const special: Partial<Record<keyof Store, unknown>> = {
      write: (...given: Parameters<Store['write']>) =>
        life.pass(async () => {
          if (dies()) return new Promise(() => {});
          const made = await inner.write(...given);
          if (life.alive) dies();
          return made;
        }),
      keyByHash: (hash: string) =>
        life.pass(async () => (this.#refused.has(hash) ? undefined : inner.keyByHash(hash))),
      subscribe: (...listeners: Parameters<Store['subscribe']>) => {
        const [listener, early, within] = listeners.map((one) => (notes: readonly Note[]) => {
          if (life.alive) one?.(notes);
        });
        const end = inner.subscribe(listener as (typeof listeners)[0], early, within);
        life.onDeath(end);
        return end;
      },
      close: async () => {},
    };
    return new Proxy(inner, {
      get: (store, name: keyof Store) => {
        const own = special[name];
        if (own !== undefined) return own;
        const member = store[name];
        if (typeof member !== 'function') return member;
        return (...given: unknown[]) =>
          life.pass(() => (member as (...g: unknown[]) => Promise<unknown>).apply(store, given));
      },
    });
  }
}
