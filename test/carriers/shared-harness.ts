import { routed } from '../../src/carriers/hosts.ts';
import { createProcessCarrier } from '../../src/carriers/process.ts';
import type { ProcessCarrier } from '../../src/carriers/process-carrier.ts';
import { createSharedCarrier, type SharedCarrierOptions } from '../../src/carriers/shared.ts';
import { Suspects } from '../../src/carriers/suspects.ts';
import { systemClock } from '../../src/system/clock.ts';
import { memoryLog } from './memory-log.ts';
import { hostCommand } from './process-harness.ts';

let count = 0;

/** Both carriers of the daemon behind one, with real processes, and its log. */
export function sharedCarrier(overrides: Partial<SharedCarrierOptions> = {}): {
  carrier: ProcessCarrier;
  log: ReturnType<typeof memoryLog>;
  marker: string;
} {
  const log = memoryLog();
  const suspects = new Suspects();
  const options: SharedCarrierOptions = {
    clock: systemClock(),
    log,
    hostCommand,
    maxHosts: 4,
    marker: `test-shared-${process.pid}-${++count}`,
    env: process.env,
    suspects,
    ...overrides,
  };
  const carrier = routed(createProcessCarrier(options), createSharedCarrier(options), suspects);
  return { carrier, log, marker: options.marker };
}
