import type { TaskError } from '../../contract/index.ts';
import { updateError } from './codes.ts';
import type { UpdateFiles } from './files.ts';
import type { Place } from './place.ts';
import { becomesReady, type ReadinessPorts, readyz, saysReady } from './readiness.ts';
import type { Supervisor, Verdict } from './supervisor.ts';
import { notWritten } from './trouble.ts';

export interface ActivatePorts extends ReadinessPorts {
  readonly files: UpdateFiles;
  /** A line for people, on the way. */
  readonly tell: (line: string) => Promise<void>;
}

/** A service, and whether it worked before anything was changed. */
export interface Watched {
  readonly service: Supervisor;
  /** It said that it was ready: then it has to say so again. Otherwise its running is all that is asked for. */
  readonly wasReady: boolean;
}

/** How the services are before the swap. One that has no work now is no reason to go back to what had none either. */
export async function watch(
  ports: ActivatePorts,
  services: readonly Supervisor[],
): Promise<Watched[]> {
  const watched: Watched[] = [];
  for (const service of services) {
    const address = await service.status();
    const state = address === undefined ? undefined : await readyz(ports, address);
    if (state && !state.ok)
      await ports.tell(
        `${service.name} is not ready before the update (${state.why}), so only its running is watched.`,
      );
    watched.push({ service, wasReady: state?.ok === true });
  }
  return watched;
}

/**
 * Restarts the services, one after the other, with what is in place now. One that does not become ready: `undo` puts the
 * other executable back, all that were restarted get it, and `UPDATE_ROLLED_BACK` (or `UPDATE_STUCK`) is thrown.
 *
 * @param to what is in place, in words: `version 0.2.0`.
 */
export async function activate(
  ports: ActivatePorts,
  place: Place,
  services: readonly Watched[],
  options: {
    readonly readyWithinMs: number;
    readonly to: string;
    readonly from: string;
    readonly undo: () => Promise<void>;
  },
): Promise<void> {
  const { files, tell } = ports;
  const { readyWithinMs, to, from } = options;
  const done: Watched[] = [];
  for (const one of services) {
    const { name } = one.service;
    done.push(one);
    await tell(`Restarting ${name}: it drains, then ${to} starts.`);
    const state = await started(ports, place, one, readyWithinMs);
    if (state.ok) continue;
    const log = await one.service.lastLines(LOG_LINES);
    await tell(`${name} did not become ready: ${state.why} Putting ${from} back.`);
    const failed = `${name} did not become ready with ${to}: ${sentence(state.why)}`;
    try {
      await options.undo();
    } catch (error) {
      const why = (notWritten(error, place) as Error).message;
      throw over(
        'UPDATE_STUCK',
        `${failed} It could not be put back: ${why} ${place.exe} is ${to}.`,
        log,
      );
    }
    const stuck: string[] = [];
    for (const again of done) {
      const back = await startedOrRunning(ports, place, again, readyWithinMs);
      if (!back.ok) stuck.push(`${again.service.name}: ${sentence(back.why)}`);
    }
    if (stuck.length === 0)
      throw over(
        'UPDATE_ROLLED_BACK',
        `${failed} ${capital(from)} was put back and runs again.`,
        log,
      );
    const { identity } = (await files.look(place.exe).catch(() => undefined)) ?? {};
    throw over(
      'UPDATE_STUCK',
      `${failed} ${capital(from)} was put back${identity ? '' : ' (it is out of sight)'}, but does not run either: ${stuck.join(' ')}`,
      log,
    );
  }
}

/** One whose restart is refused (to this user) was never stopped: then it runs what has been put back. */
async function startedOrRunning(
  ports: ActivatePorts,
  place: Place,
  one: Watched,
  readyWithinMs: number,
): Promise<Verdict> {
  const state = await started(ports, place, one, readyWithinMs);
  if (state.ok) return state;
  const seen = await ports.files.look(place.exe).catch(() => undefined);
  const runs = seen ? await one.service.running(seen.identity) : state;
  return runs.ok && !one.wasReady ? runs : runs.ok ? saysReady(ports, one.service) : state;
}

async function started(
  ports: ActivatePorts,
  place: Place,
  { service, wasReady }: Watched,
  readyWithinMs: number,
): Promise<Verdict> {
  const restarted = await service.restart(readyWithinMs);
  if (!restarted.ok) return restarted;
  const seen = await ports.files.look(place.exe).catch(() => undefined);
  return becomesReady(ports, service, {
    identity: seen?.identity,
    askStatus: wasReady,
    untilMs: ports.clock.now() + readyWithinMs,
  });
}

function over(
  code: 'UPDATE_ROLLED_BACK' | 'UPDATE_STUCK',
  message: string,
  log: readonly string[],
): TaskError {
  const said = log.map((line) =>
    line.length > LINE_CHARS ? `${line.slice(0, LINE_CHARS)}…` : line,
  );
  const words =
    said.length === 0
      ? ''
      : `\nThe last lines of its log:\n${said.map((line) => `  ${line}`).join('\n')}`;
  return updateError(code, message + words, { details: { log: said } });
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

const LOG_LINES = 15;
const LINE_CHARS = 240;
