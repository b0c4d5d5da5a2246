import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Contender, seenIdle } from './contender.ts';
import { mine } from './ending.ts';
import type { Server } from './servers.ts';

const FOLDER = join(import.meta.dirname, 'peers');

/** The other queues are installed from a lock of their own, once for each lock. */
export function install(): void {
  const has = join(FOLDER, 'node_modules', '.package-lock.json');
  const wanted = readFileSync(join(FOLDER, 'package-lock.json'), 'utf8');
  const same = (name: string) => {
    const version = (text: string) => JSON.parse(text).packages[`node_modules/${name}`]?.version;
    return existsSync(has) && version(readFileSync(has, 'utf8')) === version(wanted);
  };
  const names = Object.keys(versions());
  if (names.every(same)) return;
  console.log('The other queues are installed (npm ci in bench/peers).');
  // No script of a package is run: what they compile is there as a package of its own.
  execFileSync('npm', ['ci', '--ignore-scripts'], {
    cwd: FOLDER,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

export function versions(): Record<string, string> {
  return JSON.parse(readFileSync(join(FOLDER, 'package.json'), 'utf8')).dependencies;
}

/** A queue that has stopped is told as such and costs no more than this. */
const PATIENCE_S = 120;

type Drained = { drained: number };
type Done = { begun: number; recorded: number };

/** A queue whose client and worker are processes of their own, over a raw socket to their server. */
export async function peer(
  module: string,
  name: string,
  settings: string,
  server: Server,
  more: Record<string, unknown> = {},
): Promise<Contender> {
  let queues = 0;
  const options = (queue: string) => ({
    port: server.port,
    url: `postgres://bench@127.0.0.1:${server.port}/postgres`,
    queue,
    ...more,
  });
  const client = async (queue: string) =>
    new Client(await running(module, 'client', options(queue)));
  const worker = (queue: string, how: object) =>
    running(module, 'worker', { ...options(queue), ...how });
  const tag = name.replace(/\W+/g, '-');
  const parked = await client(`${tag}-parked`);
  /** A worker that tells of each job, and a client for its queue. */
  const pair = async (concurrency: number) => {
    const queue = `${tag}-${queues++}`;
    const to = await client(queue);
    return { queue, to, start: () => worker(queue, { concurrency, each: true }) };
  };
  return {
    name,
    settings,
    drain: async (concurrency, count) => {
      const warm = Math.max(10 * concurrency, Math.ceil(count / 10));
      const queue = `${tag}-${queues++}`;
      const to = await client(queue);
      await to.ask('bulk', warm + count);
      const from = running(
        module,
        'worker',
        { ...options(queue), concurrency, warm, count },
        'drained',
      );
      const { child, message } = await from;
      await ended(child);
      await to.close();
      return (count / (message as Drained).drained) * 1000;
    },
    single: async (count) => (count / (await parked.ask('single', count))) * 1000,
    bulk: async (count) => (count / (await parked.ask('bulk', count))) * 1000,
    latencies: async (count) => {
      const { to, start } = await pair(2);
      const { child } = await start();
      const seen = { start: [] as number[], recorded: [] as number[] };
      for (let i = 0; i < count + 20; i++) {
        const done = told<Done>(child, 'recorded');
        const sent = await to.ask('one');
        const { begun, recorded } = await done;
        if (i < 20) continue;
        seen.start.push(begun - sent);
        seen.recorded.push(recorded - sent);
      }
      await ended(child);
      await to.close();
      return seen;
    },
    firstDone: async () => {
      const { queue, to } = await pair(1);
      await to.ask('one');
      const spawned = performance.timeOrigin + performance.now();
      const how = { ...options(queue), concurrency: 1, each: true };
      const { child, message } = await running(module, 'worker', how, 'recorded');
      await ended(child);
      await to.close();
      return (message as Done).recorded - spawned;
    },
    idle: async (seconds) => {
      const { start, to } = await pair(16);
      await to.close();
      const { child } = await start();
      const seen = await seenIdle({ pid: child.pid as number }, () => server.cpu(), seconds);
      await ended(child);
      return seen;
    },
    close: () => parked.close(),
  };
}

/** Starts a process of a peer and waits until it says `word`. */
async function running(
  module: string,
  role: 'client' | 'worker',
  options: object,
  word = 'ready',
): Promise<{ child: ChildProcess; message: unknown }> {
  const child = mine(
    fork(join(FOLDER, 'process.mjs'), [module, role, JSON.stringify(options)], {
      execArgv: [],
      env: {
        PATH: process.env.PATH ?? '',
        HOME: process.env.HOME ?? '',
        NODE_ENV: 'production',
        NO_LOG_SUCCESS: '1',
      },
    }),
  );
  return { child, message: await told(child, word) };
}

function told<T>(child: ChildProcess, word: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`a peer's process did not say "${word}" within ${PATIENCE_S} s`));
    }, PATIENCE_S * 1000);
    const end = (code: number | null) => {
      clearTimeout(timer);
      reject(new Error(`a peer's process ended (${code}) and did not say "${word}"`));
    };
    const look = (message: object) => {
      if (!(word in message)) return;
      clearTimeout(timer);
      child.off('message', look);
      child.off('exit', end);
      resolve(message as T);
    };
    child.on('message', look);
    child.once('exit', end);
  });
}

async function ended(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.send({ stop: true });
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await gone;
  clearTimeout(timer);
}

class Client {
  readonly #child: ChildProcess;
  #asked = 0;

  constructor({ child }: { child: ChildProcess }) {
    this.#child = child;
  }

  async ask(op: string, count?: number): Promise<number> {
    const id = this.#asked++;
    const answer = new Promise<number>((resolve, reject) => {
      const look = (message: { id?: number; value: number; error?: string }) => {
        if (message.id !== id) return;
        this.#child.off('message', look);
        if (message.error) reject(new Error(message.error));
        else resolve(message.value);
      };
      this.#child.on('message', look);
    });
    this.#child.send({ id, op, count });
    return answer;
  }

  async close(): Promise<void> {
    const gone = once(this.#child, 'exit');
    await this.ask('close');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 5_000);
    await gone;
    clearTimeout(timer);
  }
}
