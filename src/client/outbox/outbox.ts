import {
  makeId,
  problemCodes,
  type SubmitRequest,
  TaskError,
  type TaskView,
} from '../../contract/index.ts';
import { clientDefaults } from '../../core/defaults.ts';
import type { ProcessInfo } from '../../ports/process-info.ts';
import type { CallOptions, ServiceClient } from '../service-client.ts';
import { outboxError } from './errors.ts';
import { FlushLock, type FlushLockPorts } from './flush-lock.ts';
import { FlushLoop } from './flush-loop.ts';
import { Flusher } from './flusher.ts';
import type { IntentBody } from './records.ts';
import { IntentStore, type StoredIntent, type StorePorts } from './store.ts';

/** What is told of a submission that nobody waits for any more. */
export interface StoredSubmission {
  readonly idempotencyKey: string;
  readonly type: string;
  readonly schemaVersion: number;
  /** RFC 3339. */
  readonly storedAt: string;
}

/** Submitted later: it is on disk, and goes to the control plane when that answers. */
export interface StoredTask extends StoredSubmission {
  readonly stored: true;
  /** Why it could not be submitted now. */
  readonly why: TaskError;
}

export interface OutboxHandlers {
  /** One that was stored has been submitted. */
  readonly onSubmitted?: ((submission: StoredSubmission, task: TaskView) => void) | undefined;
  /** The control plane refuses one for good; it is set aside in the folder `refused`. */
  readonly onRefused?: ((submission: StoredSubmission, error: TaskError) => void) | undefined;
}

export interface OutboxPorts extends StorePorts, Omit<FlushLockPorts, 'processInfo'> {
  readonly processInfo: () => Promise<ProcessInfo>;
}

export interface OutboxOptions extends OutboxHandlers {
  readonly folder: string;
  /** Of the key, as far as known. */
  readonly project?: string | undefined;
}

export type Submitted = { readonly task: TaskView; readonly replayed: boolean };

/**
 * Submissions go through a folder: each is durable **before** it is sent for the first time, and its record goes when it
 * was answered. So what a crash or an outage interrupts is sent again, always with the key in its record: once it is
 * stored there will be one task. What throws is not stored (or no longer); what is returned is a task or stored.
 */
export class Outbox {
  readonly #ports: OutboxPorts;
  readonly #client: ServiceClient;
  readonly #options: OutboxOptions;
  readonly #store: IntentStore;
  readonly #flusher: Flusher;
  readonly #waiting = new Map<string, Waiter>();
  #loop: FlushLoop | undefined;
  #started: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(ports: OutboxPorts, client: ServiceClient, options: OutboxOptions) {
    this.#ports = ports;
    this.#client = client;
    this.#options = options;
    this.#store = new IntentStore(ports, options.folder);
    this.#flusher = new Flusher(client, this.#store, options.project);
  }

  /** Makes the folder and begins to send what is in it. Throws `OUTBOX_UNSAFE`, `OUTBOX_UNWRITABLE`. Twice is once. */
  start(): Promise<void> {
    this.#started ??= this.#start().catch((error: unknown) => {
      // The next call tries again.
      this.#started = undefined;
      throw error;
    });
    return this.#started;
  }

  /**
   * Resolves with the task, or as stored as soon as there is no answer; with a `timeoutMs` it waits that long for one.
   * Throws what the control plane refuses for good, and `OUTBOX_FULL`, `OUTBOX_UNWRITABLE` …: then it is not stored.
   */
  async submit(request: SubmitRequest, how: CallOptions = {}): Promise<Submitted | StoredTask> {
    this.#mustFit(request);
    let intent: StoredIntent;
    try {
      intent = await this.#keep(request);
    } catch (error) {
      if (!(error instanceof TaskError) || error.code !== 'OUTBOX_UNWRITABLE') throw error;
      return this.#withoutDisk(request, how, error);
    }
    return this.#outcome(intent, how);
  }

  /** Something was answered: whoever was away is back. */
  answered(): void {
    this.#loop?.hurry();
  }

  /** Lets calls under way end for a moment, and gives the folder back; what is in it stays. Twice is fine. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #start(): Promise<void> {
    await this.#store.open();
    if (this.#stopped) return;
    const { layout, tag } = this.#store;
    const lock = new FlushLock(
      { ...this.#ports, processInfo: await this.#ports.processInfo() },
      layout.folder,
      tag,
    );
    this.#loop ??= new FlushLoop({
      ...this.#ports,
      store: this.#store,
      flusher: this.#flusher,
      lock,
      waiting: () => [...this.#waiting.values()].map(({ intent }) => intent),
      events: {
        submitted: (intent, task, replayed) => this.#submitted(intent, task, replayed),
        refused: (intent, error) => this.#refused(intent, error),
        kept: async (intent, error) => this.#unanswered(intent, error),
      },
      stopped: (error) => {
        for (const { intent } of this.#waiting.values()) this.#unanswered(intent, error);
      },
    });
    this.#loop.start();
  }

  async #keep(request: SubmitRequest): Promise<StoredIntent> {
    if (this.#stopped)
      throw outboxError(
        'OUTBOX_CLOSED',
        'The producer was closed, so the submission is not stored.',
      );
    await this.start();
    const where = { serviceUrl: this.#client.shown, project: this.#flusher.project };
    return this.#store.write(this.#body(request), where);
  }

  /** What is too large for the control plane is too large for ever: nothing hopeless is stored. */
  #mustFit({ input }: SubmitRequest): void {
    const { inlineBytes } = this.#client.limits;
    const bytes = Buffer.byteLength(JSON.stringify(input) ?? 'null');
    if (bytes <= inlineBytes) return;
    throw new TaskError(
      'PAYLOAD_TOO_LARGE',
      `The input has ${bytes} bytes; at most ${inlineBytes} are taken. It is not stored.`,
      { hint: problemCodes.PAYLOAD_TOO_LARGE.next, details: { bytes, limit: inlineBytes } },
    );
  }

  /** Without a key of the caller's it gets one, the same for every time it is sent. */
  #body(request: SubmitRequest): IntentBody {
    const { clock, random } = this.#client;
    const idempotencyKey = request.idempotencyKey ?? makeId('req', clock.wall(), random.bytes(10));
    return { ...request, idempotencyKey };
  }

  #outcome(intent: StoredIntent, how: CallOptions): Promise<Submitted | StoredTask> {
    const { clock } = this.#client;
    return new Promise((resolve, reject) => {
      const { timeoutMs, signal } = how;
      const end = () => this.#unanswered(intent, waiter.last ?? stillWaits(), true);
      // It also keeps the process alive while somebody waits here.
      const patient = timeoutMs !== undefined && timeoutMs > 0;
      const timer = clock.timer(patient ? timeoutMs : clientDefaults.timeoutMs, end);
      const waiter: Waiter = {
        intent,
        patient,
        last: undefined,
        settle: (outcome) => {
          this.#waiting.delete(intent.record.id);
          timer.cancel();
          signal?.removeEventListener('abort', end);
          if (outcome instanceof TaskError) reject(outcome);
          else resolve(outcome);
        },
      };
      this.#waiting.set(intent.record.id, waiter);
      signal?.addEventListener('abort', end, { once: true });
      const away = this.#stopped ? stillWaits() : this.#loop?.kick();
      if (away) this.#unanswered(intent, away);
      if (signal?.aborted) end();
    });
  }

  async #submitted(intent: StoredIntent, task: TaskView, replayed: boolean): Promise<void> {
    const waiter = this.#waiting.get(intent.record.id);
    const done = this.#store.done(intent);
    waiter?.settle({ task, replayed });
    if (!waiter) this.#tell(() => this.#options.onSubmitted?.(told(intent), task));
    await done;
  }

  async #refused(intent: StoredIntent, error: TaskError): Promise<void> {
    const waiter = this.#waiting.get(intent.record.id);
    if (waiter) {
      // Whoever gets the error may submit it again, mended: it must be gone by then.
      await this.#store.done(intent);
      waiter.settle(error);
      return;
    }
    const { log } = this.#ports;
    const { type, schemaVersion, idempotencyKey } = intent.record.body;
    const what = `${type}@${schemaVersion} with idempotency key ${idempotencyKey}`;
    try {
      await this.#store.setAside(intent, error);
    } catch (cause) {
      log.warn('outbox.set-aside-failed', `The refused ${what} could not be set aside; later.`, {
        error: cause,
      });
      return;
    }
    log.error('outbox.refused', `The stored submission of ${what} was refused: ${error.message}`, {
      code: error.code,
      idempotencyKey,
    });
    this.#tell(() => this.#options.onRefused?.(told(intent), error));
  }

  #unanswered(intent: StoredIntent, error: TaskError, atOnce = false): void {
    const waiter = this.#waiting.get(intent.record.id);
    if (!waiter) return;
    waiter.last = error;
    if (waiter.patient && !atOnce) return;
    waiter.settle({ stored: true, ...told(intent), why: error });
  }

  /** The disk takes nothing, but the control plane may: as without an outbox. */
  async #withoutDisk(request: SubmitRequest, how: CallOptions, refused: TaskError) {
    this.#ports.log.warn('outbox.unwritable', `${refused.message} It is sent directly.`);
    const body = this.#body(request);
    try {
      return await this.#client.submit(body, how);
    } catch (error) {
      if (!(error instanceof TaskError) || !error.retryable) throw error;
      const { idempotencyKey } = body;
      throw new TaskError(
        refused.code,
        `${refused.message} Nothing is stored, and the control plane did not take it either: ${error.message}`,
        {
          retryable: true,
          hint: `${refused.hint} It may have arrived all the same: submit it again with the idempotency key ${idempotencyKey}, and there will be one task.`,
          cause: error,
          details: { ...refused.details, idempotencyKey },
        },
      );
    }
  }

  async #stop(): Promise<void> {
    await this.#started?.catch(() => {});
    await this.#loop?.stop();
    for (const { intent, last } of this.#waiting.values())
      this.#unanswered(intent, last ?? stillWaits(), true);
    await this.#store.idle();
  }

  #tell(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#ports.log.error('outbox.callback', 'A callback of the outbox threw an error.', {
        error,
      });
    }
  }
}

interface Waiter {
  readonly intent: StoredIntent;
  /** It waits until its time is over, whatever happens before. */
  readonly patient: boolean;
  last: TaskError | undefined;
  settle(outcome: Submitted | StoredTask | TaskError): void;
}

function told({ record }: StoredIntent): StoredSubmission {
  const { type, schemaVersion, idempotencyKey } = record.body;
  return { idempotencyKey, type, schemaVersion, storedAt: record.storedAt };
}

function stillWaits(): TaskError {
  return new TaskError('OUTBOX_WAITING', 'It waits in the outbox for its turn.', {
    retryable: true,
    hint: 'It is sent by itself while a producer with this outbox runs, or by interlock tasks outbox flush.',
  });
}
