import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Fcp, type FcpOptions, startFcp } from '../../fcp/fcp.ts';
import type { Clock } from '../../ports/clock.ts';
import { Broken } from '../case.ts';
import { endProcessesWith, processesWith } from './left-processes.ts';
import type { Watcher } from './watcher.ts';
import type { Found, Listener } from './worker-output.ts';
import { type Ending, endingWords, WorkerProcess } from './worker-process.ts';

/** Where a case is played. */
export interface Ground {
  readonly command: readonly string[];
  /** Of the kit, without what is Interlock's. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Empty, this case's own. */
  readonly folder: string;
  /** The only key that is accepted. */
  readonly key: string;
  /** What a case waits for at most where it says nothing, milliseconds. */
  readonly patienceMs: number;
  readonly clock: Clock;
  /** Ends the workers where the kit cannot any more. */
  readonly watcher?: Watcher | undefined;
  /** Aborts when the case's time is over. */
  readonly signal: AbortSignal;
}

export interface WorkerOptions {
  /** [2] */
  readonly slots?: number;
  /** Seconds [1]. */
  readonly stopGrace?: number;
  /** Seconds [20]. */
  readonly drainTimeout?: number;
  /** Resolves when it has claimed for the first time [true]; else as soon as it is started. */
  readonly ready?: boolean;
  /** Beside or instead of what a worker gets otherwise. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A line of `effects.jsonl`: a handler of conformance/effect or conformance/gated has run. */
export interface Effect {
  readonly effectKey: string;
  readonly line: string;
}

/** What a worker sends so long after an answer may have been on its way: the machine is busy with several workers. */
const CROSSING_MS = 1_000;
/** Long enough for a worker in any language on a busy machine, short enough for three of them in a case. */
const LEASE_MS = 10_000;
const EFFECTS_LOOK_MS = 50;
/** The last lines of the worker that are kept, and their length together. */
const LINES_KEPT = 2_000;
const CHARS_KEPT = 1_000_000;
const LINES_SHOWN = 40;
const WIRE_LINES_SHOWN = 120;

/**
 * One case's world: a hostile control plane, a worker under test with a state folder of its own, and what its handlers
 * left. The worker may be ended and started again; the folder stays.
 */
export class World {
  readonly clock: Clock;
  /** Types of all tasks that the case has offered. */
  readonly offered = new Set<string>();
  readonly #ground: Ground;
  readonly #lines: string[] = [];
  #chars = 0;
  /** Where its output holds a key or a token: not the text. */
  #leak: string | undefined;
  readonly #fcps: Fcp[] = [];
  readonly #workers: WorkerProcess[] = [];

  constructor(ground: Ground) {
    this.#ground = ground;
    this.clock = ground.clock;
  }

  /** The control plane; a second call makes another one, on another port. */
  async controlPlane(options: FcpOptions = {}): Promise<Fcp> {
    const fcp = await startFcp({
      keys: [this.#ground.key],
      leaseMs: LEASE_MS,
      waitMs: this.#ground.patienceMs,
      graceMs: CROSSING_MS,
      onOffer: ({ type }) => this.offered.add(type),
      ...options,
    });
    this.#fcps.push(fcp);
    return fcp;
  }

  /** The first control plane. */
  get fcp(): Fcp {
    const [first] = this.#fcps;
    if (!first) throw new Error('The case has started no control plane');
    return first;
  }

  get key(): string {
    return this.#ground.key;
  }

  /** Starts the worker, also again; the one before has to be gone. */
  async worker(options: WorkerOptions = {}): Promise<WorkerProcess> {
    const { slots = 2, stopGrace = 1, drainTimeout = 20, ready = true, env = {} } = options;
    const { clock, command, cwd, folder, key, watcher } = this.#ground;
    const claimed = ready ? this.fcp.next('claim', { what: 'a first claim' }) : undefined;
    claimed?.catch(() => {});
    const n = this.#workers.length + 1;
    const worker: WorkerProcess = await WorkerProcess.start({
      command,
      cwd,
      env: {
        ...this.#ground.env,
        INTERLOCK_URL: this.fcp.url,
        INTERLOCK_WORKER_KEY: key,
        INTERLOCK_WORKER_ID: 'under-test',
        INTERLOCK_SPOOL: join(folder, 'state'),
        INTERLOCK_MAX_CONCURRENT: String(slots),
        INTERLOCK_POOLS: 'default',
        INTERLOCK_STOP_GRACE: String(stopGrace),
        INTERLOCK_DRAIN_TIMEOUT: String(drainTimeout),
        INTERLOCK_CONFORMANCE_DIR: this.#effectsFolder,
        ...env,
      },
      clock,
      watcher,
      heard: (stream) => this.#listener(n, stream),
      onSignal: (name) => this.fcp.did(`${name} to worker ${n}`),
      onEnd: (ending) => {
        this.fcp.note(`worker ${n} ended: ${endingWords(ending)}`);
        const process = this.#workers[n - 1];
        if (process?.mayEnd) return;
        const sentence = `The worker ended by itself with ${endingWords(ending)}.`;
        this.fcp.fail(new Broken(sentence));
      },
    });
    this.#workers.push(worker);
    this.fcp.note(`worker ${n} started, pid ${worker.pid}`);
    await claimed;
    return worker;
  }

  /** Waits for its end. @param withinMs of now. */
  async ending(worker: WorkerProcess, withinMs: number): Promise<Ending> {
    const late = new AbortController();
    const ending = await Promise.race([
      worker.ended,
      this.clock.sleep(withinMs, late.signal).then(() => undefined),
    ]);
    late.abort();
    if (ending) return ending;
    throw new Broken(`The worker was still there after ${withinMs / 1_000} s.`);
  }

  pause(ms: number): Promise<boolean> {
    return this.clock.sleep(ms, this.#ground.signal);
  }

  /** What handlers have done so far, in order. */
  async effects(): Promise<Effect[]> {
    const file = join(this.#effectsFolder, 'effects.jsonl');
    const text = await readFile(file, 'utf8').catch(() => '');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    return whole
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Effect);
  }

  /** Waits until handlers have done so much. */
  async done(count: number): Promise<Effect[]> {
    const { patienceMs } = this.#ground;
    const until = this.clock.now() + patienceMs;
    for (;;) {
      const effects = await this.effects();
      if (effects.length >= count) return effects;
      if (this.clock.now() > until)
        throw new Broken(
          `Handlers had written ${effects.length} of ${count} lines to effects.jsonl after ${patienceMs / 1_000} s.`,
        );
      if (!(await this.pause(EFFECTS_LOOK_MS))) throw new Error('aborted');
    }
  }

  /** What the judge looks at when the case itself is content. */
  get findings(): { fcps: readonly Fcp[]; lines: readonly string[]; leak: string | undefined } {
    return { fcps: this.#fcps, lines: this.#lines, leak: this.#leak };
  }

  /** Whether anything runs that a worker has started, itself included. */
  async goesOn(): Promise<boolean> {
    if (this.#workers.some(({ groupLives }) => groupLives)) return true;
    return (await processesWith(this.#mark)).length > 0;
  }

  /** What the kit did to the worker that no control plane does by itself, each once, in order. */
  played(): string[] {
    return this.#fcps.flatMap((fcp) => fcp.played());
  }

  /**
   * For a person: what went over the wire, what is alike folded; what the worker said; where its files are. No key and no
   * token.
   */
  evidence(): string[] {
    const wire = this.#fcps.flatMap((fcp) => fcp.dump(WIRE_LINES_SHOWN).split('\n'));
    const said = this.#lines.slice(-LINES_SHOWN).map((line) => this.#masked(line));
    return [...titled('on the wire:', wire), ...titled('the worker said:', said)];
  }

  /** The same, whole. */
  timeline(): string[] {
    const wire = this.#fcps.flatMap((fcp) => fcp.timeline());
    const said = this.#lines.map((line) => this.#masked(line));
    return [...titled('on the wire:', wire), ...titled('the worker said:', said)];
  }

  /** Ends all of it. Never rejects. */
  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.close()));
    // What went out of its group.
    if (this.#workers.length > 0) await endProcessesWith(this.#mark, this.clock);
    await Promise.all(this.#fcps.map((fcp) => fcp.stop().catch(() => {})));
  }

  get #effectsFolder(): string {
    return join(this.#ground.folder, 'effects');
  }

  /** In the environment of all that this case starts, and of nothing else. */
  get #mark(): string {
    return `INTERLOCK_CONFORMANCE_DIR=${this.#effectsFolder}`;
  }

  #listener(n: number, stream: string): Listener {
    return {
      find: (text) => this.#secretIn(text),
      mask: (line) => this.#masked(line),
      onLine: (line) => this.#line(`${n}| ${line}`),
      onSecret: (what, line) => {
        this.#leak ??= `${what} to its ${stream} (start ${n}, line ${line})`;
      },
    };
  }

  #line(line: string): void {
    this.#lines.push(line);
    this.#chars += line.length;
    while (this.#lines.length > LINES_KEPT || this.#chars > CHARS_KEPT)
      this.#chars -= this.#lines.shift()?.length ?? 0;
  }

  #secretIn(text: string): Found | undefined {
    const { key } = this.#ground;
    const at = text.indexOf(key);
    if (at >= 0) return { what: 'its key', at };
    for (const fcp of this.#fcps) {
      const found = fcp.tokenIn(text);
      if (found !== undefined) return { what: 'a leaseToken', at: found };
    }
    return undefined;
  }

  #masked(line: string): string {
    const { key } = this.#ground;
    // As long as before: nothing beyond the cut comes into view.
    const without = line.replaceAll(key, 'il_'.padEnd(key.length, '…'));
    const holdsToken = this.#fcps.some((fcp) => fcp.tokenIn(without) !== undefined);
    return holdsToken ? '… (held a token)' : without;
  }
}

function titled(title: string, lines: readonly string[]): string[] {
  const said = lines.filter((line) => line !== '');
  return said.length === 0 ? [] : [title, ...said];
}
