import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Pool } from 'undici';
import type { TaskProducer } from '../src/index.ts';
import { endsBySignal, mine } from './ending.ts';

/** The processes of a measurement: a control plane and workers, each its own, over loopback HTTP. */

const root = join(import.meta.dirname, '..');
export const API = '/api/tasks/v1';

export interface Started {
  readonly name: string;
  readonly child: ChildProcess;
  readonly pid: number;
  readonly spawnedAt: number;
  stop(): Promise<void>;
  /** kill -9. */
  kill(): Promise<void>;
}

/** @param name of a program in `bin/`, or the path of an executable. */
export function start(
  name: string,
  args: readonly string[],
  env: Record<string, string>,
  wrap: readonly string[] = [],
): Started {
  const [command, ...rest] = [...wrap, resolve(root, 'bin', name), ...args] as [
    string,
    ...string[],
  ];
  const spawnedAt = performance.now();
  const child = mine(
    spawn(command, rest, {
      env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  let tail = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      tail = (tail + chunk).slice(-4_000);
    });
  const gone = new Promise<number | null>((resolve) => child.once('exit', resolve));
  let stopping = false;
  void gone.then((code) => {
    if (!stopping && code !== 0 && !endsBySignal())
      process.stderr.write(`${name} ended by itself (${code}):\n${tail}\n`);
  });
  return {
    name,
    child,
    pid: child.pid as number,
    spawnedAt,
    stop: async () => {
      stopping = true;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
      await gone;
      clearTimeout(timer);
    },
    kill: async () => {
      stopping = true;
      child.kill('SIGKILL');
      await gone;
    },
  };
}

export class Bench {
  readonly folder = mkdtempSync(join(tmpdir(), 'interlock-bench-'));
  readonly keys: Record<string, string> = {};
  url = '';
  controlPlane!: Started;
  pool!: Pool;
  #producer: TaskProducer | undefined;
  /** What is started as a worker. */
  readonly program: string;

  constructor(program = 'interlock-worker') {
    this.program = program;
  }

  async open(): Promise<void> {
    const data = join(this.folder, 'data');
    this.controlPlane = start(
      'interlock',
      ['control-plane', '--listen', '127.0.0.1:0', '--data', data],
      { INTERLOCK_LOG_LEVEL: 'info' },
    );
    this.url = await this.#address();
    for (const kind of ['task-producer', 'task-worker'])
      this.keys[kind] = await this.#newKey(data, kind);
    this.pool = new Pool(this.url, { connections: 16, pipelining: 1 });
  }

  async #address(): Promise<string> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error('the control plane told no address within 10 s')),
        10_000,
      );
      let text = '';
      const look = (chunk: Buffer) => {
        text += chunk;
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec(text);
        if (!found) return;
        clearTimeout(timer);
        resolve(found[0]);
      };
      this.controlPlane.child.stdout?.on('data', look);
      this.controlPlane.child.stderr?.on('data', look);
    });
  }

  async #newKey(data: string, kind: string): Promise<string> {
    const made = start(
      'interlock',
      ['keys', 'new', `bench ${kind}`, '--kind', kind, '--data', data, '--json'],
      {},
    );
    let text = '';
    made.child.stdout?.on('data', (chunk) => {
      text += chunk;
    });
    await new Promise((resolve) => made.child.once('close', resolve));
    const found = /il_[A-Za-z0-9_-]+/.exec(text);
    if (!found) throw new Error(`no key of kind ${kind} was made`);
    return found[0];
  }

  async worker(
    concurrency: number,
    name = 'bench',
    wrap: readonly string[] = [],
    more: readonly string[] = [],
  ): Promise<Started> {
    return start(
      this.program,
      [
        '--url',
        this.url,
        '--handlers',
        join(root, 'bench', 'handlers'),
        '--spool',
        join(this.folder, `spool-${name}`),
        '--worker-id',
        name,
        '--max-concurrent',
        String(concurrency),
        ...more,
      ],
      { INTERLOCK_WORKER_KEY: this.keys['task-worker'] as string, INTERLOCK_LOG_LEVEL: 'error' },
      wrap,
    );
  }

  async call<T>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<T> {
    const answer = await this.pool.request({
      method,
      path: API + path,
      headers: {
        authorization: `Bearer ${this.keys['task-producer']}`,
        'interlock-contract': '1',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const value = await answer.body.json();
    if (answer.statusCode >= 300)
      throw new Error(`${method} ${path}: ${answer.statusCode} ${JSON.stringify(value)}`);
    return value as T;
  }

  /** As programs use it: from `dist/`. */
  async producer(): Promise<TaskProducer> {
    if (this.#producer) return this.#producer;
    const sdk = join(root, 'dist', 'sdk.js');
    const { TaskProducer: Sdk } = (await import(sdk)) as typeof import('../src/index.ts');
    const key = this.keys['task-producer'] as string;
    this.#producer = new Sdk({ serviceUrl: this.url, key });
    return this.#producer;
  }

  async close(): Promise<void> {
    await this.#producer?.close();
    await this.pool?.close();
    await this.controlPlane?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Runs `count` jobs with at most `width` under way. Returns how long it took. */
export async function inFlight(
  count: number,
  width: number,
  job: (i: number) => Promise<unknown>,
): Promise<number> {
  const from = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (next < count) await job(next++);
    }),
  );
  return performance.now() - from;
}

export function rssMiB(pid: number): number | undefined {
  if (!existsSync(`/proc/${pid}/status`)) return undefined;
  const found = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return found ? Number(found[1]) / 1024 : undefined;
}

/**
 * Processor time of a process in ms, as the scheduler counts it: the ticks in `stat` charge a whole one to whoever is
 * awake when it falls, and a process that lives by timers is awake just then.
 */
export function cpuMs(pid: number): number | undefined {
  const folder = `/proc/${pid}/task`;
  if (!existsSync(folder)) return undefined;
  return readdirSync(folder)
    .map((thread) => Number(readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ')[0]))
    .reduce((sum, ns) => sum + ns / 1e6, 0);
}
