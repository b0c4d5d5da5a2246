import type { ControlPlaneNode } from './control-plane-node.ts';
import type { History } from './history.ts';
import type { SimulatedRandom } from './random.ts';
import type { SimulatedTime } from './time.ts';

/** A person who looks at what needs one, and retries, resolves or waits. */
export class SimulatedOperator {
  readonly #o: {
    time: SimulatedTime;
    history: History;
    random: SimulatedRandom;
    plane: ControlPlaneNode;
  };
  #acts = 0;

  constructor(options: {
    time: SimulatedTime;
    history: History;
    random: SimulatedRandom;
    plane: ControlPlaneNode;
  }) {
    this.#o = options;
  }

  /** Looks again after a while, until then. */
  watch(untilMs: number): void {
    const { time, random } = this.#o;
    const at = time.nowMs + 5_000 + random.fraction() * 25_000;
    if (at < untilMs)
      time.at(at, () => {
        void this.#look();
        this.watch(untilMs);
      });
  }

  async #look(): Promise<void> {
    const { plane, random } = this.#o;
    if (!plane.up) return;
    if (random.chance(0.1)) await this.#drain();
    const { status, body } = await plane.ask('GET', '/tasks?needs=attention&limit=20');
    if (status !== 200) return;
    for (const task of body.tasks) if (random.chance(0.4)) await this.#act(task);
  }

  async #drain() {
    const { time, history, random, plane } = this.#o;
    const { body } = await plane.ask('GET', '/workers');
    if (!body?.workers?.length) return;
    const { workerId } = random.pick(body.workers as { workerId: string }[]);
    history.tell(time.nowMs, `operator drains ${workerId}`);
    await plane.ask('POST', `/workers/${workerId}/drain`, {});
  }

  async #act(task: { id: string; seq: number; status: string; error?: { effect?: string } }) {
    const { time, history, random, plane } = this.#o;
    const action = { actionId: `act_sim${++this.#acts}`, ifSeq: task.seq, reason: 'simulated' };
    const unknown = task.status === 'outcome-unknown';
    const resolution = random.pick(['succeeded', 'failed', 'retry', 'late-report']);
    const word = unknown ? 'resolve' : 'retry';
    const body = unknown
      ? { ...action, resolution, ...(resolution === 'succeeded' ? { result: null } : {}) }
      : { ...action, ...(task.error?.effect === 'begun' ? { acceptRepeatedEffect: true } : {}) };
    if (!plane.up) return;
    const { status } = await plane.ask('POST', `/tasks/${task.id}/${word}`, body);
    history.tell(
      time.nowMs,
      `operator ${word} ${unknown ? resolution : ''} ${task.id.slice(-6)}: ${status}`,
    );
  }
}
