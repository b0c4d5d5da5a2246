import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProcessCarrier } from '../../src/carriers/process.ts';
import type { ProcessCarrier, ProcessCarrierOptions } from '../../src/carriers/process-carrier.ts';
import { systemClock } from '../../src/system/clock.ts';
import { memoryLog } from './memory-log.ts';

const here = import.meta.dirname;
export const hostFile = join(here, '../../src/handler/host.ts');
export const hostCommand = { execPath: process.execPath, args: [hostFile] };
let count = 0;

/** A carrier with real processes, and its log. */
export function processCarrier(overrides: Partial<ProcessCarrierOptions> = {}): {
  carrier: ProcessCarrier;
  log: ReturnType<typeof memoryLog>;
  marker: string;
} {
  const log = memoryLog();
  const marker = `test-${process.pid}-${++count}`;
  const options: ProcessCarrierOptions = {
    clock: systemClock(),
    log,
    hostCommand,
    maxHosts: 2,
    marker,
    env: process.env,
    ...overrides,
  };
  return { carrier: createProcessCarrier(options), log, marker: options.marker };
}

processCarrier.hostArgs = [hostFile];

export function fixtureFile(name: string): string {
  return join(here, 'fixtures', `${name}.mjs`);
}

/** Pids of running processes that carry this marker (Linux), looked up apart from the code under test. */
export function marked(marker: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return (
          readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`=${marker}\0`) &&
          !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
        );
      } catch {
        return false;
      }
    })
    .map(Number);
}
