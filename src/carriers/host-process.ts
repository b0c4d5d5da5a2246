/**
 * One handler host as the agent sees it. Phases: starting → running → ending → gone.
 *   starting  by its construction; left when the process is there, or could not be made (gone, with a sentence)
 *   running   frames and output come in; left by its own end, or by `kill`
 *   ending    the process has ended or was killed; everything else of it is killed and waited for
 *   gone      nothing of it runs and everything it said was read; `gone` settles once
 */
import { writeSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { hostDefaults } from '../core/defaults.ts';
import { ChannelQueue } from '../handler/channel-queue.ts';
import { FrameReader, type FromHost } from '../handler/protocol.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { drained } from './call-ends.ts';
import { giveWay } from './give-way.ts';
import { checkedFrame } from './host-frames.ts';
import type { HostRecorder, HostRecords } from './host-recorder.ts';
import { type Kin, kinGone } from './kin.ts';
import { Tail } from './output-lines.ts';
import { groupGone, killGroup, processStat } from './process-group.ts';
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
  /** It was killed and does not go. */
  stuck?(): void;
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
  readonly #id: string;
  readonly #recorder: HostRecorder | undefined;
  #toHost: ChannelQueue | undefined;
  #kin: Kin | undefined;
  #spawned: SpawnedHost | undefined;
  #unsent: Buffer[] = [];
  readonly #givesWay: boolean;
  #killed = false;
  #killReason: string | undefined;
  /** What came was none of it, or could not be dealt with: nothing more is heard. */
  #distrusted = false;
  #ending = false;
  #outputClosed = false;
  #stuck: Timer | undefined;

  /** @param recorder read to its end, and closed with this. */
  constructor(options: SpawnOptions, clock: Clock, log: Log, recorder?: HostRecorder) {
    this.#clock = clock;
    this.#log = log;
    this.#recorder = recorder;
    this.#id = options.id;
    this.#givesWay = options.role !== 'probe';
    const spawned = spawnHost(options);
    this.started = spawned.then((result) => (result.ok ? result.host.pid : undefined));
    this.gone = spawned.then((result) => {
      if (result.ok) return this.#live(result.host);
      this.#ending = true;
      recorder?.close();
      return { notStarted: result.message };
    });
  }

  get pid(): number | undefined {
    return this.#spawned?.pid;
  }

  /** Stands in its environment, and in that of what it starts. */
  get id(): string {
    return this.#id;
  }

  /** What its relatives are told by; `undefined` before there is a process. */
  get kin(): Kin | undefined {
    return this.#kin;
  }

  /** It closed its stdout or stderr: what prints next may end it. */
  get outputClosed(): boolean {
    return this.#outputClosed;
  }

  /** Nothing more can be asked of it. */
  get over(): boolean {
    return this.#ending || this.#killed;
  }

  /** It writes down which short job has begun. */
  get records(): boolean {
    return this.#recorder !== undefined;
  }

  /** What it has written down; `undefined`: that cannot be read, or is none of it. */
  recorded(): HostRecords | undefined {
    const read = this.#recorder?.read();
    if (read === undefined) return undefined;
    const frames = read.frames.map(checkedFrame).filter((frame) => frame !== undefined);
    return { begun: read.begun, frames };
  }

  /** It begins no short job up to `last` any more, but `kept`. `false`: that cannot be told it. */
  forbid(last: number, kept: number): boolean {
    return this.#recorder?.forbid(last, kept) ?? false;
  }

  /** Sends encoded frames, as soon as there is a process. To one that is going they are lost. */
  write(frames: Buffer): void {
    if (this.#toHost) this.#toHost.write(frames);
    else if (!this.over) this.#unsent.push(frames);
  }

  /**
   * From now on it comes after the agent. Hosts do from their start. A process that looks at handlers is told when it has come up: the
   * start of a worker waits for it, holds nothing yet that it could starve, and took seconds where every core was busy.
   */
  giveWay(): void {
    if (this.pid !== undefined && !this.over) void giveWay(this.pid, this.#clock);
  }

  /** SIGKILL to its whole group, at once. Twice is once. */
  kill(reason?: string): void {
    if (this.over) return;
    this.#killed = true;
    this.#killReason = reason;
    if (this.#spawned) this.#endGroup(this.#spawned.pid);
  }

  /**
   * For what it has said. A host that is killed for anything else is heard to its end: in the moment of the kill it may
   * still have taken its job, or ended it, and what has begun is given to no other host.
   */
  #distrust(why: string): void {
    this.#distrusted = true;
    this.kill(why);
  }

  #endGroup(pid: number): void {
    killGroup(pid);
    this.#stuck ??= this.#clock.timer(hostDefaults.goneSlowMs, () => {
      this.#log.warn(
        'host.stuck',
        `Processes of the handler host ${pid} do not go away after SIGKILL, so its slot stays taken. They hang in the kernel, mostly on a disk or a network file system: mend that, or restart the machine.`,
        { pid },
      );
      this.#tell((listener) => listener.stuck?.());
    });
  }

  async #live(host: SpawnedHost): Promise<HostGone> {
    if (this.#givesWay) void giveWay(host.pid, this.#clock);
    const { pid, child, toHost, fromHost, stdout, stderr } = host;
    const exit = new Promise<HostGone>((resolve) => {
      child.once('exit', (code, signal) => {
        resolve({ ...(code !== null && { exitCode: code }), ...(signal && { signal }) });
      });
    });
    this.#spawned = host;
    this.#toHost = queueTo(toHost);
    const kin = { pid, id: this.#id, started: processStat(pid)?.started };
    this.#kin = kin;
    this.#listen(host, exit);
    if (this.#killed) this.#endGroup(pid);
    for (const frames of this.#unsent.splice(0)) this.#toHost.write(frames);

    const end = await exit;
    this.#ending = true;
    this.#endGroup(pid);
    await groupGone(pid, this.#clock);
    await kinGone(kin, this.#clock);
    this.#stuck?.cancel();
    // What it wrote before its end is in the pipes, all of it: nobody is left who could write more.
    await drained();
    for (const stream of [toHost, fromHost, stdout, stderr]) stream.destroy();
    const gone = {
      ...end,
      ...(this.#killReason !== undefined && { killReason: this.#killReason }),
    };
    this.#tell((listener) => listener.gone?.(gone));
    this.#recorder?.close();
    return gone;
  }

  #listen({ toHost, fromHost, stdout, stderr }: SpawnedHost, exit: Promise<unknown>): void {
    const reader = new FrameReader<unknown>();
    fromHost.on('data', (chunk: Buffer) => {
      for (const raw of this.#frames(reader, chunk)) {
        const frame = this.#checked(raw);
        if (frame === undefined) return;
        this.#tell((listener) => listener.frame(frame));
        if (this.#distrusted) return;
      }
      if (reader.lost) this.#distrust(WRITTEN_TO);
    });
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
    stdout.on('data', (chunk: Buffer) => this.#tell((heard) => heard.output('stdout', chunk)));
    stderr.on('data', (chunk: Buffer) => {
      this.stderrTail.push(chunk);
      this.#tell((heard) => heard.output('stderr', chunk));
    });
    // EPIPE and the like: its end is told by `exit`.
    for (const stream of [toHost, fromHost, stdout, stderr]) stream.on('error', () => {});
  }

  /** What goes wrong with what it said is its end, and never that of the agent. */
  #tell(say: (listener: HostListener) => void): void {
    try {
      if (this.listener) say(this.listener);
    } catch (error) {
      const text = `What the handler host ${this.pid} said could not be dealt with, so it is ended: ${String(error)}`;
      this.#log.error('host.not-heard', text, { pid: this.pid, stack: (error as Error)?.stack });
      this.#distrust(NOT_HEARD);
    }
  }

  #checked(raw: unknown): FromHost | undefined {
    let frame: FromHost | undefined;
    try {
      frame = checkedFrame(raw);
    } catch {
      // Too deep, or the like: none of ours.
    }
    if (frame === undefined) this.#distrust(WRITTEN_TO);
    return frame;
  }

  #frames(reader: FrameReader<unknown>, chunk: Buffer): unknown[] {
    if (this.#distrusted) return [];
    try {
      return reader.push(chunk);
    } catch {
      this.#distrust(WRITTEN_TO);
      return [];
    }
  }
}

/** Past the stream and its ticks as far as the pipe takes it: most of what a write to a host costs is the waking of it. */
function queueTo(stream: Duplex): ChannelQueue {
  const whole = process.platform === 'win32';
  // Looked up each time: a number whose stream is closed may be another file by now.
  const fd = () => (whole ? undefined : (stream as Handled)._handle?.fd);
  return new ChannelQueue({
    now: (bytes) => {
      const to = fd();
      return to === undefined || to < 0 ? 0 : writeSync(to, bytes);
    },
    later: (bytes, then) => void stream.write(bytes, (error) => error || then()),
    get waiting() {
      return stream.writableLength > 0;
    },
    laterBytes: whole ? Number.POSITIVE_INFINITY : 1,
  });
}

type Handled = Duplex & { readonly _handle?: { readonly fd?: number } | null };

const CLOSED =
  'It closed the channel between agent and host (a file descriptor that is not its own).';
const WRITTEN_TO =
  'It wrote to the channel between agent and host (a file descriptor that is not its own): what came is no message of a host.';
const NOT_HEARD = 'What it said could not be dealt with; the log of the worker says why.';
