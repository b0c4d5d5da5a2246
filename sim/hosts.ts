import { TaskError } from '../src/contract/errors.ts';
import { hostDefaults } from '../src/core/defaults.ts';
import type {
  Carrier,
  Job,
  JobEnd,
  JobListener,
  RunningJob,
  StopReason,
} from '../src/ports/carrier.ts';
import type { Clock, Timer } from '../src/ports/clock.ts';
import type { OldHosts } from '../src/ports/old-hosts.ts';
import type { Faults } from './faults.ts';
import type { History, JobRun } from './history.ts';
import { type HostDeeds, playHandler } from './host-script.ts';
import { Life } from './life.ts';
import type { SimulatedRandom } from './random.ts';

export interface HostsOptions {
  readonly clock: Clock;
  readonly nowMs: () => number;
  readonly faults: Faults;
  readonly random: SimulatedRandom;
  readonly history: History;
  readonly machine: string;
}

/** Whose processes these are. */
export interface Agent {
  readonly session: string;
  readonly workerId: string;
  readonly maxConcurrent: number;
  readonly life: Life;
}

/**
 * Handler processes of one machine. They belong to the machine and not to their agent: one may go on when its agent is
 * gone, and what it does then has happened.
 */
export class SimulatedHosts {
  readonly #o: HostsOptions;
  readonly #running = new Set<Host>();
  #started = 0;

  constructor(options: HostsOptions) {
    this.#o = options;
  }

  get running(): number {
    return this.#running.size;
  }

  carrier(agent: Agent): Carrier {
    agent.life.onDeath(() => this.#agentDied(agent));
    return {
      start: (job, listener) => this.#start(agent, job, listener),
      close: async () => {},
    };
  }

  /** Ends what earlier sessions left, and waits for it as long as the real one does. */
  async endOld(clock: Clock, session: string): Promise<OldHosts> {
    const old = () => [...this.#running].filter((host) => host.agent.session !== session);
    const left = () => old().map(({ pid, id }) => ({ pid, host: id }));
    const ended = old().map(({ id }) => id);
    const look = async () => {
      for (const host of old()) host.kill();
      return left();
    };
    const until = clock.now() + hostDefaults.orphansGoneMs;
    while ((await look()).length > 0 && clock.now() < until) await clock.sleep(20);
    return { ended, left: left(), look };
  }

  powerCut(): void {
    for (const host of [...this.#running]) host.vanish();
  }

  #agentDied(agent: Agent): void {
    for (const host of [...this.#running]) {
      if (host.agent !== agent) continue;
      // Its channel closed: it exits, unless it never looks.
      if (!host.outlives) host.kill();
    }
  }

  #start(agent: Agent, job: Job, listener: JobListener): RunningJob {
    const { history, nowMs, machine } = this.#o;
    if (!agent.life.alive) return deadJob();
    const run: JobRun = {
      taskId: job.taskId,
      attemptId: job.attemptId,
      type: job.type,
      effectSafety: job.effectSafety,
      effectGate: job.effectGate,
      session: agent.session,
      workerId: agent.workerId,
      machine,
      startedAt: nowMs(),
    };
    if (this.#running.size >= agent.maxConcurrent)
      history.seen.push({
        checker: 'slots',
        at: nowMs(),
        text: `${machine} starts a handler while ${this.#running.size} of ${agent.maxConcurrent} run`,
      });
    history.jobs.push(run);
    history.tell(nowMs(), `${machine} runs ${job.type} ${job.attemptId.slice(-6)}`);
    const host: Host = new Host(this.#o, agent, job, listener, run, ++this.#started, () =>
      this.#running.delete(host),
    );
    this.#running.add(host);
    return host.job;
  }
}

class Host {
  readonly agent: Agent;
  readonly id: string;
  readonly pid: number;
  readonly outlives: boolean;
  readonly job: RunningJob;
  readonly #o: HostsOptions;
  readonly #life: Life;
  readonly #run: JobRun;
  readonly #ended = Promise.withResolvers<JobEnd>();
  readonly #gate = Promise.withResolvers<void>();
  readonly #stop = Promise.withResolvers<StopReason>();
  readonly #gone: () => void;
  readonly #stuckMs: number;
  #stopped: StopReason | undefined;
  #grace: Timer | undefined;
  #dying = false;
  #over = false;

  constructor(
    options: HostsOptions,
    agent: Agent,
    job: Job,
    listener: JobListener,
    run: JobRun,
    number: number,
    gone: () => void,
  ) {
    this.#o = options;
    this.pid = 1_000 + number;
    this.id = `host-${agent.session}-${number}`;
    this.agent = agent;
    this.#run = run;
    this.#gone = gone;
    this.#life = new Life(options.clock);
    const { faults } = options;
    this.outlives = faults.strikes('outlives');
    this.#stuckMs = faults.strikes('stuck') ? faults.between('stuck', 1_000, 60_000) : 1;
    this.#gate.promise.catch(() => {});
    const heard = this.#heard(listener);
    const deeds: HostDeeds = {
      job,
      faults,
      random: options.random,
      life: this.#life,
      stopSignal: this.#stop.promise,
      stopped: () => this.#stopped,
      listener: heard,
      refused: () => {
        run.refused = true;
      },
      beginEffect: () => {
        heard.effectRequested();
        return this.#gate.promise;
      },
      effect: () => {
        options.history.effects.push({
          taskId: job.taskId,
          attemptId: job.attemptId,
          at: options.nowMs(),
        });
        options.history.tell(options.nowMs(), `effect of ${job.attemptId.slice(-6)}`);
      },
    };
    // The agent's doing: before the host has it.
    void listener.giving?.(this.id);
    this.#life.clock.timer(1, () => {
      heard.begun();
      playHandler(deeds).then((how) => this.#end(how));
    });
    this.job = {
      ended: this.#ended.promise,
      pid: this.pid,
      host: this.id,
      openGate: () => {
        if (!agent.life.alive) return;
        run.gateAt = options.nowMs();
        this.#gate.resolve();
      },
      refuseGate: (why) => {
        if (agent.life.alive) this.#gate.reject(new TaskError('GATE_REFUSED', why));
      },
      stop: (reason, graceMs) => this.#stopBy(reason, graceMs),
    };
  }

  /** SIGKILL. Gone a moment later, or much later. */
  kill(): void {
    if (this.#dying) return;
    this.#dying = true;
    // A process that hangs in the kernel does nothing more, but is not gone.
    this.#life.die();
    this.#o.clock.timer(this.#stuckMs, () => this.#end({ how: 'killed' }));
  }

  /** The machine has no power: nobody hears of it. */
  vanish(): void {
    this.#life.die();
    this.#over = true;
    this.#run.goneAt = this.#o.nowMs();
    this.#gone();
  }

  #stopBy(reason: StopReason, graceMs: number): void {
    if (!this.agent.life.alive || this.#over) return;
    if (this.#stopped === undefined) {
      this.#stopped = reason;
      this.#run.stopAt = this.#o.nowMs();
      this.#run.stopReason = reason;
      this.#stop.resolve(reason);
    }
    const { life } = this.agent;
    if (graceMs <= 0) this.kill();
    else {
      this.#grace?.cancel();
      this.#grace = life.clock.timer(graceMs, () => this.kill());
    }
  }

  #end(how: JobEnd): void {
    if (this.#over) return;
    this.#over = true;
    this.#grace?.cancel();
    this.#life.die();
    this.#run.goneAt = this.#o.nowMs();
    this.#run.how = how.how;
    this.#gone();
    this.#o.history.tell(
      this.#o.nowMs(),
      `${this.#o.machine} ended ${this.#run.attemptId.slice(-6)}: ${how.how}`,
    );
    if (this.agent.life.alive) this.#ended.resolve(how);
  }

  /** What a host says reaches a living agent only, and nobody after its end. */
  #heard(listener: JobListener): JobListener {
    const hears = () => this.agent.life.alive && !this.#over;
    return {
      begun: () => hears() && listener.begun(),
      progress: (update) => hears() && listener.progress(update),
      log: (lines) => hears() && listener.log(lines),
      effectRequested: () => hears() && listener.effectRequested(),
    };
  }
}

/** What a dead agent would have started. */
function deadJob(): RunningJob {
  return { ended: new Promise(() => {}), openGate() {}, refuseGate() {}, stop() {} };
}
