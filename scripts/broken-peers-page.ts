import { join } from 'node:path';
import { controlPlaneCases } from '../src/conformance/control-plane/index.ts';
import { workerCases } from '../src/conformance/worker/index.ts';

interface Fault {
  readonly kind: string;
  readonly name: string;
  readonly cases: readonly string[];
}
/** Scripts have no types. */
const script = (file: string): Promise<unknown> =>
  import(join(import.meta.dirname, 'broken-peers', file));

/** Between their markers in docs/conformance.md: each case of a kit, and the broken peers that it fails against. */
export async function brokenPeersPage(page: string): Promise<string> {
  const { allFaults } = (await script('index.mjs')) as { allFaults(): Promise<Fault[]> };
  const { written } = (await script('table.mjs')) as {
    written(page: string, kind: string, cases: readonly string[], faults: Fault[]): string;
  };
  const kits = { 'control-plane': controlPlaneCases, worker: workerCases };
  const faults = await allFaults();
  return Object.entries(kits).reduce((now, [kind, cases]) => {
    const names = cases.map(({ name }) => name);
    return written(
      now,
      kind,
      names,
      faults.filter((fault) => fault.kind === kind),
    );
  }, page);
}
