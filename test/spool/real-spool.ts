/** Spools on the real disk: one in this process, others in processes of their own. */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CollectingLog } from '../../sim/log.ts';
import { openSpool, type Spool, type SpoolOptions } from '../../src/spool/index.ts';
import { decodeOwner, encodeOwner, type Owner } from '../../src/spool/owner.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemDisk } from '../../src/system/disk.ts';
import { systemFolderLock } from '../../src/system/folder-lock.ts';
import { systemProcessInfo } from '../../src/system/process-info.ts';

const CHILD = join(import.meta.dirname, 'spool-child.ts');

/** One folder; what is opened and started in it ends with `end`. */
export class RealSpools {
  readonly folder: string;
  readonly children: ChildProcess[] = [];
  readonly #spools: Spool[] = [];

  constructor(home: string) {
    this.folder = join(home, 'spool');
  }

  static async make(): Promise<RealSpools> {
    return new RealSpools(await mkdtemp(join(tmpdir(), 'interlock-spool-')));
  }

  async end(): Promise<void> {
    for (const child of this.children) child.kill('SIGKILL');
    for (const spool of this.#spools) await spool.close();
    await rm(join(this.folder, '..'), { recursive: true, force: true });
  }

  async tryOpen(more: Partial<SpoolOptions> = {}) {
    const opened = await openSpool({
      disk: systemDisk(),
      clock: systemClock(),
      log: new CollectingLog(),
      lock: systemFolderLock(),
      processInfo: await systemProcessInfo(),
      folder: this.folder,
      workerId: 'child',
      sessionId: 'ses_here',
      serviceUrl: 'http://127.0.0.1:7420',
      ...more,
    });
    if (opened.ok) this.#spools.push(opened.spool);
    return opened;
  }

  async open(more: Partial<SpoolOptions> = {}): Promise<Spool> {
    const opened = await this.tryOpen(more);
    if (!opened.ok) throw opened.error;
    return opened.spool;
  }

  /** Starts a process that opens the spool. */
  start(sessionId = 'ses_child'): SpoolChild {
    const child = new SpoolChild(this.folder, sessionId);
    this.children.push(child.process);
    return child;
  }

  /** Rewrites the owner record, as another owner would have left it. */
  async alterOwner(change: Partial<Owner>): Promise<void> {
    const file = join(this.folder, 'owner.json');
    const read = decodeOwner(await readFile(file));
    if (!read.ok) throw new Error(read.why);
    await writeFile(file, encodeOwner({ ...read.owner, ...change }));
  }
}

// biome-ignore lint/suspicious/noExplicitAny: messages of the child, looked at by their members
export type Message = any;

/** A child with a spool, its messages so far, and a way to wait for one. */
export class SpoolChild {
  readonly process: ChildProcess;
  readonly messages: Message[] = [];
  log = '';
  readonly #waiting = new Set<() => void>();

  constructor(folder: string, sessionId: string) {
    this.process = fork(CHILD, [folder, sessionId], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    this.process.stderr?.on('data', (data) => {
      this.log += String(data);
      this.#wake();
    });
    this.process.on('message', (message) => {
      this.messages.push(message);
      this.#wake();
    });
  }

  async seen(what: (child: SpoolChild) => Message): Promise<Message> {
    for (;;) {
      const found = what(this);
      if (found) return found;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  message(name: string): Promise<Message> {
    return this.seen(({ messages }) => messages.find((message) => name in message));
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const gone = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill(signal);
    await gone;
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
