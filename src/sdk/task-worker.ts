import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { createInlineCarrier, type InlineCarrier } from '../carriers/inline.ts';
import { TaskError } from '../contract/errors.ts';
import {
  poolName,
  schemaVersion as schemaVersionSchema,
  typeName,
  workerId as workerIdSchema,
} from '../contract/names.ts';
import { typeKey } from '../contract/type-key.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { HandlerDefinition, HandlerFunction } from '../handler/define.ts';
import type { Log } from '../ports/log.ts';
import { systemClock } from '../system/clock.ts';
import { systemRandom } from '../system/random.ts';
import { homeFolder, stateFolder } from '../system/state-folder.ts';
import type { KeySource } from '../wire/key.ts';
import { type ProxySettings, proxyChooser, proxyFromEnvironment } from '../wire/proxy.ts';
import type { ServedHandler, WorkerStatus } from '../worker/worker.ts';
import { Agent } from './agent.ts';
import type { WorkerEnd } from './agent-words.ts';
import { Inside } from './inside.ts';
import {
  checkDoor,
  checkOptions,
  judgedElsewhere,
  mustBeFlag,
  mustBeLog,
  mustBeProxy,
  mustBeText,
  mustBeWhole,
  type OptionChecks,
} from './options.ts';
import { ownLog, quietLog } from './quiet-log.ts';
import { checkOrder, definitionOf, type HandleOptions, served } from './registered.ts';
import { presentKey } from './worker-key.ts';

export interface TaskWorkerOptions {
  /** `https://tasks.example.com` or `http://127.0.0.1:7420`. */
  readonly serviceUrl: string;
  /**
   * A key of the kind `task-worker`, or where it comes from. The agent works with the last one it was told; the source is
   * asked again when that is refused.
   */
  readonly key: string | KeySource;
  /** Its own in the project [the host's name]. */
  readonly workerId?: string;
  /** Handlers at the same time [1]. */
  readonly maxConcurrent?: number;
  /** Pools to take tasks from [`['default']`]. */
  readonly pools?: readonly string[];
  /** Folder where reports are kept until they are answered; one per worker id [in the system's state folder]. */
  readonly spool?: string;
  /** How long handlers may go on after `drain()`, in milliseconds [600000]. */
  readonly drainTimeoutMs?: number;
  /** How long a handler that is told to stop may take, in milliseconds [10000]. */
  readonly stopGraceMs?: number;
  /** Longest wait between two claims while hints work, in milliseconds [15000]. */
  readonly pollMaxMs?: number;
  /** Send the key over http beyond this machine [false]. */
  readonly insecureHttp?: boolean;
  /** PEM file with further authorities. */
  readonly caFile?: string;
  readonly proxy?: ProxySettings;
  /** Where the worker tells what happens [warnings and errors on stderr]. */
  readonly log?: Log;
}

export type { HandleOptions };

/**
 * A worker inside your program: handlers run in this thread, where your program is. What claims, renews leases, keeps
 * finished results on disk until they are answered, and drains, has a thread of its own (the agent), so that code which
 * holds this one for long (a long loop, a synchronous call) loses no lease.
 *
 * What such code still holds up, since it needs this thread: other handlers and the rest of your program; that a handler
 * hears of its stop (`ctx.signal`: a cancel, a timeout, a drain), `ctx.beginEffect()`, and a handler's result. What it
 * says by `ctx.progress` and `ctx.log` goes out at once. A handler that does not stop cannot be killed and keeps its slot:
 * run what may hang with `interlock-worker`, whose handlers have processes of their own.
 *
 * From `start()` until it has ended the worker keeps the process alive. After `process.exit()` or a crash the next start
 * with the same spool sends what was finished and tells what was running.
 */
export class TaskWorker {
  readonly #options: TaskWorkerOptions;
  readonly #workerId: string;
  readonly #key: KeySource;
  readonly #clock = systemClock();
  readonly #log: Log;
  readonly #carrier: InlineCarrier;
  readonly #registered: Promise<ServedHandler>[] = [];
  readonly #inside = new Inside();
  readonly #handled = new Set<string>();
  #agent: Agent | undefined;
  #running = false;
  #starting: Promise<void> | undefined;
  #drainedBefore = false;

  /** Throws a `TaskError` where an option cannot be used. */
  constructor(options: TaskWorkerOptions) {
    checkOptions('TaskWorker', options, workerChecks);
    this.#options = options;
    this.#key = checkDoor(options).key;
    if (options.proxy) proxyChooser(options.proxy);
    this.#workerId = checked('workerId', workerIdSchema, options.workerId ?? hostname());
    for (const pool of options.pools ?? []) checked('pools', poolName, pool);
    this.#log = quietLog(options.log ?? ownLog());
    this.#carrier = createInlineCarrier({ clock: this.#clock, log: this.#log, ownsJobs: true });
  }

  /**
   * Serves this type and version. @param run a function, or a whole definition (`defineHandler`) without options beside it.
   * @param options how safe it is to run again (default `non-idempotent`), schemas, timeout. Throws `INVALID_OPTION` for an
   * option that it does not know or that cannot be, and for what is no function, `HANDLER_DUPLICATE` for what has a handler
   * already; what needs a look at the whole (schemas, a shared host) makes `start` reject with `HANDLER_BAD_DECLARATION`.
   */
  handle<Input = unknown, Result = unknown>(
    type: string,
    schemaVersion: number,
    run: HandlerFunction<Input, Result> | HandlerDefinition<Input, Result>,
    options?: HandleOptions,
  ): this {
    checkOrder(type, schemaVersion, run, options);
    const definition = definitionOf(run, options);
    if (this.#starting)
      throw new TaskError('ALREADY_STARTED', 'A handler was added after start().', {
        hint: 'Call handle() for all of them first.',
      });
    checked('type', typeName, type);
    checked('schemaVersion', schemaVersionSchema, schemaVersion);
    this.#once(type, schemaVersion);
    const registered = this.#carrier
      .handle(type, schemaVersion, {
        ...definition,
        run: this.#inside.seen(definition.run),
      } as HandlerDefinition<Input, Result>)
      .then(
        (declared) => served(type, schemaVersion, declared),
        (error: unknown) => {
          if (!(error instanceof TaskError) || error.code !== 'HANDLER_BAD_DECLARATION')
            throw error;
          throw new TaskError(error.code, error.message, {
            hint: `Correct the options of handle('${type}', ${schemaVersion}, …) and start again.`,
            cause: error,
          });
        },
      );
    // Told by start(); until then nobody listens.
    registered.catch(() => {});
    this.#registered.push(registered);
    return this;
  }

  /**
   * Takes the spool, says hello and begins to claim. An outage does not fail it. Rejects with `SPOOL_LOCKED` (another
   * process has this worker id's spool), `SPOOL_UNWRITABLE`, `UNAUTHENTICATED` where the key is refused, `AGENT_NOT_STARTED`
   * or `AGENT_DIED` where its thread does not run, `WORKER_ENDED` after a `drain()` that came first. Twice is once.
   */
  start(): Promise<void> {
    if (this.#drainedBefore)
      return Promise.reject(
        new TaskError('WORKER_ENDED', 'drain() was called before start(): this worker has ended.', {
          hint: 'Make a new TaskWorker to take tasks.',
        }),
      );
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /**
   * Claims no more, finishes what runs (until `drainTimeoutMs`), delivers what is owed. Twice is once; before `start()`
   * nothing is ever started. `forced`: handlers would not go. They cannot be killed: until the last of them has ended the
   * spool stays taken and their leases are renewed, and what they say is delivered, as long as the process lives.
   *
   * Inside a handler of this worker it begins the drain and resolves at once with `draining`: the end waits for that
   * handler, so the handler must not wait for the end (nor for `ended`).
   */
  async drain(): Promise<WorkerEnd> {
    if (this.#inside.now) {
      void this.#agent?.drain();
      return { why: 'draining', unsent: this.#agent?.status()?.unanswered ?? 0, stopped: 0 };
    }
    if (!this.#starting) this.#drainedBefore = true;
    // At once where it runs: code that calls this and goes on to hold the thread must not hold the drain.
    if (!this.#running) await this.#starting?.catch(() => {});
    return this.#agent?.drain() ?? { why: 'drained', unsent: 0, stopped: 0 };
  }

  /** Resolves when the worker has ended, whoever ended it; `undefined` before `start`. Never rejects. */
  get ended(): Promise<WorkerEnd> | undefined {
    return this.#agent?.ended;
  }

  /**
   * `undefined` before `start`. Asked of the agent at this moment, which takes well below a millisecond; a machine that is
   * so busy that it does not answer within 100 ms gives the last one that was asked for.
   */
  status(): WorkerStatus | undefined {
    return this.#agent?.status();
  }

  #once(type: string, schemaVersion: number): void {
    const key = typeKey(type, schemaVersion);
    if (this.#handled.has(key))
      throw new TaskError('HANDLER_DUPLICATE', `${key} has a handler already.`, {
        hint: 'Call handle() once for each type and version.',
      });
    this.#handled.add(key);
  }

  async #start(): Promise<void> {
    const { serviceUrl, insecureHttp, caFile } = this.#options;
    const proxy = this.#options.proxy ?? proxyFromEnvironment(process.env);
    const handlers = await Promise.all(this.#registered);
    if (handlers.length === 0)
      throw new TaskError('NO_HANDLERS', 'The worker has no handler, so it could claim nothing.', {
        hint: "Call handle('demo/hello', 1, …) before start().",
      });
    const key = this.#key;
    const { maxConcurrent, pools, drainTimeoutMs, stopGraceMs, pollMaxMs } = this.#options;
    this.#agent = new Agent(
      {
        serviceUrl,
        key: presentKey(key),
        insecureHttp,
        caFile,
        proxy,
        spool: resolve(this.#options.spool ?? defaultSpool(this.#workerId)),
        workerId: this.#workerId,
        sessionId: `ses_${Buffer.from(systemRandom().bytes(16)).toString('hex')}`,
        pools: pools ?? ['default'],
        maxConcurrent: maxConcurrent ?? 1,
        handlers,
        drainTimeoutMs: drainTimeoutMs ?? workerDefaults.drainTimeoutMs,
        stopGraceMs: stopGraceMs ?? workerDefaults.stopGraceMs,
        pollMaxMs: pollMaxMs ?? workerDefaults.pollMaxMs,
        logged: this.#options.log !== undefined,
      },
      { clock: this.#clock, log: this.#log, carrier: this.#carrier, key },
    );
    await this.#agent.started;
    this.#running = true;
  }
}

function defaultSpool(workerId: string): string {
  // The SDK is the composition root of the user's program: the environment is read here and nowhere below.
  const folder = stateFolder({
    platform: process.platform,
    env: process.env,
    home: homeFolder(process.env),
  });
  if (folder === undefined)
    throw new TaskError(
      'NO_STATE_FOLDER',
      'There is no folder for the spool: the user has no home.',
      { hint: 'Give the option `spool`.' },
    );
  return join(folder, 'spool', workerId);
}

function checked<T>(
  name: string,
  schema: {
    safeParse(
      value: unknown,
    ): { success: true; data: T } | { success: false; error: { issues: { message: string }[] } };
  },
  value: unknown,
): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw new TaskError(
    'INVALID_OPTION',
    `${name} ${JSON.stringify(value)}: ${read.error.issues[0]?.message ?? 'is not valid'}.`,
  );
}

const workerChecks: OptionChecks<TaskWorkerOptions> = {
  serviceUrl: judgedElsewhere,
  key: judgedElsewhere,
  workerId: judgedElsewhere,
  maxConcurrent: mustBeWhole(1),
  pools: (value) => (Array.isArray(value) && value.length > 0 ? undefined : 'a list of pools'),
  spool: mustBeText,
  drainTimeoutMs: mustBeWhole(0),
  stopGraceMs: mustBeWhole(0),
  pollMaxMs: mustBeWhole(1),
  insecureHttp: mustBeFlag,
  caFile: mustBeText,
  proxy: mustBeProxy,
  log: mustBeLog,
};
