import type { Job, JobEnd, JobListener, StopReason } from '../src/ports/carrier.ts';
import type { Faults } from './faults.ts';
import { type Life, never } from './life.ts';
import type { SimulatedRandom } from './random.ts';

/** What a handler can do, and what it knows. */
export interface HostDeeds {
  readonly job: Job;
  readonly faults: Faults;
  readonly random: SimulatedRandom;
  readonly life: Life;
  readonly stopSignal: Promise<StopReason>;
  readonly stopped: () => StopReason | undefined;
  readonly listener: JobListener;
  /** Its input does not fit: it is never called. */
  refused(): void;
  beginEffect(): Promise<void>;
  /** The thing that may be done once. */
  effect(): void;
}

/** What the input of a simulated task says. */
export interface SimInput {
  /** How long it works. */
  readonly ms: number;
  readonly checkpoints?: boolean;
}

type Way = 'returns' | 'throws' | 'retryable' | 'unknown' | 'dies' | 'hangs';

/**
 * One call of a handler, from its input to how it ends: works, says how far it is, does its effect behind its gate, and
 * returns, unless chance has something else in mind. Settles never where its process is killed.
 */
export async function playHandler(deeds: HostDeeds): Promise<JobEnd> {
  const { job, faults, random, life, listener } = deeds;
  if (faults.strikes('inputRefused')) {
    deeds.refused();
    const error = {
      code: 'INPUT_INVALID',
      message: 'input.ms is odd.',
      retryable: random.chance(0.5),
    };
    return { how: 'threw', error, begun: false };
  }
  const { ms, checkpoints } = job.input as SimInput;
  const way = wayOf(faults);
  const obeys = !faults.strikes('ignoresStop');
  const endsAfter = random.fraction();
  const done = typeof job.checkpoint === 'number' ? job.checkpoint : 0;
  const steps = checkpoints ? 4 : 2;

  for (let step = checkpoints ? done : 0; step < steps; step++) {
    if (step === steps - 1 && job.effectSafety !== 'pure') {
      if (job.effectGate === 'effect') {
        try {
          await deeds.beginEffect();
        } catch (cause) {
          return stoppedOr(deeds, { how: 'threw', error: failure('GATE_REFUSED', cause) });
        }
      }
      await life.clock.sleep(random.fraction() * 30);
      if (way !== 'returns' && endsAfter < 0.5) return ending(deeds, way, obeys);
      deeds.effect();
    }
    const worked = life.clock.sleep((ms / steps) * (0.5 + random.fraction()));
    const how = await Promise.race([worked, deeds.stopSignal]);
    if (typeof how === 'string' && obeys) {
      await life.clock.sleep(random.fraction() * 3_000);
      return said(deeds);
    }
    await worked;
    const percent = ((step + 1) / steps) * 100;
    listener.progress(checkpoints ? { percent, checkpoint: step + 1 } : { percent });
    if (random.chance(0.2))
      listener.log([
        { at: new Date(life.clock.wall()).toISOString(), level: 'info', text: `step ${step}` },
      ]);
  }
  return ending(deeds, way, obeys);
}

function wayOf(faults: Faults): Way {
  for (const way of ['throws', 'retryable', 'unknown', 'dies', 'hangs'] as const)
    if (faults.strikes(way)) return way;
  return 'returns';
}

async function ending(deeds: HostDeeds, way: Way, obeys: boolean): Promise<JobEnd> {
  const { random, job } = deeds;
  switch (way) {
    case 'returns':
      return { how: 'returned', result: { of: job.effectKey, attempt: job.attempt } };
    case 'throws':
      return {
        how: 'threw',
        error: { code: 'BROKEN', message: 'It is broken.', retryable: false },
      };
    case 'retryable':
      return { how: 'threw', error: { code: 'BUSY', message: 'Try again.', retryable: true } };
    case 'unknown':
      return { how: 'unknown', error: { code: 'MAYBE', message: 'Who knows.', retryable: false } };
    case 'dies':
      return random.pick<JobEnd>([
        { how: 'died', exitCode: 1 },
        { how: 'died', signal: 'SIGSEGV' },
        { how: 'died', signal: 'SIGKILL', outOfMemory: true },
      ]);
    case 'hangs': {
      await deeds.stopSignal;
      // Only a kill ends it.
      if (!obeys) return never();
      return said(deeds);
    }
  }
}

/** What it says after the signal: mostly it just obeys. */
function said({ random, job }: HostDeeds): JobEnd {
  const fraction = random.fraction();
  if (fraction < 0.1) return { how: 'returned', result: { of: job.effectKey, late: true } };
  if (fraction < 0.15)
    return { how: 'unknown', error: { code: 'MAYBE', message: 'Stopped.', retryable: false } };
  return { how: 'stopped' };
}

function stoppedOr(deeds: HostDeeds, end: JobEnd): JobEnd {
  return deeds.stopped() === undefined ? end : { how: 'stopped' };
}

function failure(code: string, cause: unknown) {
  return { code, message: cause instanceof Error ? cause.message : String(cause), retryable: true };
}
