import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { Verdict } from '../case.ts';
import { runCases } from '../run-cases.ts';
import { checkFitness } from './fitness.ts';
import { startWatcher } from './watcher.ts';
import type { WorkerCase } from './worker-case.ts';
import { World } from './world.ts';

export interface WorkerKitOptions {
  /** Program and arguments that start a worker. */
  readonly command: readonly string[];
  readonly cases: readonly WorkerCase[];
  /** What the worker inherits; its own variables come on top, those of Interlock are left out. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** How long a worker may take for what it has to do, milliseconds [30000]: it may have to back off first. */
  readonly patienceMs?: number;
  /** Cases at the same time [10]: they wait for most of their time. */
  readonly concurrency?: number;
  /** Leaves the folders of all cases [false]. */
  readonly keep?: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  onVerdict(verdict: Verdict): void;
}

const CASES_AT_A_TIME = 10;
const PATIENCE_MS = 30_000;
/** All that went over the wire in a case, beside the worker's folders. */
const TIMELINE = 'timeline.txt';

/**
 * Plays the cases, each with a control plane, a worker and folders of its own; the longest are begun first. Rejects with
 * `WORKER_UNFIT` where the command is no worker that can be judged.
 */
export async function runWorkerKit(options: WorkerKitOptions): Promise<Verdict[]> {
  const { cases, clock, keep = false, signal } = options;
  const root = await mkdtemp(join(tmpdir(), 'interlock-conformance-'));
  const watcher = startWatcher(root, keep);
  const open = async (name: string, over: AbortSignal) => {
    const folder = join(root, name.replaceAll('/', '-'));
    await mkdir(join(folder, 'state'), { recursive: true });
    await mkdir(join(folder, 'effects'));
    const world = new World({
      command: options.command,
      cwd: options.cwd,
      env: inherited(options.env),
      folder,
      key: `il_${Buffer.from(options.random.bytes(24)).toString('base64url')}`,
      patienceMs: options.patienceMs ?? PATIENCE_MS,
      clock,
      watcher,
      signal: over,
    });
    return {
      world,
      evidence: () => [
        ...world.evidence(),
        ...(keep ? [`its files, and all of this in ${TIMELINE}: ${folder}`] : []),
      ],
      timeline: () => world.timeline(),
      close: async () => {
        await world.close();
        if (keep) await writeFile(join(folder, TIMELINE), `${world.timeline().join('\n')}\n`);
      },
    };
  };
  try {
    const first = await open('fitness', signal);
    await checkFitness(first.world, cases, signal).finally(first.close);
    const longFirst = cases.toSorted((a, b) => (b.timeoutMs ?? 0) - (a.timeoutMs ?? 0));
    const verdicts = await runCases<World>({
      ...options,
      cases: longFirst,
      concurrency: options.concurrency ?? CASES_AT_A_TIME,
      has: new Set(),
      needWords: (need) => need,
      open: ({ name }, over) => open(name, over),
    });
    const place = new Map(cases.map(({ name }, i) => [name, i]));
    return verdicts.toSorted((a, b) => (place.get(a.name) ?? 0) - (place.get(b.name) ?? 0));
  } finally {
    await watcher.close();
    if (!keep) await rm(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Settings of the person who runs the kit are none of the worker's; loopback goes past proxies. */
function inherited(env: WorkerKitOptions['env']): Record<string, string | undefined> {
  const kept = Object.entries(env).filter(([name]) => !name.startsWith('INTERLOCK_'));
  return { ...Object.fromEntries(kept), NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1' };
}
