import { TaskError } from '../../contract/index.ts';
import { type Body, type Fcp, Unmet } from '../../fcp/fcp.ts';
import { Broken } from '../case.ts';
import { handlerName, type ManifestHandler, manifest } from './manifest.ts';
import type { WorkerCase } from './worker-case.ts';
import { NoProgram } from './worker-process.ts';
import type { World } from './world.ts';

/** How much of what it said is told. */
const LINES_TOLD = 12;
const MANIFEST = 'interlock conformance worker --manifest tells what a worker gets and must offer.';

const FORKED =
  'its command has ended while what it started goes on in the background. The command has to be the worker itself, in the foreground, or wait for it and pass signals on.';

type Needed = readonly Pick<WorkerCase, 'name' | 'handlers'>[];

/**
 * Starts the worker once and looks whether it can be judged at all: it is there, and offers the handlers that the cases
 * need, as soon as it has told them. Without them every case would wait in vain. Throws `WORKER_UNFIT` with what is missing.
 */
export async function checkFitness(
  world: World,
  cases: Needed,
  signal: AbortSignal,
): Promise<void> {
  const fcp = await world.controlPlane();
  signal.addEventListener('abort', () => fcp.fail(new Error('The run was stopped')), {
    once: true,
  });
  const lacks = () => missing(fcp, cases);
  try {
    await world.worker({ ready: false });
    await fcp.until(() => hasTold(fcp) || (heard(fcp) && lacks().length === 0), {
      what: 'the handlers of the worker',
    });
    if (lacks().length === 0) return;
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof NoProgram)
      throw new TaskError('WORKER_UNFIT', error.message, { hint: error.next, cause: error });
    const left = error instanceof Broken && (await world.goesOn());
    const why = left ? FORKED : reason(error, fcp);
    if (why === undefined) throw error;
    throw unfit(world, why, error);
  }
  throw unfit(
    world,
    `it offers no ${lacks()
      .map((one) => needed(one, cases))
      .join(', ')}.`,
  );
}

function unfit(world: World, why: string, cause?: unknown): TaskError {
  const said = world.evidence().slice(-LINES_TOLD);
  const message = [`The worker cannot be judged: ${why}`, ...said].join('\n');
  return new TaskError('WORKER_UNFIT', message, { hint: MANIFEST, cause });
}

function reason(error: unknown, fcp: Fcp): string | undefined {
  if (error instanceof Broken) return error.message;
  if (!(error instanceof Unmet)) return error instanceof Error ? `${error.message}.` : undefined;
  if (fcp.log.length === 0) return 'it sent nothing to the address in INTERLOCK_URL.';
  return `${error.says}; it neither told them in its presence (PUT /workers/<workerId>, "handlers") nor claimed.`;
}

/** Its list has come with its presence; a worker that tells none there is judged by what its first claim wants. */
function hasTold(fcp: Fcp): boolean {
  return fcp.requests('present').some(({ body }) => Array.isArray(body?.handlers)) || claimed(fcp);
}

function claimed(fcp: Fcp): boolean {
  return fcp.requests('claim').some(({ body }) => Array.isArray(body?.want));
}

function heard(fcp: Fcp): boolean {
  return fcp.requests('present').length > 0;
}

/** What it has neither asked for nor told of, or with another word on its safety. */
function missing(fcp: Fcp, cases: Needed): ManifestHandler[] {
  const wanted = fcp.requests('claim').flatMap(({ body }) => body?.want ?? []);
  const told = fcp.requests('present').flatMap(({ body }) => body?.handlers ?? []);
  const offered = [...wanted, ...told] as Body[];
  const used = new Set<string>(cases.flatMap(({ handlers }) => handlers));
  return manifest.filter(
    ({ type, schemaVersion, effectSafety, effectGate }) =>
      used.has(type) &&
      !offered.some(
        (one) =>
          one.type === type &&
          one.schemaVersion === schemaVersion &&
          (one.effectSafety ?? 'non-idempotent') === effectSafety &&
          (effectSafety !== 'non-idempotent' || (one.effectGate ?? 'start') === effectGate),
      ),
  );
}

/** `conformance/gated@1 (non-idempotent, gate effect; for gates/late-answer and 7 other cases)`. */
function needed(handler: ManifestHandler, cases: Needed): string {
  const { type, effectSafety, effectGate } = handler;
  const [first, ...others] = cases.filter(({ handlers }) => handlers.includes(type));
  const gate = effectSafety === 'non-idempotent' ? `, gate ${effectGate}` : '';
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  return `${handlerName(handler)} (${effectSafety}${gate}; for ${first?.name}${more})`;
}
