import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { createInlineCarrier, type InlineCarrier } from '../carriers/inline.ts';
import { TaskError } from '../contract/errors.ts';
import { typeName, workerId as workerIdSchema } from '../contract/names.ts';
import { VERSION } from '../contract/version.ts';
import { workerDefaults } from '../core/defaults.ts';
import type { HandlerDefinition, HandlerFunction } from '../handler/define.ts';
import type { Log } from '../ports/log.ts';
import { systemClock } from '../system/clock.ts';
import { systemDisk } from '../system/disk.ts';
import { systemFolderLock } from '../system/folder-lock.ts';
import { systemLog } from '../system/log.ts';
import { systemProcessInfo } from '../system/process-info.ts';
import { systemRandom } from '../system/random.ts';
import { stateFolder } from '../system/state-folder.ts';
import { InterlockTransport } from '../transports/interlock.ts';
import { constantKey, type KeySource } from '../wire/key.ts';
import { type ProxySettings, proxyFromEnvironment } from '../wire/proxy.ts';
import { openSpool } from '../worker/spool.ts';
import { type ServedHandler, Worker, type WorkerEnd, type WorkerStatus } from '../worker/worker.ts';

export interface TaskWorkerOptions {
  /** `https://tasks.example.com` or `http://127.0.0.1:7420`. */
  readonly serviceUrl: string;
  /** A key of the kind `task-worker`, or where it comes from. */
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

/** How a handler is to be treated; see `defineHandler`. */
export type HandleOptions = Omit<HandlerDefinition, 'run'>;

/**
 * A worker inside your program: handlers run in this process. It claims, renews leases, keeps finished results on disk
 * until they are answered, and drains. Handlers share the event loop with it: code that blocks for longer than a third
 * of the lease keeps it from renewing; run such code with `interlock-worker`, whose handlers have processes of their own.
 */
export class TaskWorker {
  readonly #options: TaskWorkerOptions;
  readonly #workerId: string;
  readonly #clock = systemClock();
  readonly #log: Log;
  readonly #carrier: InlineCarrier;
  readonly #registered: Promise<ServedHandler>[] = [];
  #worker: Worker | undefined;
  #starting: Promise<void> | undefined;

  /** Throws a `TaskError` where an option cannot be used. */
  constructor(options: TaskWorkerOptions) {
    this.#options = options;
    this.#workerId = checked('workerId', workerIdSchema, options.workerId ?? hostname());
    whole('maxConcurrent', options.maxConcurrent, 1);
    whole('drainTimeoutMs', options.drainTimeoutMs, 0);
    whole('stopGraceMs', options.stopGraceMs, 0);
    whole('pollMaxMs', options.pollMaxMs, 1);
    this.#log = options.log ?? systemLog({ level: 'warn' });
    this.#carrier = createInlineCarrier({ clock: this.#clock, log: this.#log });
  }

  /**
   * Serves this type and version. @param options how safe it is to run again (default `non-idempotent`), schemas, timeout.
   * A wrong declaration makes `start` reject.
   */
  handle<Input = unknown, Result = unknown>(
    type: string,
    schemaVersion: number,
    run: HandlerFunction<Input, Result>,
    options: HandleOptions = {},
  ): this {
    if (this.#starting)
      throw new TaskError('ALREADY_STARTED', 'A handler was added after start().', {
        hint: 'Call handle() for all of them first.',
      });
    checked('type', typeName, type);
    whole('schemaVersion', schemaVersion, 1);
    const registered = this.#carrier
      .handle(type, schemaVersion, { ...options, run } as HandlerDefinition<Input, Result>)
      .then(
        (declared): ServedHandler => ({
          type,
          schemaVersion,
          effectSafety: declared.effectSafety,
          effectGate: declared.effectGate,
          ...(declared.timeoutMs === undefined ? {} : { timeoutMs: declared.timeoutMs }),
          ...(declared.inputSchema === undefined ? {} : { inputSchema: declared.inputSchema }),
          ...(declared.outputSchema === undefined ? {} : { outputSchema: declared.outputSchema }),
        }),
      );
    // Told by start(); until then nobody listens.
    registered.catch(() => {});
    this.#registered.push(registered);
    return this;
  }

  /**
   * Takes the spool, says hello and begins to claim. An outage does not fail it. Rejects with `SPOOL_LOCKED` (another
   * process has this worker id's spool), `SPOOL_UNWRITABLE`, `UNAUTHENTICATED` where the key is refused. Twice is once.
   */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /** Claims no more, finishes what runs (until `drainTimeoutMs`), delivers what is owed. Twice is once. */
  async drain(): Promise<WorkerEnd> {
    await this.#starting?.catch(() => {});
    return this.#worker?.drain() ?? { why: 'drained', unsent: 0, stopped: 0 };
  }

  /** Resolves when the worker has ended, whoever ended it; `undefined` before `start`. Never rejects. */
  get ended(): Promise<WorkerEnd> | undefined {
    return this.#worker?.ended;
  }

  /** `undefined` before `start`. */
  status(): WorkerStatus | undefined {
    return this.#worker?.status();
  }

  async #start(): Promise<void> {
    const { serviceUrl, insecureHttp, caFile } = this.#options;
    const proxy = this.#options.proxy ?? proxyFromEnvironment(process.env);
    const handlers = await Promise.all(this.#registered);
    if (handlers.length === 0)
      throw new TaskError('NO_HANDLERS', 'The worker has no handler, so it could claim nothing.', {
        hint: "Call handle('demo/hello', 1, …) before start().",
      });
    const key =
      typeof this.#options.key === 'string' ? constantKey(this.#options.key) : this.#options.key;
    const transport = new InterlockTransport({
      serviceUrl,
      key,
      clock: this.#clock,
      insecureHttp,
      caFile,
      proxy,
    });
    const random = systemRandom();
    const sessionId = `ses_${Buffer.from(random.bytes(16)).toString('hex')}`;
    let worker: Worker | undefined;
    const opened = await openSpool({
      disk: systemDisk(),
      clock: this.#clock,
      log: this.#log,
      lock: systemFolderLock(),
      processInfo: await systemProcessInfo(),
      folder: this.#options.spool ?? defaultSpool(this.#workerId),
      workerId: this.#workerId,
      sessionId,
      serviceUrl,
      onTrouble: (why) => worker?.spoolTrouble(why),
      onLost: (why) => worker?.spoolLost(why),
    });
    if (!opened.ok) {
      await transport.close();
      throw opened.error;
    }
    const { maxConcurrent, pools, drainTimeoutMs, stopGraceMs, pollMaxMs } = this.#options;
    worker = new Worker(
      {
        clock: this.#clock,
        random,
        log: this.#log,
        transport,
        carrier: this.#carrier,
        spool: opened.spool,
      },
      {
        workerId: this.#workerId,
        sessionId,
        pools: pools ?? ['default'],
        maxConcurrent: maxConcurrent ?? 1,
        handlers,
        drainTimeoutMs: drainTimeoutMs ?? workerDefaults.drainTimeoutMs,
        stopGraceMs: stopGraceMs ?? workerDefaults.stopGraceMs,
        pollMaxMs: pollMaxMs ?? workerDefaults.pollMaxMs,
        versions: {
          sdk: VERSION,
          node: process.versions.node,
          platform: `${process.platform}-${process.arch}`,
        },
      },
    );
    this.#worker = worker;
    await worker.start();
    const early = await Promise.race([worker.ended, undefined]);
    if (early?.why === 'key-refused') {
      throw new TaskError(
        'UNAUTHENTICATED',
        `The control plane at ${serviceUrl} refused the key: ${early.detail}`,
        {
          hint: 'Use a key of the kind task-worker: `interlock keys new "my worker" --kind task-worker`.',
        },
      );
    }
  }
}

function defaultSpool(workerId: string): string {
  // The SDK is the composition root of the user's program: the environment is read here and nowhere below.
  const folder = stateFolder({ platform: process.platform, env: process.env, home: homedir() });
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

function whole(name: string, value: number | undefined, min: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= min)) return;
  throw new TaskError(
    'INVALID_OPTION',
    `${name} is ${String(value)}; it must be a whole number from ${min}.`,
  );
}
