/** A control plane, workers and people of one test, as processes on real sockets and disks. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { KeyKind, TaskEvent } from '../../src/contract/index.ts';
import { TaskOperator, TaskProducer } from '../../src/index.ts';
import { PROGRAMS } from '../binary/executable.ts';
import { type End, type Proc, Processes, ROOT, type SpawnOptions } from './processes.ts';
import { type BentProxy, startProxy } from './proxy.ts';

/** Several processes start in each test, on machines that may be busy with others. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

export const API = '/api/tasks/v1';
/** The shortest lease here, for tasks that wait for its end; the others have one that a busy machine keeps. */
export const LEASE_MS = 3_000;

export interface WorkerOptions extends SpawnOptions {
  /** [`worker`] */
  readonly id?: string;
  /** Folder of handlers [those of these tests]. */
  readonly handlers?: string;
  /** [1] */
  readonly max?: number;
  /** [the control plane's] */
  readonly url?: string;
  /** Program and arguments that run it, `strace` for example. */
  readonly under?: readonly string[];
  /** Further arguments. */
  readonly args?: readonly string[];
}

export interface WorldOptions {
  /** Address and port of the control plane, 0 for any that is free [127.0.0.1:0]. */
  readonly listen?: string;
  /** Environment of the control plane. */
  readonly planeEnv?: Readonly<Record<string, string>>;
}

/** An answer of the control plane as it came. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: any JSON; what is wrong with it shows in the test.
  readonly body: any;
}

export class World implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'interlock-e2e-'));
  readonly processes = new Processes(this.folder);
  url = '';
  plane!: Proc;
  #listen: string;
  readonly #planeEnv: Readonly<Record<string, string>>;
  readonly #keys = new Map<KeyKind, string>();
  readonly #clients: { close(): Promise<void> }[] = [];
  #producer: TaskProducer | undefined;
  #operator: TaskOperator | undefined;

  constructor(options: WorldOptions = {}) {
    this.#listen = options.listen ?? '127.0.0.1:0';
    this.#planeEnv = options.planeEnv ?? {};
  }

  /** Starts the control plane, again on the same port, and makes the keys that are wanted. */
  async controlPlane(...kinds: KeyKind[]): Promise<Proc> {
    const data = join(this.folder, 'data');
    const beyond = !this.#listen.startsWith('127.');
    // What other machines can reach starts with keys only.
    if (beyond && !existsSync(data)) await this.#newKey('admin', data, ['--create-data']);
    this.plane = this.processes.start(
      'interlock',
      [
        'control-plane',
        ...['--listen', this.#listen, '--data', data],
        ...['--lease-min', `${LEASE_MS}ms`],
        ...(beyond ? ['--behind-proxy'] : []),
      ],
      { env: this.#planeEnv },
    );
    const [, url = ''] = await this.plane.says(/"url":"(http:\/\/[\d.]+:\d+)"/);
    this.url = url;
    this.#listen = `${this.#listen.split(':')[0]}:${new URL(url).port}`;
    await Promise.all(kinds.map((kind) => this.#newKey(kind, data)));
    return this.plane;
  }

  async #newKey(kind: KeyKind, data: string, more: readonly string[] = []): Promise<void> {
    const words = ['keys', 'new', kind, '--kind', kind, '--data', data, '--json', ...more];
    const made = await this.run(words);
    if (made.code !== 0) throw new Error(`keys new ended with ${made.code}: ${made.err}`);
    this.#keys.set(kind, JSON.parse(made.out).key);
  }

  key(kind: KeyKind): string {
    const key = this.#keys.get(kind);
    if (!key) throw new Error(`This test has no ${kind} key`);
    return key;
  }

  /** Starts a worker; resolves when it has loaded its handlers. */
  async worker(options: WorkerOptions = {}): Promise<Proc> {
    const proc = this.launch(options);
    await proc.event('worker.ready');
    return proc;
  }

  /** Starts a worker and waits for nothing. */
  launch(options: WorkerOptions = {}): Proc {
    const { id = 'worker', handlers = HANDLERS, max = 1, url = this.url, args = [] } = options;
    const [program = WORKER, ...before] = [...(options.under ?? []), WORKER];
    return this.processes.start(
      program,
      [
        ...before,
        ...['--url', url, '--worker-id', id, '--handlers', handlers],
        ...['--spool', this.spool(id), '--max-concurrent', String(max)],
        ...args,
      ],
      {
        wrapper: options.under !== undefined,
        ...options,
        env: {
          INTERLOCK_WORKER_KEY: this.#keys.get('task-worker') ?? 'il_of_a_test',
          ...options.env,
        },
      },
    );
  }

  spool(id = 'worker'): string {
    return join(this.folder, `spool-${id}`);
  }

  /** Names of files in a folder of a spool: `reports`, `running`, `stale` … */
  inSpool(part: string, id?: string): string[] {
    try {
      return readdirSync(join(this.spool(id), part)).filter((name) => name.endsWith('.jsonl'));
    } catch {
      return [];
    }
  }

  /** The records in them; a line that is still being written is none yet. */
  // biome-ignore lint/suspicious/noExplicitAny: any record.
  records(part: string, id?: string): any[] {
    return this.inSpool(part, id).flatMap((name) =>
      readFileSync(join(this.spool(id), part, name), 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    );
  }

  /** Runs a command to its end. */
  async run(args: readonly string[], options: SpawnOptions = {}) {
    const proc = this.processes.start('interlock', args, {
      ...options,
      env: { ...this.#people(), ...options.env },
    });
    const { code } = await proc.ending(60_000);
    return { code, out: proc.out, err: proc.err };
  }

  /** Starts a command of a person that goes on. */
  start(args: readonly string[], options: SpawnOptions = {}): Proc {
    return this.processes.start('interlock', args, {
      ...options,
      env: { ...this.#people(), ...options.env },
    });
  }

  #people(): Record<string, string> {
    const variables = {
      INTERLOCK_PRODUCER_KEY: this.#keys.get('task-producer'),
      INTERLOCK_OPERATOR_KEY: this.#keys.get('task-operator'),
      INTERLOCK_ADMIN_KEY: this.#keys.get('admin'),
      INTERLOCK_URL: this.url,
    };
    return Object.fromEntries(
      Object.entries(variables).filter((pair): pair is [string, string] => !!pair[1]),
    );
  }

  get producer(): TaskProducer {
    this.#producer ??= this.#keep(
      new TaskProducer({ serviceUrl: this.url, key: this.key('task-producer') }),
    );
    return this.#producer;
  }

  get operator(): TaskOperator {
    this.#operator ??= this.#keep(
      new TaskOperator({ serviceUrl: this.url, key: this.key('task-operator') }),
    );
    return this.#operator;
  }

  #keep<T extends { close(): Promise<void> }>(client: T): T {
    this.#clients.push(client);
    return client;
  }

  /** The journal as far as it goes. */
  async journal(taskId: string): Promise<TaskEvent[]> {
    const events: TaskEvent[] = [];
    for await (const event of this.producer.events(taskId)) events.push(event);
    return events;
  }

  /** Waits (by long polls) for an entry of this kind. */
  async entry(taskId: string, kind: string, timeoutMs = 30_000): Promise<TaskEvent> {
    const signal = AbortSignal.timeout(timeoutMs);
    const seen: string[] = [];
    try {
      for (let after = 0; ; ) {
        const path = `/tasks/${taskId}/events?after=${after}&waitMs=20000`;
        const { body } = await this.call('GET', path, undefined, { signal });
        for (const event of body.events as TaskEvent[]) {
          seen.push(event.kind);
          after = event.seq;
          if (event.kind === kind) return event;
        }
      }
    } catch (cause) {
      throw new Error(`No ${kind} of ${taskId}; its journal: ${seen.join(', ')}`, { cause });
    }
  }

  /** One call by plain HTTP, as its kind of key. */
  async call(
    method: string,
    path: string,
    body?: unknown,
    { as, signal }: { as?: KeyKind; signal?: AbortSignal } = {},
  ): Promise<Answer> {
    const answer = await fetch(this.url + API + path, {
      method,
      headers: {
        authorization: `Bearer ${this.key(as ?? 'task-producer')}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
    return { status: answer.status, headers: answer.headers, body: await answer.json() };
  }

  /** Starts something between workers and the control plane; ends with this world. */
  async proxy(): Promise<BentProxy> {
    return this.#keep(await startProxy(this.url));
  }

  /** A path in the folder of this test. */
  path(name: string): string {
    return join(this.folder, name);
  }

  /** Lines of a file there; none while it does not exist. */
  lines(name: string): string[] {
    try {
      return readFileSync(this.path(name), 'utf8').split('\n').slice(0, -1);
    } catch {
      return [];
    }
  }

  /** Ends everything, also after a failure, and removes the folder. Rejects if a process was left. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.processes.end();
      await Promise.all(this.#clients.map((client) => client.close()));
    } finally {
      rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    }
  }
}

const WORKER = join(PROGRAMS, 'interlock-worker');

/** Handlers that only these tests need. */
export const HANDLERS = join(import.meta.dirname, 'handlers');
/** Those that come with the package. */
export const PACKAGE_HANDLERS = join(ROOT, 'handlers');

export type { End, Proc };
