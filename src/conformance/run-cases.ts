import type { Clock } from '../ports/clock.ts';
import { Broken, type Case, NotApplicable, type Verdict } from './case.ts';

/** Longest that a case may take where it says nothing itself. */
const CASE_MS = 60_000;

/** One case's own world, and what it leaves for a person to look at when it fails. */
export interface Stage<World> {
  readonly world: World;
  evidence(): readonly string[];
  /** All that went over the wire, where `evidence` leaves some of it out. */
  timeline?(): readonly string[];
  /** Ends what the case has begun. Never rejects. */
  close(): Promise<void>;
}

export interface RunOptions<World> {
  readonly cases: readonly Case<World>[];
  /** What `needs` may name, and was given. */
  readonly has: ReadonlySet<string>;
  /** In words how to give what a case needs: `--operator-key`. */
  needWords(need: string): string;
  /** @param signal aborts when the case's time is over or the run is stopped. */
  open(one: Case<World>, signal: AbortSignal): Promise<Stage<World>>;
  /** Cases at the same time. */
  readonly concurrency: number;
  readonly clock: Clock;
  /** Stops the run: what has not begun is not run, what runs is ended. */
  readonly signal: AbortSignal;
  onVerdict(verdict: Verdict): void;
}

/** Runs every case once; the verdicts come in the order of `cases`. Never rejects for a case. */
export async function runCases<World>(options: RunOptions<World>): Promise<Verdict[]> {
  const verdicts: (Verdict | undefined)[] = [];
  const waiting = [...options.cases.entries()];
  const slots = Array.from({ length: options.concurrency }, async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      if (options.signal.aborted) return;
      const [place, one] = next;
      const verdict = await runCase(one, options);
      verdicts[place] = verdict;
      options.onVerdict(verdict);
    }
  });
  await Promise.all(slots);
  return verdicts.filter((verdict) => verdict !== undefined);
}

async function runCase<World>(one: Case<World>, options: RunOptions<World>): Promise<Verdict> {
  const { clock, has } = options;
  const { name, title, promises } = one;
  const began = clock.now();
  const verdict = (
    outcome: Verdict['outcome'],
    says?: string,
    { evidence, timeline }: Pick<Verdict, 'evidence' | 'timeline'> = {},
  ): Verdict => ({
    name,
    title,
    promises,
    outcome,
    ms: Math.round(clock.now() - began),
    ...(says === undefined ? {} : { says }),
    ...(evidence === undefined ? {} : { evidence }),
    ...(timeline === undefined ? {} : { timeline }),
  });
  const missing = one.needs?.find((need) => !has.has(need));
  if (missing !== undefined) return verdict('skipped', `needs ${options.needWords(missing)}`);

  const over = new AbortController();
  const stop = () => over.abort();
  options.signal.addEventListener('abort', stop);
  if (options.signal.aborted) stop();
  const limitMs = one.timeoutMs ?? CASE_MS;
  let late = false;
  const timer = clock.timer(limitMs, () => {
    late = true;
    stop();
  });
  let stage: Stage<World> | undefined;
  try {
    stage = await options.open(one, over.signal);
    await orAborted(one.run(stage.world), over.signal);
    return verdict('passed');
  } catch (error) {
    if (error instanceof NotApplicable) return verdict('skipped', error.message);
    // What a call says that was broken off is nothing of the peer.
    if (!late && options.signal.aborted) return verdict('stopped', 'the run was stopped.');
    const says = late
      ? `was not over after ${limitMs / 1_000} s${error instanceof Broken ? `: ${error.message}` : '.'}`
      : error instanceof Broken
        ? error.message
        : `could not be played: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
    return verdict('failed', says, { evidence: stage?.evidence(), timeline: stage?.timeline?.() });
  } finally {
    timer.cancel();
    options.signal.removeEventListener('abort', stop);
    stop();
    await stage?.close();
  }
}

/** A case that waits for what never comes must not hold the run. */
function orAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Error('aborted'));
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
