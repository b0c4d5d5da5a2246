/**
 * A running worker reads its config, key and handlers again. Woken by `request` (SIGHUP); one at a time: what is asked for
 * meanwhile is one more afterwards. What cannot be read leaves everything as it was, and the log says why.
 */
import { resolve } from 'node:path';
import type { ProcessCarrier } from '../carriers/process-carrier.ts';
import { cutText } from '../contract/errors.ts';
import { bounds, type KeptHandler, type UnservedHandler } from '../contract/index.ts';
import { type KeptBack, type NextHandlers, nextHandlers } from '../handler/generations.ts';
import type { Timer } from '../ports/clock.ts';
import type { SystemLog } from '../system/log.ts';
import type { LiveSettings, Worker } from '../worker/worker.ts';
import type { CodeFolder } from './code-folder.ts';
import { toFailure } from './failure.ts';
import { hintAtStart, hintWhileRunning, toldProblems, unservedHandlers } from './handler-words.ts';
import { type Discovery, discover, type HandlerProblem, handlerKey } from './handlers.ts';
import { readSources } from './main.ts';
import { inWords, named, shown } from './reload-words.ts';
import { readSettings } from './settings.ts';
import type { WorkerCall } from './worker-agent.ts';
import { workerSettings } from './worker-settings.ts';
import { tellHandlers } from './worker-words.ts';

export interface ReloadParts {
  readonly call: WorkerCall;
  readonly log: SystemLog;
  readonly worker: Worker;
  readonly hosts: ProcessCarrier;
  readonly code: CodeFolder;
  /** What is served now. */
  readonly handlers: Discovery['handlers'];
  /** What the start could not serve. */
  readonly unserved: readonly UnservedHandler[];
  /** Ends what still loads files when the worker has ended. */
  readonly looks: AbortController;
  /** Who hears of it: a service manager wants to know. */
  readonly listener?: ReloadListener;
}

export interface ReloadListener {
  reloading(): void;
  /** Over, well or not; as a sentence. Also that of a run that another follows. */
  reloaded(says: string): void;
}

/** Settings that a running worker takes over; any other needs a restart. */
const LIVE = [
  'pools',
  'maxConcurrent',
  'drainTimeoutMs',
  'stopGraceMs',
  'pollMaxMs',
] as const satisfies readonly (keyof LiveSettings)[];
type AllSettings = ReturnType<typeof readSettings<(typeof workerSettings)[number]>>;

export class WorkerReload {
  readonly #parts: ReloadParts;
  #settings: AllSettings;
  #handlers: Discovery['handlers'];
  /** By type: since when its file is broken, RFC 3339. */
  #brokenSince = new Map<string, string>();
  #unserved: readonly UnservedHandler[];
  #running: Promise<void> | undefined;
  #again = false;
  #sweeping: Promise<void> | undefined;
  #later: Timer | undefined;
  #over = false;

  constructor(parts: ReloadParts) {
    this.#parts = parts;
    this.#handlers = parts.handlers;
    this.#unserved = parts.unserved;
    // As the start has read them, once more: it got fewer of them.
    this.#settings = readSettings(workerSettings, parts.call.sources);
  }

  /** The settings that the worker has now. */
  get settings(): AllSettings {
    return this.#settings;
  }

  /** The worker has ended: handlers that still load are ended too. Resolves when nothing is under way, or after a moment. */
  async settled(): Promise<void> {
    this.#over = true;
    this.#later?.cancel();
    this.#parts.looks.abort();
    await this.#sweeping;
    if (this.#running === undefined) return;
    const enough = new AbortController();
    await Promise.race([this.#running, this.#parts.call.io.clock.sleep(SETTLE_MS, enough.signal)]);
    enough.abort();
  }

  /** Resolves when it has been done; never rejects. */
  request(): Promise<void> {
    if (this.#running) {
      this.#again = true;
      return this.#running;
    }
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /**
   * Serves what loaded after the worker has started without it, and tells what never will; what is asked for meanwhile comes
   * afterwards, so that it judges by all of it. Once, right after it was made.
   * @param early what the start knew, and has told.
   */
  takeLate(found: Promise<Discovery>, early: Discovery): void {
    this.#running = this.#late(found, early).finally(() => {
      this.#running = undefined;
    });
  }

  async #late(finding: Promise<Discovery>, early: Discovery): Promise<void> {
    const { call, log } = this.#parts;
    try {
      const found = await finding;
      if (!this.#leaving() && !this.#over) {
        const folder = resolve(call.io.cwd, this.#settings.handlers);
        const next = nextHandlers(this.#handlers, found, folder);
        const told = new Set(early.problems.map(({ file, message }) => `${file} ${message}`));
        this.#serve(next, found, folder, {
          hintOf: hintAtStart,
          isNews: ({ file, message }) => !told.has(`${file} ${message}`),
        });
        for (const type of next.added)
          log.info('handler.loaded', `${type} has loaded, and is served too.`, { type });
      }
    } catch (error) {
      log.error('reload.kept', toFailure(error).message);
    }
    if (this.#again) await this.#run();
  }

  async #run(): Promise<void> {
    const { listener, log } = this.#parts;
    do {
      this.#again = false;
      listener?.reloading();
      let said: string;
      try {
        said = await this.#once();
      } catch (error) {
        const { message, hint } = toFailure(error);
        said = `Nothing was changed: ${message}${hint ? ` ${hint}` : ''}`;
        log.error('reload.kept', said);
      }
      listener?.reloaded(said);
    } while (this.#again);
  }

  /** @returns what it came to, as a sentence. */
  async #once(): Promise<string> {
    const { call, code, log, looks, worker } = this.#parts;
    if (this.#leaving()) {
      log.info('reload.kept', DRAINS);
      return DRAINS;
    }
    const { io } = call;
    // What is removed now must not be found there by a probe.
    await this.#sweeping;
    const typed = call.sources.flags as Parameters<typeof readSources>[0];
    const { sources } = await readSources(typed, io);
    const settings = readSettings(workerSettings, sources);
    const folder = resolve(io.cwd, settings.handlers);
    const [found, newKey] = await Promise.all([
      discover(folder, io, { log, keepIn: code.folder, signal: looks.signal }),
      worker.reloadKey(),
    ]);
    if (this.#leaving() || this.#over) return DRAINS;
    const next = nextHandlers(this.#handlers, found, folder);
    const said = [...this.#adjust(settings), ...(newKey ? ['the key is another'] : [])];
    this.#serve(next, found, folder);
    this.#sweep();
    const words = [...inWords(next), ...said];
    const text = `Read again: ${words.join('; ') || 'there is nothing that this worker serves'}.`;
    log.info('reload.done', text, {
      added: next.added,
      changed: next.changed,
      removed: next.removed,
      kept: next.kept.map(({ handler }) => handlerKey(handler)),
      unchanged: next.same,
    });
    return text;
  }

  /** Removes code that was replaced; later what attempts that are here were claimed for. */
  #sweep(): void {
    const { call, code, worker } = this.#parts;
    this.#later?.cancel();
    const used = worker.codesInUse();
    this.#sweeping = code.sweep(used);
    // Where no code is known its stand-ins count alike.
    if (used.size > this.#handlers.length && !this.#over)
      this.#later = call.io.clock.timer(SWEEP_MS, () => void this.#sweepAfter(this.#running));
  }

  async #sweepAfter(running: Promise<void> | undefined): Promise<void> {
    await running;
    if (!this.#over) this.#sweep();
  }

  #leaving(): boolean {
    const { state } = this.#parts.worker.status();
    return state === 'draining' || state === 'stopped';
  }

  /** @param how how what is wrong is told: its next step, and whether it has to be told at all. */
  #serve(next: NextHandlers, found: Discovery, folder: string, how: Telling = ALL): void {
    const { call, code, hosts, log, worker } = this.#parts;
    this.#handlers = next.handlers;
    const served = next.handlers.map((one) => code.served(one));
    const kept = this.#tellKept(next.kept);
    const held = new Set(next.kept.map(({ handler }) => handlerKey(handler)));
    // What is news of those that are served as before was told when they were found.
    const news = new Set([...next.added, ...next.changed]);
    const unheld = found.problems
      .filter(({ type }) => type === undefined || !held.has(type))
      .map((problem) => ({ ...problem, hint: how.hintOf(problem.hint) }));
    tellHandlers(
      {
        handlers: next.handlers.filter((one) => news.has(handlerKey(one))),
        problems: unheld.filter(how.isNews),
      },
      log,
    );
    const none = next.handlers.length === 0 && next.removed.length > 0;
    if (none)
      log.error(
        'handlers.gone',
        `There is no handler in ${folder} any more: this worker stays, and claims nothing until there is one. Put handlers there and send it SIGHUP.`,
      );
    const now = new Date(call.io.clock.wall()).toISOString();
    this.#unserved = unservedHandlers(unheld, this.#unserved, now);
    const gone = none ? `there is no handler left in ${folder}` : undefined;
    worker.serve(served, kept, gone, this.#unserved);
    hosts.keepOnly(new Set(served.flatMap((one) => one.code?.id ?? [])));
  }

  #tellKept(kept: readonly KeptBack[]): KeptHandler[] {
    const { call, log } = this.#parts;
    const now = new Date(call.io.clock.wall()).toISOString();
    const before = this.#brokenSince;
    this.#brokenSince = new Map();
    return kept.map(({ handler, problem }) => {
      const type = handlerKey(handler);
      const since = before.get(type) ?? now;
      this.#brokenSince.set(type, since);
      const [told] = toldProblems([problem]);
      const why = `${told?.says ?? problem.message} ${hintWhileRunning(problem.hint)}`;
      log.error(
        'handler.kept',
        `${type} is served with the code that it had, since what lies there now cannot be: ${why}`,
        { type, file: problem.file, code: problem.code, since },
      );
      const { schemaVersion } = handler;
      return { type: handler.type, schemaVersion, why: cutText(why, bounds.reasonChars), since };
    });
  }

  /** Takes over what may change; @returns what has changed, in words. */
  #adjust(settings: AllSettings): string[] {
    const { hosts, log, worker } = this.#parts;
    const old = this.#settings;
    const differs = (name: (typeof workerSettings)[number]) =>
      JSON.stringify(old[name]) !== JSON.stringify(settings[name]);
    const live = LIVE.filter(differs);
    const more = (['handlers', 'logLevel'] as const).filter(differs);
    const taken: readonly string[] = [...LIVE, 'handlers', 'logLevel'];
    const waiting = workerSettings.filter((name) => !taken.includes(name) && differs(name));
    // Those that need a restart stay as they are: else the next reload would not name them.
    const rest = Object.fromEntries(waiting.map((name) => [name, old[name]]));
    this.#settings = { ...settings, ...rest } as AllSettings;
    if (live.length > 0) worker.adjust(Object.fromEntries(live.map((one) => [one, settings[one]])));
    if (live.includes('maxConcurrent')) hosts.resize(settings.maxConcurrent);
    if (more.includes('logLevel')) log.setLevel(settings.logLevel);
    if (waiting.length > 0)
      log.warn(
        'reload.restart-needed',
        `${waiting.map(named).join(', ')} ${waiting.length === 1 ? 'was' : 'were'} changed, which a running worker does not take over: restart it for that.`,
        { settings: waiting.map(named) },
      );
    return [...more, ...live].map((name) => `${named(name)} is ${shown(name, settings[name])}`);
  }
}

interface Telling {
  hintOf(hint: string): string;
  isNews(problem: HandlerProblem): boolean;
}
const ALL: Telling = { hintOf: hintWhileRunning, isNews: () => true };
/** Attempts on code that was replaced are looked after this often. */
const SWEEP_MS = 2_000;
/** Nothing is lost by what is cut off: the next start removes what its probe has written. */
const SETTLE_MS = 1_000;
const DRAINS = 'Nothing is read again: this worker drains.';
