/** What every case asks beside its own question: did the worker do anything that no worker may do? */
import { type Fcp, Unmet, type Violation, type ViolationKind } from '../../fcp/fcp.ts';
import { Broken, NotApplicable } from '../case.ts';
import { manifest } from './manifest.ts';
import type { WorkerCase } from './worker-case.ts';
import type { World } from './world.ts';

/** The promise that a violation breaks. */
const PROMISES: Record<ViolationKind, string> = {
  'no-contract-header': '7.1',
  'secret-in-address': '5.47',
  'secret-in-body': '5.52',
  'unknown-route': '6.1',
  'invalid-request': '6.1',
  'unknown-op': '7.8',
  'unknown-attempt': '1.7',
  'claim-while-draining': '5.24',
  'claim-after-superseded': '2.6',
  'request-id-reused': '2.10',
  'claim-hot-loop': '2.26',
  'report-after-stale': '1.14',
  'report-after-end': '5.12',
  'second-start': '4.5',
  'second-outcome': '5.4',
  'gate-skipped': '4.2',
  'release-after-start': '5.23',
  'two-on-their-way': '5.45',
};
const VIOLATIONS_TOLD = 3;
const PLAYED_TOLD = 8;

/** The case, with this question at its end; what it waited for in vain is a broken promise too. */
export function judged(one: WorkerCase): WorkerCase {
  return {
    ...one,
    run: async (world) => {
      let broken: string | undefined;
      try {
        await one.run(world);
        declared(one, world);
      } catch (error) {
        if (error instanceof NotApplicable) throw error;
        broken = inWords(error);
        if (broken === undefined) throw error;
      }
      const found = [broken, ...violations(world), ...leaks(world)].filter(
        (text) => text !== undefined,
      );
      if (found.length > 0) throw new Broken([...found, ...played(world)].join('\n'));
    },
  };
}

/** What a case declares is what a worker must offer to be judged by it. */
function declared({ name, handlers }: WorkerCase, world: World): void {
  const offered = manifest.map(({ type }) => type).filter((type) => world.offered.has(type));
  if (offered.toSorted().join() === handlers.toSorted().join()) return;
  throw new Error(`The case ${name} declares ${handlers.join()} and offers ${offered.join()}`);
}

function inWords(error: unknown): string | undefined {
  if (error instanceof Broken) return error.message;
  if (!(error instanceof Unmet)) return undefined;
  return `${error.says}.`;
}

/** What the kit did to the worker: without it nobody can tell why something was expected. */
function played(world: World): string[] {
  const all = world.played();
  if (all.length === 0) return [];
  const left = all.length - PLAYED_TOLD;
  return [
    'The kit played:',
    ...all.slice(0, PLAYED_TOLD).map((one) => `  ${one}`),
    ...(left > 0 ? [`  … and ${left} more, see the wire`] : []),
  ];
}

function violations(world: World): string[] {
  const all = world.findings.fcps.flatMap((fcp: Fcp) => [...fcp.violations]);
  const told = all.slice(0, VIOLATIONS_TOLD).map(sentence);
  const more = all.length - told.length;
  return more > 0 ? [...told, `… and ${more} more of the kind.`] : told;
}

function sentence({ kind, request, attemptId, detail }: Violation): string {
  const where = attemptId === undefined ? `#${request}` : `#${request}, …${attemptId.slice(-6)}`;
  return `Promise ${PROMISES[kind]} is broken (${kind}): ${detail} (request ${where}).`;
}

function leaks(world: World): string[] {
  const { leak } = world.findings;
  return leak === undefined ? [] : [`Promise 5.52 is broken: the worker wrote ${leak}.`];
}
