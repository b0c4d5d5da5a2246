import { limits, TaskError, type TaskView } from '../../contract/index.ts';
import { outboxDefaults } from '../../core/defaults.ts';
import type { ServiceClient } from '../service-client.ts';
import { submitMany } from '../submit-many.ts';
import type { StoredIntent } from './store.ts';
import { nobodyThere, retryAfterOf, verdictOf } from './verdict.ts';

/** What is told of each submission of a pass. What they do is waited for. */
export interface PassEvents {
  submitted(intent: StoredIntent, task: TaskView, replayed: boolean): Promise<void>;
  /** Refused for good. */
  refused(intent: StoredIntent, error: TaskError): Promise<void>;
  /** It was sent, and is still wanted. @param alone others were answered at the same time. */
  kept(intent: StoredIntent, error: TaskError, alone: boolean): Promise<void>;
}

/** Why a pass ended before its end: nothing more can be sent now. */
export interface Stop {
  readonly error: TaskError;
  /** `key`: somebody has to act. */
  readonly kind: 'key' | 'away';
  readonly retryAfterMs: number;
}

/**
 * Sends stored submissions, oldest first, in batches. One that is refused, or that gets no answer while the control
 * plane answers others, holds up nothing behind it; a control plane that is away, busy or refuses the key ends the pass.
 * @param intents in order; read as they are needed.
 * @param bind writes down which project they go to, before they are sent. Rejects with the `TaskError` of the call that tells it.
 */
export async function sendAll(
  client: ServiceClient,
  intents: AsyncIterable<StoredIntent>,
  events: PassEvents,
  signal?: AbortSignal,
  bind: (chunk: readonly StoredIntent[]) => Promise<void> = async () => {},
): Promise<Stop | undefined> {
  const pass = new Pass(client, events, signal, bind);
  let chunk: StoredIntent[] = [];
  let bytes = 0;
  for await (const intent of intents) {
    if (chunk.length >= limits.batch || (bytes > 0 && bytes + intent.bytes > limits.batchBytes)) {
      const stop = await pass.send(chunk);
      if (stop) return stop;
      chunk = [];
      bytes = 0;
    }
    chunk.push(intent);
    bytes += intent.bytes;
  }
  return chunk.length === 0 ? undefined : pass.send(chunk);
}

class Pass {
  readonly #client: ServiceClient;
  readonly #events: PassEvents;
  readonly #how: { readonly timeoutMs: 0; readonly signal?: AbortSignal };
  readonly #bind: (chunk: readonly StoredIntent[]) => Promise<void>;
  #strange = 0;

  constructor(
    client: ServiceClient,
    events: PassEvents,
    signal: AbortSignal | undefined,
    bind: (chunk: readonly StoredIntent[]) => Promise<void>,
  ) {
    this.#client = client;
    this.#bind = bind;
    this.#events = events;
    // Each call once: when to come again is the loop's to say.
    this.#how = { timeoutMs: 0, ...(signal && { signal }) };
  }

  async send(chunk: readonly StoredIntent[]): Promise<Stop | undefined> {
    // Also learns the limits; and a control plane that is away is met by one small call.
    const away =
      (await this.#call(() => this.#client.discover(this.#how))) ??
      (await this.#call(() => this.#bind(chunk)));
    if (away) return this.#told(chunk, away);
    const whole = await this.#sendOnce(chunk);
    if (!whole) return undefined;
    const verdict = verdictOf(whole);
    const alone = chunk.length === 1;
    if (whole.code === 'ABORTED' || verdict === 'busy' || nobodyThere(whole))
      return this.#told(chunk, whole);
    // Alone it may be about this one only: a key may be limited to types and pools.
    if (verdict === 'key' && !alone) return this.#told(chunk, whole);
    // Is it the control plane, or is it something in what was sent (a proxy that stumbles over it)?
    const silent = await this.#call(() => this.#client.doctor(this.#how));
    if (silent) return this.#told(chunk, silent);
    const [first] = chunk;
    if (alone && first) {
      await this.#events.kept(first, whole, true);
      return ++this.#strange >= outboxDefaults.strangeMax ? this.#stop(whole) : undefined;
    }
    const middle = Math.ceil(chunk.length / 2);
    return (await this.send(chunk.slice(0, middle))) ?? (await this.send(chunk.slice(middle)));
  }

  /** Tells what became of each; what failed all of them alike is returned and not told. */
  async #sendOnce(chunk: readonly StoredIntent[]): Promise<TaskError | undefined> {
    const bodies = chunk.map(({ record }) => record.body);
    let outcomes: Awaited<ReturnType<typeof submitMany>>;
    try {
      outcomes = await submitMany(this.#client, bodies, this.#how);
    } catch (error) {
      if (error instanceof TaskError) return error;
      throw error;
    }
    const whole = outcomes.every((one) => !one.ok && verdictOf(one.error) !== 'refused')
      ? sameError(outcomes)
      : undefined;
    if (whole) return whole;
    // Together, so that those of one file are closed with one write.
    await Promise.all(
      chunk.map((intent, i) => {
        const outcome = outcomes[i];
        if (!outcome) return undefined;
        if (outcome.ok) return this.#events.submitted(intent, outcome.task, outcome.replayed);
        if (verdictOf(outcome.error) === 'refused')
          return this.#events.refused(intent, outcome.error);
        return this.#events.kept(intent, outcome.error, true);
      }),
    );
    return undefined;
  }

  async #told(chunk: readonly StoredIntent[], error: TaskError): Promise<Stop> {
    if (error.code !== 'ABORTED')
      await Promise.all(chunk.map((intent) => this.#events.kept(intent, error, false)));
    return this.#stop(error);
  }

  #stop(error: TaskError): Stop {
    const kind = verdictOf(error) === 'key' ? 'key' : 'away';
    return { error, kind, retryAfterMs: retryAfterOf(error) };
  }

  async #call(call: () => Promise<unknown>): Promise<TaskError | undefined> {
    try {
      await call();
      return undefined;
    } catch (error) {
      if (error instanceof TaskError) return error;
      throw error;
    }
  }
}

/** An error that a call as a whole had: its submissions share it. */
function sameError(outcomes: Awaited<ReturnType<typeof submitMany>>): TaskError | undefined {
  const [first] = outcomes;
  if (!first || first.ok) return undefined;
  return outcomes.every((one) => !one.ok && one.error === first.error) ? first.error : undefined;
}
