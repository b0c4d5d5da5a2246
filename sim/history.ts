/**
 * What happened in a world, as an observer saw it who missed nothing: the checkers read it. Times are the world's
 * milliseconds.
 */
export interface HttpCall {
  readonly n: number;
  /** Who sent it: `worker-1#ses_2`, `producer`. */
  readonly by: string;
  readonly session?: string;
  readonly method: string;
  /** Below the base path. */
  readonly path: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies are of every shape; checkers say what they expect
  readonly body: any;
  readonly sentAt: number;
  /** The worker that sent it had begun to drain. */
  readonly draining?: boolean;
  arrivals: { readonly at: number; readonly status: number; readonly answer: unknown }[];
  /** When the sender got the control plane's answer; absent where it never did. */
  deliveredAt?: number;
}

export interface ProcessLife {
  readonly name: string;
  readonly machine: string;
  readonly workerId: string;
  readonly session: string;
  readonly maxConcurrent: number;
  readonly drainTimeoutMs: number;
  readonly startedAt: number;
  drainAt?: number;
  endedAt?: number;
  end?: string;
  killedAt?: number;
}

export interface JobRun {
  readonly taskId: string;
  readonly attemptId: string;
  readonly type: string;
  readonly effectSafety: string;
  readonly effectGate: string;
  readonly session: string;
  readonly workerId: string;
  readonly machine: string;
  readonly startedAt: number;
  stopAt?: number;
  stopReason?: string;
  gateAt?: number;
  goneAt?: number;
  /** How its end was told to the agent. */
  how?: string;
  /** Its host refused the input: the handler was never called. */
  refused?: boolean;
}

export interface Effect {
  readonly taskId: string;
  readonly attemptId: string;
  readonly at: number;
}

export interface Spooled {
  readonly attemptId: string;
  readonly taskId: string;
  readonly op: string;
  readonly session: string;
  readonly machine: string;
  readonly at: number;
  /** Calls that had been sent before: time stands still while things happen. */
  readonly callsBefore: number;
}

export class History {
  readonly calls: HttpCall[] = [];
  readonly processes: ProcessLife[] = [];
  readonly jobs: JobRun[] = [];
  readonly effects: Effect[] = [];
  readonly spooled: Spooled[] = [];
  /** When machines slept. */
  readonly sleeps: { readonly machine: string; readonly from: number; readonly ms: number }[] = [];
  /** When the control plane started, by its own wall clock. */
  readonly planeStarts: number[] = [];
  /** Accepted submissions by task id, and keys whose submission got no answer. */
  readonly submitted: { readonly taskId: string; readonly key: string; readonly at: number }[] = [];
  readonly offered: string[] = [];
  /** Submissions of which the producer was told that they are on its disk. */
  readonly stored: { readonly key: string; readonly at: number }[] = [];
  /** Found while it happened: a checker tells them. */
  readonly seen: { readonly checker: string; readonly at: number; readonly text: string }[] = [];
  /** One line for each thing that matters, for people and for comparing two runs of a seed. */
  readonly story: string[] = [];
  #digest = 0x811c9dc5;
  #lines = 0;

  /** `false`: no story and no digest, for many runs. */
  tells = true;

  tell(at: number, text: string): void {
    if (!this.tells) return;
    const line = `${Math.round(at)} ${text}`;
    for (let i = 0; i < line.length; i++)
      this.#digest = Math.imul(this.#digest ^ line.charCodeAt(i), 0x01000193);
    this.#lines++;
    this.story.push(line);
  }

  /** How long a machine (or the one of a process: `w1#2`) slept from then on. */
  sleepsOf(name: string, from: number): number {
    const machine = name.replace(/#.*/, '');
    return this.sleeps
      .filter((sleep) => sleep.machine === machine && sleep.from + sleep.ms > from)
      .reduce((sum, { ms }) => sum + ms, 0);
  }

  /** The same for two runs exactly when all their lines are. */
  get digest(): string {
    return `${this.#lines}-${(this.#digest >>> 0).toString(16)}`;
  }
}
