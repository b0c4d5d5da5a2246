/**
 * `interlock dev`: three real processes, started in order and ended in the reverse one. Phases: control plane up →
 * profile written → worker up → a first task done → open until a signal → worker drained → control plane ended.
 * A child that ends by itself ends everything, but for a worker that an operator drained.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { type OpenClient, openClient } from '../../client/open-client.ts';
import { TaskError } from '../../contract/index.ts';
import { VERSION } from '../../contract/version.ts';
import { controlPlaneDefaults, workerDefaults } from '../../core/defaults.ts';
import { systemProcessInfo } from '../../system/process-info.ts';
import { hostPort } from '../../wire/service-url.ts';
import type { Call } from '../command.ts';
import { durationText } from '../duration.ts';
import { type ExitName, exitCode } from '../exit-codes.ts';
import { ownName } from '../own-name.ts';
import { makePrivateFolder } from '../private-json.ts';
import { PROFILE, writeProfile } from '../profile.ts';
import type { ProgramName } from '../programs.ts';
import type { Settings } from '../settings.ts';
import { type ChildMessage, childDied, DevChild } from './child.ts';
import { DEV_PROJECT, type DevKeys, devKeys, makeDevKeys } from './dev-keys.ts';
import { DEV_LOCK, type DevLock, takeDevLock } from './dev-lock.ts';
import { firstTask, nextThings } from './first-task.ts';
import { npmGone } from './parent.ts';
import { devScreen, type Screen } from './screen.ts';

export type DevCall = Pick<Call, 'io' | 'style'> & {
  readonly settings: Settings<
    | 'listen'
    | 'behindProxy'
    | 'pages'
    | 'handlers'
    | 'maxConcurrent'
    | 'pools'
    | 'drainTimeoutMs'
    | 'stopGraceMs'
    | 'logLevel'
  >;
};

export async function runDev(call: DevCall): Promise<ExitName> {
  const { io } = call;
  const folder = join(io.cwd, dirname(PROFILE));
  makePrivateFolder(folder);
  // Keys and data are nobody else's; in a checkout of your own they must not get into git.
  writeFileSync(join(folder, '.gitignore'), '*\n');
  const lock = await takeDevLock(join(io.cwd, DEV_LOCK), await systemProcessInfo());
  try {
    return await new DevSession(call, folder, lock).run();
  } finally {
    lock.release();
  }
}

class DevSession {
  readonly #call: DevCall;
  readonly #folder: string;
  readonly #lock: DevLock;
  readonly #screen: Screen;
  readonly #stop = Promise.withResolvers<void>();
  #signalledAt: number | undefined;
  #controlPlane: DevChild | undefined;
  #worker: DevChild | undefined;
  /** An operator asked the worker to drain. */
  #drainAsked = false;
  #client: OpenClient | undefined;

  constructor(call: DevCall, folder: string, lock: DevLock) {
    this.#call = call;
    this.#folder = folder;
    this.#lock = lock;
    this.#screen = devScreen(call.io, call.style);
  }

  async run(): Promise<ExitName> {
    const onSignal = () => this.#onSignal();
    for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
    const over = new AbortController();
    void npmGone(this.#call.io, over.signal).then((gone) => {
      // A Ctrl-C reaches its shell too: it must not count as a second one.
      if (gone && this.#signalledAt === undefined) this.#onSignal();
    });
    try {
      const open = this.#open();
      await Promise.race([open, this.#stop.promise]);
      // A start that a signal has overtaken fails somewhere in the middle; that is not news.
      open.catch(() => {});
      if (this.#signalledAt === undefined)
        await Promise.race([this.#stop.promise, this.#childDied()]);
      return await this.#close();
    } catch (error) {
      await this.#close();
      throw error;
    } finally {
      over.abort();
      await this.#client?.close();
      for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
    }
  }

  async #open(): Promise<void> {
    const { io, style } = this.#call;
    const screen = this.#screen;
    await screen.line(`\n${style.strong('Interlock Tasks')} ${VERSION}\n`);
    const data = join(this.#folder, 'data');
    const profile = join(io.cwd, PROFILE);
    let keys = await devKeys(profile, data, io);
    const { child, url, taken } = await this.#startControlPlane(data);
    this.#controlPlane = child;
    this.#lock.note(url);
    await screen.fact(
      'control plane',
      `process ${child.pid}, ${url}${taken}, SQLite in ${this.#shown(data)}`,
    );
    if (this.#call.settings.pages !== 'off')
      await screen.fact('pages', `${style.strong(`${url}/tasks`)} in a browser`);
    keys = await this.#accepted(keys, url, data);
    await writeProfile({ file: profile, url, project: DEV_PROJECT, keys });
    await screen.fact('profile', `${this.#shown(profile)}, address and keys for this folder`);

    const host = Promise.withResolvers<number>();
    this.#onHost = host.resolve;
    const ready = await this.#startWorker(url, profile);
    await screen.fact(
      'worker',
      `process ${this.#worker?.pid}, ${ready.slots} at a time, ${ready.handlers.join(', ') || 'no handler'}`,
    );
    const { client } = this.#client as OpenClient;
    await firstTask(client, ready.handlers, host.promise, screen, style);
    await nextThings(io, this.#shown(join(this.#folder, 'spool')), ready.handlers, screen, style);
    screen.started();
  }

  #onHost: (pid: number) => void = () => {};

  /** On the wished port, or the next free one where nobody insists. */
  async #startControlPlane(data: string): Promise<{ child: DevChild; url: string; taken: string }> {
    const { settings } = this.#call;
    const { host, port } = settings.listen;
    const insists = settings.from.listen !== 'default';
    for (let tried = port; ; tried++) {
      const ready = Promise.withResolvers<string>();
      const tail: string[] = [];
      const child = this.#child(
        'control plane',
        'interlock',
        [
          ...['control-plane', '--listen', hostPort(host, tried), '--data', data],
          ...(settings.behindProxy ? ['--behind-proxy'] : []),
          ...['--pages', settings.pages],
        ],
        (message) => {
          if ('ready' in message && message.ready === 'control-plane') ready.resolve(message.url);
        },
        tail,
      );
      this.#controlPlane = child;
      const end = await Promise.race([ready.promise, child.ended]);
      if (typeof end === 'string')
        return {
          child,
          url: end,
          taken: tried === port ? '' : ` (${port} is taken, so ${tried} is used)`,
        };
      const taken = end.code === exitCode('port-in-use');
      if (!taken || insists || tried - port >= PORTS_TRIED)
        throw childDied('control plane', end, tail);
    }
  }

  async #startWorker(url: string, profile: string) {
    const { settings } = this.#call;
    const ready = Promise.withResolvers<Extract<ChildMessage, { ready: 'worker' }>>();
    const tail: string[] = [];
    const child = this.#child(
      'worker',
      'interlock-worker',
      [
        ...['--url', url, '--profile', profile, '--worker-id', 'dev'],
        ...['--handlers', this.#handlers(), '--spool', join(this.#folder, 'spool')],
        ...['--max-concurrent', String(settings.maxConcurrent)],
        ...settings.pools.flatMap((pool) => ['--pool', pool]),
        ...['--drain-timeout', durationText(settings.drainTimeoutMs)],
        ...['--stop-grace', durationText(settings.stopGraceMs)],
      ],
      (message) => {
        if ('host' in message) this.#onHost(message.host);
        else if (message.ready === 'worker') ready.resolve(message);
      },
      tail,
    );
    this.#worker = child;
    const end = await Promise.race([ready.promise, child.ended]);
    if ('ready' in end) return end;
    throw childDied('worker', end, tail);
  }

  #child(
    name: string,
    program: ProgramName,
    args: readonly string[],
    onMessage: (message: ChildMessage) => void,
    tail: string[],
  ): DevChild {
    const { io, settings } = this.#call;
    return new DevChild({
      program: io.programs.program(program),
      args: [...args, '--log-format', 'json', '--log-level', settings.logLevel],
      cwd: io.cwd,
      env: io.env,
      onMessage,
      onLine: (line) => {
        tail.push(line);
        if (tail.length > TAIL_LINES) tail.shift();
        if (name === 'worker' && eventOf(line) === 'drain.asked') this.#drainAsked = true;
        this.#screen.childLine(name, line);
      },
    });
  }

  /** Keys that this control plane does not know (its data were replaced) are made anew. */
  async #accepted(keys: DevKeys, url: string, data: string): Promise<DevKeys> {
    const { io } = this.#call;
    const connect = async (key: string) => {
      await this.#client?.close();
      this.#client = openClient({ serviceUrl: url, key, timeoutMs: START_MS }, io);
      return this.#client.client;
    };
    try {
      for (const key of Object.values(keys)) await (await connect(key)).doctor();
      await connect(keys['task-producer']);
      return keys;
    } catch (error) {
      if (!(error instanceof TaskError) || error.code !== 'UNAUTHENTICATED') throw error;
      const fresh = await makeDevKeys(data, io);
      await connect(fresh['task-producer']);
      return fresh;
    }
  }

  #onSignal(): void {
    const { clock } = this.#call.io;
    const now = clock.now();
    if (this.#signalledAt !== undefined && now - this.#signalledAt < workerDefaults.signalGapMs)
      return;
    const first = this.#signalledAt === undefined;
    this.#signalledAt = now;
    if (first) this.#stop.resolve();
    else this.#worker?.signal('SIGTERM');
  }

  async #childDied(): Promise<never> {
    const name = await Promise.race([
      this.#controlPlane?.ended.then(() => 'control plane'),
      this.#worker?.ended.then(() => 'worker'),
    ]);
    const end = await (name === 'worker' ? this.#worker : this.#controlPlane)?.ended;
    if (name === 'worker' && end?.code === 0 && this.#drainAsked) {
      const { io, style } = this.#call;
      await this.#screen.line(
        `\n${style.warn('An operator drained the worker')}: it has ended, and nothing is claimed any more. Control plane and pages go on. To start it again: Ctrl-C here, then ${ownName(io)} dev.\n`,
      );
      const over = await this.#controlPlane?.ended;
      throw childDied('control plane', over ?? { code: null, signal: null }, []);
    }
    throw childDied(name ?? 'worker', end ?? { code: null, signal: null }, []);
  }

  /** The worker first: what its handlers say still reaches the control plane. */
  async #close(): Promise<ExitName> {
    const { io, style } = this.#call;
    this.#screen.started();
    const worker = this.#worker;
    if (worker && !worker.over) {
      await this.#screen.line(
        `\n${style.faint('Draining the worker, then the control plane. Ctrl-C again stops handlers that still run.')}`,
      );
      worker.signal('SIGTERM');
      await worker.ended;
    }
    const controlPlane = this.#controlPlane;
    if (controlPlane && !controlPlane.over) {
      controlPlane.signal('SIGTERM');
      const kill = io.clock.timer(controlPlaneDefaults.shutdownMs + KILL_AFTER_MS, () =>
        controlPlane.signal('SIGKILL'),
      );
      await controlPlane.ended;
      kill.cancel();
    }
    await this.#screen.line(style.faint('All ended.'));
    return 'ok';
  }

  #handlers(): string {
    const { io, settings } = this.#call;
    const folder = resolve(io.cwd, settings.handlers);
    if (settings.from.handlers !== 'default' || existsSync(folder)) return folder;
    return io.programs.handlers();
  }

  /** As seen from the current folder. */
  #shown(path: string): string {
    return relative(this.#call.io.cwd, path) || '.';
  }
}

function eventOf(line: string): unknown {
  try {
    return (JSON.parse(line) as { event?: unknown } | null)?.event;
  } catch {
    return undefined;
  }
}

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const PORTS_TRIED = 50;
const TAIL_LINES = 20;
/** How long a control plane that has said it is ready may take for an answer. */
const START_MS = 30_000;
/** Beyond its own time to stop. */
const KILL_AFTER_MS = 3_000;
