import type { SimulatedProcess } from '../../sim/machine.ts';
import { SimulatedMachine } from '../../sim/machine.ts';
import type { EffectSafety, TerminalReport } from '../../src/contract/index.ts';
import {
  openSpool,
  type RunningRecord,
  type Spool,
  type SpoolOptions,
} from '../../src/spool/index.ts';

export const FOLDER = '/state/spool';
export const RESERVE_BYTES = 8_192;
export const META = { type: 'demo/hello', schemaVersion: 1 };

type JsonResult = Extract<TerminalReport, { op: 'complete' }>['result'];

export function complete(
  attemptId: string,
  result: JsonResult = { hello: attemptId },
): TerminalReport {
  return { op: 'complete', ...four(attemptId), result };
}

export function four(attemptId: string) {
  return { taskId: `tsk_${attemptId}`, attemptId, fence: 1, leaseToken: `token-of-${attemptId}` };
}

export function held(
  attemptId: string,
  effectSafety: EffectSafety = 'non-idempotent',
): RunningRecord {
  return {
    ...four(attemptId),
    ...META,
    effectSafety,
    effectGate: 'start',
    claimedAt: '2026-01-01T00:00:00.000Z',
  };
}

let sessions = 0;

export function optionsFor(
  process: SimulatedProcess,
  more: Partial<SpoolOptions> = {},
): SpoolOptions {
  return {
    ...process,
    folder: FOLDER,
    workerId: 'garage',
    sessionId: `ses_${++sessions}`,
    serviceUrl: 'http://127.0.0.1:7420',
    // Small, so that a thousand worlds cost nothing.
    reserveBytes: RESERVE_BYTES,
    ...more,
  };
}

/** Opens the spool of a process, or throws why not. */
export async function open(
  process: SimulatedProcess,
  more: Partial<SpoolOptions> = {},
): Promise<Spool> {
  const opened = await openSpool(optionsFor(process, more));
  if (!opened.ok) throw opened.error;
  return opened.spool;
}

export async function start(more: Partial<SpoolOptions> = {}) {
  const machine = new SimulatedMachine();
  const process = machine.start();
  return { machine, process, spool: await open(process, more) };
}

/** The process is killed; the next one opens the spool. */
export async function restart(
  machine: SimulatedMachine,
  before: SimulatedProcess,
  more: Partial<SpoolOptions> = {},
) {
  before.kill();
  const process = machine.start();
  return { process, spool: await open(process, more) };
}

export function reportIds(spool: Spool): string[] {
  return spool.recovered.reports.map(({ head }) => head.attemptId);
}

/** The reports that were found, as they are to be sent. */
export function bodies(spool: Spool): Promise<TerminalReport[]> {
  return Promise.all(spool.recovered.reports.map((one) => spool.body(one)));
}

export function runningIds(spool: Spool): string[] {
  return spool.recovered.running.map(({ attemptId }) => attemptId);
}

/** Files of the spool, without what is there while it is open. */
export function files(machine: SimulatedMachine): string[] {
  return Object.keys(machine.disk.platter.tree())
    .map((path) => path.slice(FOLDER.length + 1))
    .filter((path) => path !== 'owner.json' && path !== 'reserve');
}
