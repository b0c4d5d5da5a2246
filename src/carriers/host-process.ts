/**
 * One handler host as the agent sees it. Phases: starting → running → ending → gone.
 *   starting  by its construction; left when the process is there, or could not be made (gone, with a sentence)
 *   running   frames and output come in; left by its own end, or by `kill`
 *   ending    the process has ended or was killed; everything else in its group is killed and waited for
 *   gone      nothing of it runs and everything it said was read; `gone` settles once
 */
import { hostDefaults } from '../core/defaults.ts';
import { FrameReader, type FromHost } from '../handler/protocol.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { Tail } from './output-lines.ts';
import { groupGone, killGroup } from './process-group.ts';
import { type SpawnedHost, type SpawnOptions, spawnHost } from './spawn-host.ts';

/** How a host ended. */
export interface HostGone {
  /** It was never there: why, as a sentence. */
  readonly notStarted?: string;
  readonly exitCode?: number;
  readonly signal?: string;
  /** Why the agent killed it, where it was not for a stop. */
  readonly killReason?: string;
}

export interface HostListener {
  frame(frame: FromHost): void;
  output(stream: 'stdout' | 'stderr', chunk: Buffer): void;
  /** It is gone; nothing more is heard. */
  gone?(gone: HostGone): void;
}

export class HostProcess {
  /** Who hears it now; nobody while it is idle. */
  listener: HostListener | undefined;
  /** The end of what it wrote to stderr. */
  readonly stderrTail = new Tail(hostDefaults.stderrTailBytes);
  /** Settles once the operating system has been asked: with the pid, or `undefined` if there is no process. */
  readonly started: Promise<number | undefined>;
  /** Never rejects. */
  readonly gone: Promise<HostGone>;
  readonly #clock: Clock;
  readonly #log: Log;
  #spawned: SpawnedHost | undefined;
  #unsent: Buffer[] = [];
  #killed = false;
  #killReason: string | undefined;
  #ending = false;
  #outputClosed = false;
  #stuck: Timer | undefined;

  constructor(options: SpawnOptions, clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
    const spawned = spawnHost(options);
    this.started = spawned.then((result) => (result.ok ? result.host.pid : undefined));
    this.gone = spawned.then((result) => {
      if (result.ok) return this.#live(result.host);
      this.#ending = true;
      return { notStarted: result.message };
    });
  }

  get pid(): number | undefined {
    return this.#spawned?.pid;
  }

  /** It closed its stdout or stderr: what prints next may end it. */
  get outputClosed(): boolean {
    return this.#outputClosed;
  }

  /** Nothing more can be asked of it. */
  get over(): boolean {
    return this.#ending || this.#killed;
  }

  /** Sends an encoded frame, as soon as there is a process. To one that is going it is lost. */
  write(frame: Buffer): void {
    if (this.#spawned) this.#spawned.toHost.write(frame);
    else if (!this.over) this.#unsent.push(frame);
  }

  /** SIGKILL to its whole group, at once. Twice is once. */
  kill(reason?: string): void {
    if (this.over) return;
    this.#killed = true;
    this.#killReason = reason;
    if (this.#spawned) this.#endGroup(this.#spawned.pid);
  }

  #endGroup(pid: number): void {
    killGroup(pid);
    this.#stuck ??= this.#clock.timer(hostDefaults.goneSlowMs, () => {
      this.#log.warn(
        'host.stuck',
        `Processes of the handler host ${pid} do not go away after SIGKILL, so its slot stays taken. They hang in the kernel, mostly on a disk or a network file system: mend that, or restart the machine.`,
        { pid },
      );
    });
  }

  async #live(host: SpawnedHost): Promise<HostGone> {
    const { pid, child, toHost, fromHost, stdout, stderr } = host;
    const exit = new Promise<HostGone>((resolve) => {
      child.once('exit', (code, signal) => {
        resolve({ ...(code !== null && { exitCode: code }), ...(signal && { signal }) });
      });
    });
    this.#spawned = host;
    this.#listen(host, exit);
    if (this.#killed) this.#endGroup(pid);
    for (const frame of this.#unsent.splice(0)) toHost.write(frame);

    const end = await exit;
    this.#ending = true;
    this.#endGroup(pid);
    await groupGone(pid, this.#clock);
    this.#stuck?.cancel();
    // What it wrote before its end is in the pipes, all of it: nobody is left who could write more.
    await drained();
    for (const stream of [toHost, fromHost, stdout, stderr]) stream.destroy();
    const gone = {
      ...end,
      ...(this.#killReason !== undefined && { killReason: this.#killReason }),
    };
    this.listener?.gone?.(gone);
    return gone;
  }

  #listen({ toHost, fromHost, stdout, stderr }: SpawnedHost, exit: Promise<unknown>): void {
    const reader = new FrameReader<FromHost>();
    const read = (chunk: Buffer) => {
      for (const frame of this.#frames(reader, chunk)) this.listener?.frame(frame);
    };
    fromHost.on('data', read);
    // Its other end says nothing, but its closing is seen only by who reads.
    toHost.resume();
    for (const pipe of [toHost, fromHost]) {
      pipe.on('end', () => {
        // Mostly this is its end. If not: a handler that closed the channel can neither be heard nor stopped.
        const timer = this.#clock.timer(hostDefaults.closedChannelMs, () => this.kill(CLOSED));
        void exit.then(() => timer.cancel());
      });
    }
    for (const pipe of [stdout, stderr]) {
      pipe.on('end', () => {
        this.#outputClosed = true;
      });
    }
    stdout.on('data', (chunk: Buffer) => this.listener?.output('stdout', chunk));
    stderr.on('data', (chunk: Buffer) => {
      this.stderrTail.push(chunk);
      this.listener?.output('stderr', chunk);
    });
    // EPIPE and the like: its end is told by `exit`.
    for (const stream of [toHost, fromHost, stdout, stderr]) stream.on('error', () => {});
  }

  #frames(reader: FrameReader<FromHost>, chunk: Buffer): FromHost[] {
    if (this.#killReason !== undefined) return [];
    try {
      return reader.push(chunk);
    } catch {
      this.kill(WRITTEN_TO);
      return [];
    }
  }
}

const CLOSED =
  'It closed the channel between agent and host (a file descriptor that is not its own).';
const WRITTEN_TO =
  'It wrote to the channel between agent and host (a file descriptor that is not its own).';

/**
 * Resolves when what was in the pipes at the time of the call has been read: between two immediates the loop
 * looks at every pipe, and takes all that is there.
 */
export async function drained(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}
