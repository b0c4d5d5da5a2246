import type { Seen, Sent } from './caller.ts';
import type { AttemptOffer, EffectGate, EffectSafety } from './wire-shapes.ts';
import type { ControlPlaneWorld } from './world.ts';

export interface WorkerOptions {
  /** [one that no other case holds now; `world.fresh('worker')` for one that was never heard of] */
  readonly workerId?: string;
  /** [a fresh one] */
  readonly sessionId?: string;
  /** Which key it calls with [`worker`]. */
  readonly key?: string;
}

export interface ClaimOptions {
  readonly max?: number;
  readonly slots?: number;
  readonly leaseMs?: number;
  readonly effectSafety?: EffectSafety;
  readonly effectGate?: EffectGate;
  readonly requestId?: string;
  readonly pools?: readonly string[];
  readonly earlierSessions?: readonly string[];
  /** More fields, or others. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** A worker played by hand: one session of one `workerId`. It does only what a case tells it. */
export class WorkerActor {
  readonly workerId: string;
  readonly sessionId: string;
  readonly #world: ControlPlaneWorld;
  readonly #key: string;

  constructor(world: ControlPlaneWorld, { workerId, sessionId, key }: WorkerOptions = {}) {
    this.#world = world;
    this.#key = key ?? world.keys.worker;
    this.workerId = workerId ?? world.workerId(this.#key);
    this.sessionId = sessionId ?? world.id('ses');
  }

  /** The same session with another key. */
  withKey(key: string): WorkerActor {
    const { workerId, sessionId } = this;
    return new WorkerActor(this.#world, { workerId, sessionId, key });
  }

  /** The same worker after its process was started again: a fresh session, nothing said yet. */
  restarted(): WorkerActor {
    return new WorkerActor(this.#world, { workerId: this.workerId, key: this.#key });
  }

  /** `PUT /workers/{id}` as a ready worker that serves these types. */
  present(types: readonly string[], more: Readonly<Record<string, unknown>> = {}): Promise<Seen> {
    return this.#world.call({
      method: 'PUT',
      path: `/workers/${this.workerId}`,
      key: this.#key,
      body: {
        sessionId: this.sessionId,
        state: 'ready',
        slots: { max: 4, busy: 0 },
        pools: [this.#world.pool],
        handlersHash: `h-${types.join(',')}`.slice(0, 64),
        handlers: types.map((type) => ({
          type,
          schemaVersion: 1,
          effectSafety: 'non-idempotent',
          effectGate: 'start',
        })),
        versions: { agent: 'conformance' },
        spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
        ...more,
      },
    });
  }

  claim(types: readonly string[], options: ClaimOptions = {}): Promise<Seen> {
    return this.#world.call(this.claiming(types, options));
  }

  /** The call that `claim` makes, for whoever wants to break it off or say it again. */
  claiming(types: readonly string[], options: ClaimOptions = {}): Sent {
    const { max = 1, slots = max, leaseMs, effectSafety, effectGate } = options;
    return {
      method: 'POST',
      path: '/claims',
      key: this.#key,
      body: {
        workerId: this.workerId,
        sessionId: this.sessionId,
        requestId: options.requestId ?? this.#world.id('req'),
        pools: options.pools ?? [this.#world.pool],
        want: types.map((type) => ({
          type,
          schemaVersion: 1,
          slots,
          ...(effectSafety && { effectSafety }),
          ...(effectGate && { effectGate }),
        })),
        max,
        ...(leaseMs !== undefined && { leaseMs }),
        ...(options.earlierSessions && { earlierSessions: options.earlierSessions }),
        ...options.more,
      },
    };
  }

  /** Claims until one attempt has come: a control plane may need a moment. @throws Broken after 20 s. */
  async claimOne(type: string, options: ClaimOptions = {}): Promise<AttemptOffer> {
    return this.#world.until(`an attempt of ${type}`, async () => {
      const seen = (await this.claim([type], options)).is(200);
      return seen.body<{ attempts: AttemptOffer[] }>().attempts[0];
    });
  }

  /** One report by the single call. @param fields of the op; `taskId`, `fence`, `leaseToken` can be others too. */
  report(
    attempt: AttemptOffer,
    op: string,
    fields: Readonly<Record<string, unknown>> = {},
  ): Promise<Seen> {
    return this.#world.call(this.reporting(attempt, op, fields));
  }

  /** The call that `report` makes. */
  reporting(
    attempt: AttemptOffer,
    op: string,
    fields: Readonly<Record<string, unknown>> = {},
  ): Sent {
    return {
      method: 'POST',
      path: `/attempts/${attempt.attemptId}/${op}`,
      key: this.#key,
      body: this.body(attempt, op, fields),
    };
  }

  /** Many reports in one call. */
  batch(reports: readonly Readonly<Record<string, unknown>>[]): Promise<Seen> {
    return this.#world.call({
      method: 'POST',
      path: '/attempts/batch',
      key: this.#key,
      body: { reports },
    });
  }

  /** One item of a batch. */
  item(attempt: AttemptOffer, op: string, fields: Readonly<Record<string, unknown>> = {}) {
    return { op, attemptId: attempt.attemptId, ...this.body(attempt, op, fields) };
  }

  private body(attempt: AttemptOffer, op: string, fields: Readonly<Record<string, unknown>>) {
    return {
      taskId: attempt.taskId,
      fence: attempt.fence,
      leaseToken: attempt.leaseToken,
      ...(op === 'start' || op === 'effect' ? { sessionId: this.sessionId } : {}),
      ...fields,
    };
  }
}
