import type { Sent } from '../control-plane/caller.ts';
import { soon } from '../control-plane/steps.ts';
import type { EventShape, TaskShape } from '../control-plane/wire-shapes.ts';
import type { ControlPlaneWorld } from '../control-plane/world.ts';
import { Dice } from './dice.ts';
import { KINDS, LoadWorkers, type Shared } from './load-workers.ts';
import { type JournalRead, Recorder, type TaskRecord } from './record.ts';

/** A random load of few actors on few tasks, so that they meet: what each does is chance, what is recorded is all of it. */
export interface LoadOptions {
  readonly tasks: number;
  readonly workers: number;
  readonly forMs: number;
  /** A slow peer is given longer, up to three times `forMs`, until so many calls were made. */
  readonly calls: number;
}

const SLOW = 3;

export const loadPolicy = (leaseMs: number) => ({
  maxAttempts: 3,
  leaseMs,
  lostGraceMs: Math.round(leaseMs / 2),
  attemptTimeoutMs: null,
  backoff: soon,
});

export async function recordLoad(
  world: ControlPlaneWorld,
  options: LoadOptions,
): Promise<readonly TaskRecord[]> {
  const load = new Load(world, options);
  const workers = new LoadWorkers(load);
  const actors = [load.produce(), load.produce(), load.watch()];
  for (let i = 0; i < options.workers; i++) actors.push(workers.work());
  if (world.keys.operator ?? world.keys.admin) actors.push(load.operate());
  await Promise.all(actors);
  await workers.empty();
  await load.recorder.finish((task) => load.journal(task));
  return load.recorder.tasks;
}

class Load implements Shared {
  readonly dice: Dice;
  readonly recorder: Recorder;
  readonly world: ControlPlaneWorld;
  readonly #options: LoadOptions;
  readonly #beganMs: number;
  readonly leaseMs: number;

  constructor(world: ControlPlaneWorld, options: LoadOptions) {
    this.world = world;
    this.dice = new Dice(world);
    this.#options = options;
    this.recorder = new Recorder(world);
    this.#beganMs = world.clock.now();
    this.leaseMs = world.leaseMinMs;
  }

  get over(): boolean {
    const { forMs, calls } = this.#options;
    const ms = this.world.clock.now() - this.#beganMs;
    return ms >= forMs && (this.recorder.calls >= calls || ms >= SLOW * forMs);
  }

  /** Submits, some twice and at the same time. */
  async produce(): Promise<void> {
    const gapMs = (this.#options.forMs * 0.6) / (this.#options.tasks / 2);
    for (let i = 0; i < this.#options.tasks / 2 && !this.over; i++) {
      const { word } = this.dice.one(KINDS);
      const task = this.recorder.newTask(word);
      const { idempotencyKey } = task;
      const body = this.world.submission({
        type: this.world.type(word),
        idempotencyKey,
        policy: loadPolicy(this.leaseMs),
      });
      const sent = {
        method: 'POST',
        path: '/tasks',
        key: this.world.keys.producer,
        body,
      } as const;
      const submit = async (cutMs?: number) => {
        await this.recorder.call(task, { what: 'submit' }, sent, cutMs);
        this.world.remember(task.taskId);
      };
      await Promise.all([submit(this.dice.cut(0.2)), ...(this.dice.chance(0.3) ? [submit()] : [])]);
      if (task.taskId === undefined || this.dice.chance(0.2)) await submit();
      await this.dice.pause(gapMs * 0.2, gapMs * 1.4);
    }
  }

  /** Reads tasks while they change, and cancels some. */
  async watch(): Promise<void> {
    while (!this.over) {
      await this.dice.pause(5, 40);
      const task = this.dice.one(this.recorder.tasks);
      if (task?.taskId === undefined) continue;
      if (this.dice.chance(0.08)) await this.cancel(task);
      else await this.read(task);
    }
  }

  async cancel(task: TaskRecord): Promise<void> {
    const path = `/tasks/${task.taskId}/cancel`;
    const sent = { method: 'POST', path, key: this.world.keys.producer, body: {} } as const;
    await this.recorder.call(task, { what: 'cancel' }, sent, this.dice.cut());
  }

  async read(task: TaskRecord): Promise<TaskShape | undefined> {
    const sent = { method: 'GET', path: `/tasks/${task.taskId}`, key: this.world.keys.producer };
    const seen = await this.recorder.call(task, { what: 'read' }, sent as Sent);
    return seen?.body<TaskShape>();
  }

  /** Takes decisions about what has ended, some twice. */
  async operate(): Promise<void> {
    while (!this.over) {
      await this.dice.pause(30, 150);
      const task = this.dice.one(this.recorder.tasks.filter(({ taskId }) => taskId !== undefined));
      const view = task && (await this.read(task));
      if (!view || !['failed', 'cancelled', 'outcome-unknown'].includes(view.status)) continue;
      const action = this.world.id('act');
      const resolution = this.dice.one(['succeeded', 'failed', 'retry', 'late-report']);
      const what = view.status === 'outcome-unknown' ? 'resolve' : 'retry';
      const body = {
        actionId: action,
        ifSeq: view.seq,
        reason: 'The load wants it so.',
        ...(what === 'resolve' ? { resolution } : { acceptRepeatedEffect: true }),
        ...(resolution === 'succeeded' && { result: { body: 'resolved' } }),
      };
      const path = `/tasks/${view.id}/${what}`;
      const sent: Sent = { method: 'POST', path, key: this.world.operatorKey, body };
      const asked =
        what === 'retry'
          ? ({ what, action, ifSeq: view.seq } as const)
          : ({ what, action, ifSeq: view.seq, resolution, result: 'resolved' } as const);
      await this.recorder.call(task, asked, sent, this.dice.cut());
      if (this.dice.chance(0.4)) await this.recorder.call(task, asked, sent);
    }
  }

  /** Reads a task for the last time, and its whole journal: it was that when the last, empty page was read. */
  async journal(task: TaskRecord): Promise<JournalRead> {
    await this.read(task);
    const events: EventShape[] = [];
    for (;;) {
      const path = `/tasks/${task.taskId}/events?after=${events.at(-1)?.seq ?? 0}`;
      const more = (await this.world.get(path)).is(200);
      const page = more.body<{ events: EventShape[] }>().events;
      events.push(...page);
      if (page.length === 0)
        return { events, callMs: more.sentAtMs, returnMs: this.world.clock.now() };
    }
  }
}
