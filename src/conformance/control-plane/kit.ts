import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { WireFetch } from '../../wire/fetch.ts';
import type { Verdict } from '../case.ts';
import { runCases } from '../run-cases.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { Caller, Transcript, withoutSecrets } from './caller.ts';
import { type ControlPlaneCase, controlPlaneNeeds } from './index.ts';
import type { Left } from './leavings.ts';
import { WorkerIds } from './worker-ids.ts';
import { ControlPlaneWorld, type KitKeys } from './world.ts';

export interface ControlPlaneKitOptions {
  /** Without a slash at the end. */
  readonly serviceUrl: string;
  readonly keys: KitKeys;
  readonly cases: readonly ControlPlaneCase[];
  readonly fetch: WireFetch;
  readonly clock: Clock;
  readonly random: Random;
  /** Cases at the same time [8]: most of them wait for leases to run out. */
  readonly concurrency?: number;
  readonly signal: AbortSignal;
  onVerdict(verdict: Verdict): void;
  /** Tasks that go on when the run is over, as a sentence for people; not called where there are none. */
  onLeft?(says: string): void;
}

/** Plays the cases against a control plane. What it makes carries one word of its own, and is ended with its case. */
export async function runControlPlaneKit(given: ControlPlaneKitOptions): Promise<Verdict[]> {
  const { concurrency = CASES_AT_A_TIME } = given;
  const fetch = boundedFetch(CALLS_PER_CASE * concurrency, given.fetch);
  const options = { ...given, concurrency, fetch };
  const { keys, random, clock, signal } = options;
  const run = Buffer.from(random.bytes(5)).toString('hex');
  const { min: leaseMinMs, max: leaseMaxMs } = await leaseLimits(options).catch((error) => {
    if (signal.aborted) return FALLBACK_LEASE_MS;
    throw error;
  });
  const has = new Set<string>();
  if (keys.operator !== undefined || keys.admin !== undefined) has.add('operator-key');
  if (keys.admin !== undefined) has.add('admin-key');
  if (keys.otherWorker !== undefined && keys.otherProducer !== undefined) has.add('other-project');
  const workerIds = new WorkerIds(run);
  const left: Left[] = [];
  const verdicts = await runCases<ControlPlaneWorld>({
    ...options,
    onVerdict: (verdict) => options.onVerdict(shareable(verdict)),
    has,
    needWords: (need) => controlPlaneNeeds[need as keyof typeof controlPlaneNeeds] ?? need,
    open: async (one, over) => {
      const world = new ControlPlaneWorld({
        ...options,
        run,
        workerIds,
        caseName: one.name,
        signal: over,
        leaseMinMs,
      });
      return {
        world,
        evidence: () => world.transcript.lines,
        close: async () => {
          // Not the case's signal nor the run's: both may have aborted, and what was made has to go all the same.
          await within(CLEAN_UP_MS, options, async (caller) => {
            left.push(...(await world.cleanUp((sent) => caller.call(sent))));
          });
        },
      };
    },
  });
  const running = await within(2 * leaseMinMs + LEASE_OVER_MS, options, (caller, over) =>
    stillThere(left, caller, clock, over),
  );
  if (running.length > 0) options.onLeft?.(leftWords(running, leaseMaxMs));
  return verdicts.map(shareable);
}

/** Gives the work calls of its own that are broken off after `ms`. */
async function within<T>(
  ms: number,
  options: ControlPlaneKitOptions,
  work: (caller: Caller, over: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const timer = options.clock.timer(ms, () => over.abort());
  const { signal } = over;
  const caller = new Caller({ ...options, signal, transcript: new Transcript() });
  return work(caller, signal).finally(() => timer.cancel());
}

/** What nobody could end ends with its lease: most of them are short. @returns what runs after that. */
async function stillThere(
  left: readonly Left[],
  caller: Caller,
  clock: Clock,
  over: AbortSignal,
): Promise<readonly Left[]> {
  let running = left;
  while (running.length > 0) {
    const next: Left[] = [];
    for (const task of running) {
      const { taskId, key } = task;
      const sent = { method: 'GET', path: `/tasks/${taskId}`, key } as const;
      const seen = await caller.call(sent).catch(() => undefined);
      const status = seen?.json?.status;
      if (seen === undefined || status === 'queued' || status === 'running') next.push(task);
    }
    running = next;
    if (running.length > 0 && !(await clock.sleep(LOOK_EVERY_MS, over))) break;
  }
  return running;
}

function leftWords(left: readonly Left[], leaseMaxMs: number): string {
  const told = left.slice(0, LEFT_TOLD).map(({ taskId }) => taskId);
  const more = left.length > LEFT_TOLD ? ` and ${left.length - LEFT_TOLD} more` : '';
  const minutes = Math.ceil(leaseMaxMs / 60_000);
  return `Left behind, with a cancel that nobody obeys: ${told.join(', ')}${more}. Each ends by itself when its lease does, within ${minutes} min.`;
}

/** What a case says may quote an answer whole. */
function shareable(verdict: Verdict): Verdict {
  return verdict.says === undefined ? verdict : { ...verdict, says: withoutSecrets(verdict.says) };
}

async function leaseLimits(
  options: ControlPlaneKitOptions,
): Promise<{ readonly min: number; readonly max: number }> {
  const caller = new Caller({ ...options, transcript: new Transcript() });
  const { json } = await caller.call({ method: 'GET', path: '/' });
  const { min, max } =
    (json as { limits?: { leaseMs?: { min?: unknown; max?: unknown } } } | undefined)?.limits
      ?.leaseMs ?? {};
  const ms = (value: unknown, other: number) =>
    typeof value === 'number' && value > 0 ? value : other;
  return { min: ms(min, FALLBACK_LEASE_MS.min), max: ms(max, FALLBACK_LEASE_MS.max) };
}

const CASES_AT_A_TIME = 8;
/** Of all that are played, at the same time: one that needs more waits. 32 calls are no load for any server. */
const CALLS_PER_CASE = 4;
/** One case made some dozens of tasks at most; a peer that answers nothing is left. */
const CLEAN_UP_MS = 20_000;
/** How much later than its lease an attempt may be ended: a sweep, and what a busy peer adds. */
const LEASE_OVER_MS = 5_000;
const LOOK_EVERY_MS = 500;
/** Ids in the sentence about what is left. */
const LEFT_TOLD = 20;
/** The contract's own, for a peer that does not tell: the case about discovery says so. */
const FALLBACK_LEASE_MS = { min: 5_000, max: 600_000 };
