import type { Sent } from '../control-plane/caller.ts';
import { failure, lost, oneLine } from '../control-plane/steps.ts';
import type {
  AttemptOffer,
  EffectGate,
  EffectSafety,
  TaskShape,
} from '../control-plane/wire-shapes.ts';
import type { WorkerActor } from '../control-plane/worker-actor.ts';
import type { ControlPlaneWorld } from '../control-plane/world.ts';
import type { Dice } from './dice.ts';
import { BATCH_PATH, type ClaimAsked, type Recorder, type TaskRecord } from './record.ts';

/** What the actors of a load have in common. */
export interface Shared {
  readonly world: ControlPlaneWorld;
  readonly recorder: Recorder;
  readonly dice: Dice;
  readonly leaseMs: number;
  readonly over: boolean;
  read(task: TaskRecord): Promise<TaskShape | undefined>;
  cancel(task: TaskRecord): Promise<void>;
}

export interface Kind {
  readonly word: string;
  readonly safety: EffectSafety;
  readonly gate: EffectGate;
}

export const KINDS: readonly Kind[] = [
  { word: 'pure', safety: 'pure', gate: 'start' },
  { word: 'idempotent', safety: 'idempotent', gate: 'start' },
  { word: 'once', safety: 'non-idempotent', gate: 'start' },
  { word: 'effect', safety: 'non-idempotent', gate: 'effect' },
];

/** Workers of a load: they do what a worker may do, twice, late, and wrong. */
export class LoadWorkers {
  readonly #shared: Shared;
  readonly #ended: {
    readonly worker: WorkerActor;
    readonly attempt: AttemptOffer;
    readonly op: string;
    readonly fields: Record<string, unknown>;
  }[] = [];

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  /** Claims and runs what it gets; claims are said again, answered or not. */
  async work(): Promise<void> {
    const { dice } = this.#shared;
    const worker = this.#shared.world.worker();
    const running = new Set<Promise<void>>();
    const begin = (work: Promise<void>) => {
      const done = work.finally(() => running.delete(done));
      running.add(done);
    };
    while (!this.#shared.over) {
      const kind = dice.one(KINDS);
      const request = this.#shared.world.id('req');
      const options = {
        requestId: request,
        max: dice.one([1, 1, 2, 3]),
        effectSafety: kind.safety,
        effectGate: kind.gate,
        leaseMs: this.#shared.leaseMs,
      };
      const sent = worker.claiming([this.#shared.world.type(kind.word)], options);
      const { safety, gate } = kind;
      const asked = {
        what: 'claim',
        worker: worker.workerId,
        request,
        leaseMs: this.#shared.leaseMs - CLOCK_SLACK_MS,
        safety,
        gate,
      } as const;
      let attempts = await this.#shared.recorder.claim(asked, sent, dice.cut(0.1));
      attempts ??= await this.#shared.recorder.claim(asked, sent);
      for (const attempt of attempts ?? []) begin(this.#run(worker, attempt));
      if (dice.chance(0.3)) begin(this.#again(asked, sent));
      if (dice.chance(0.4)) begin(this.#haunt());
      if (attempts === undefined || attempts.length === 0) await dice.pause(10, 60);
      if (running.size >= AT_A_TIME) await Promise.race(running);
    }
    await Promise.all(running);
  }

  /**
   * When all others are done: takes whatever is queued, until nothing is. A task that is left after some seconds is one that
   * a claim with free slots did not get.
   */
  async empty(): Promise<void> {
    const { world, recorder, leaseMs } = this.#shared;
    const worker = world.worker();
    const by = world.clock.now() + REST_MS;
    const ended = new Set<TaskRecord>();
    for (let atRest = false, left = 1; left > 0 && !atRest; await world.pause(REST_PAUSE_MS)) {
      atRest = world.clock.now() >= by;
      left = 0;
      for (const { word, safety, gate } of KINDS) {
        const queued: TaskRecord[] = [];
        for (const task of recorder.tasks) {
          if (task.taskId === undefined || task.word !== word || ended.has(task)) continue;
          const status = (await this.#shared.read(task))?.status;
          if (status === 'queued') queued.push(task);
          else if (status !== 'running') ended.add(task);
        }
        if (queued.length === 0) continue;
        left += queued.length;
        const request = world.id('req');
        const [max, times] = [recorder.tasks.length, { leaseMs: leaseMs - CLOCK_SLACK_MS }];
        const { workerId } = worker;
        const asked = { what: 'claim', worker: workerId, request, safety, gate, atRest } as const;
        const options = {
          requestId: request,
          max,
          effectSafety: safety,
          effectGate: gate,
          leaseMs,
        };
        const sent = worker.claiming([world.type(word)], options);
        const wanting = atRest ? queued : [];
        const got = await recorder.claim({ ...asked, ...times }, sent, undefined, wanting);
        for (const attempt of got ?? [])
          await this.#report(worker, attempt, 'complete', { result: { body: 'at rest' } }, {});
      }
    }
  }

  /** A claim once more, whose attempts may be over by now. */
  async #again(asked: ClaimAsked, sent: Sent): Promise<void> {
    const { dice, leaseMs, recorder } = this.#shared;
    await dice.pause(0, leaseMs / 2);
    await recorder.claim(asked, sent);
  }

  /** One attempt: some words, an end, and what must not count any more. */
  async #run(worker: WorkerActor, attempt: AttemptOffer): Promise<void> {
    const { dice } = this.#shared;
    const say = (op: string, fields = {}, wrong = {}) =>
      this.#report(worker, attempt, op, fields, wrong);
    if (dice.chance(0.75)) await say('start');
    const words = Math.floor(this.#shared.world.random.fraction() * 4);
    for (let n = 1; n <= words; n++) {
      await dice.pause(0, 30);
      if (dice.chance(0.04)) await dice.pause(this.#shared.leaseMs, this.#shared.leaseMs * 2);
      const op = dice.one(['start', 'effect', 'progress', 'renew', 'log']);
      const fields = op === 'progress' || op === 'log' ? { n, lines: oneLine } : {};
      if (dice.chance(0.2)) await Promise.all([say(op, fields), say(op, fields)]);
      else await say(op, fields);
      if (dice.chance(0.3)) await this.#shared.read(this.#shared.recorder.ofAttempt(attempt));
      if (dice.chance(0.1)) await this.#shared.cancel(this.#shared.recorder.ofAttempt(attempt));
      if (dice.chance(0.1)) await say(dice.one(['complete', 'renew']), {}, WRONG);
    }
    // Nobody hears of it again, or late.
    if (dice.chance(0.08)) await dice.pause(this.#shared.leaseMs, this.#shared.leaseMs * 2.5);
    if (this.#shared.over || dice.chance(0.05)) return;
    const ends = Object.entries(this.#ends());
    const [op, fields] = dice.one(ends);
    if (dice.chance(0.3)) await Promise.all([say(op, fields), say('renew')]);
    else await say(op, fields);
    if (dice.chance(0.7)) await this.#shared.read(this.#shared.recorder.ofAttempt(attempt));
    if (dice.chance(0.5)) await say(op, fields);
    if (dice.chance(0.3)) await say(...dice.one(ends));
    if (dice.chance(0.2)) await say(dice.one(['renew', 'start', 'progress']), { n: 99 });
    if (dice.chance(0.1)) await say(op, fields, WRONG);
    this.#ended.push({ worker, attempt, op, fields });
  }

  /** What an attempt that was over long ago may still say: its end again, or something else. */
  async #haunt(): Promise<void> {
    const { dice } = this.#shared;
    const old = dice.one(this.#ended.slice(-OLD_ATTEMPTS));
    if (!old) return;
    const { worker, attempt, op, fields } = old;
    if (dice.chance(0.5)) await this.#report(worker, attempt, op, fields, {});
    else await this.#report(worker, attempt, ...dice.one(Object.entries(this.#ends())), {});
  }

  #ends(): Record<string, Record<string, unknown>> {
    const { dice } = this.#shared;
    const word = String(Math.floor(this.#shared.world.random.fraction() * 1_000));
    return {
      complete: { result: { body: word } },
      completed: { result: { body: word } },
      fail: failure(dice.chance(0.6), { details: { word } }),
      unknown: failure(false, { details: { word } }),
      lost: { ...lost(dice.one(['host-died', 'timeout', 'drain']), dice.chance(0.6)) },
      release: { reason: dice.one(['drain', 'no-slot']) },
      cancelled: {},
    };
  }

  async #report(
    worker: WorkerActor,
    attempt: AttemptOffer,
    named: string,
    fields: Record<string, unknown>,
    wrong: Record<string, unknown>,
  ): Promise<void> {
    const { dice } = this.#shared;
    // Twice in the list, so that it comes more often.
    const op = named === 'completed' ? 'complete' : named;
    const result = (fields.result as { body?: string } | undefined)?.body;
    const error = fields.error as { retryable?: boolean } | undefined;
    const identity = Object.keys(wrong).length === 0;
    const others = [{ fence: attempt.fence + 1 }, { leaseToken: 'guessed' }];
    const all = { ...fields, ...(identity ? {} : { result: null, ...dice.one(others) }) };
    const asked = {
      what: 'report',
      op,
      attemptId: attempt.attemptId,
      identity,
      body: op === 'complete' && result ? result : `${op} ${JSON.stringify(fields)}`,
      ...(error && { retryable: error.retryable === true }),
      ...(op === 'lost' && { begun: fields.begun === true, reason: String(fields.reason) }),
    } as const;
    const alone = worker.reporting(attempt, op, all);
    const sent = dice.chance(0.2)
      ? { ...alone, path: BATCH_PATH, body: { reports: [worker.item(attempt, op, all)] } }
      : alone;
    await this.#shared.recorder.call(
      this.#shared.recorder.ofAttempt(attempt),
      asked,
      sent,
      dice.cut(),
    );
  }
}

/** Of one worker: some of them wait for their leases to run out. */
const AT_A_TIME = 5;
/** Fence or token are not the attempt's. */
const WRONG = { identity: false };
/** So many of the last ones speak again. */
const OLD_ATTEMPTS = 8;
/** How long the queue may take to be empty once nobody else is there, and how often it is looked at. */
const REST_MS = 5_000;
const REST_PAUSE_MS = 50;
/** Clocks round, and one of them may be set a little while it runs. */
const CLOCK_SLACK_MS = 20;
