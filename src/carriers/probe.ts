/**
 * Loads handlers in a process of its own to learn what they declare. First all together, which takes one process;
 * then one by one whatever has not answered (it hangs, or something ended the process) or has to be asked again. Where a
 * file holds the thread of that process, a short look at each of the others elsewhere finds those that are behind it.
 */
import { hostDefaults } from '../core/defaults.ts';
import type { Probe, Probed } from '../handler/discovery.ts';
import { encodeFrame, type FromHost } from '../handler/protocol.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { exitText } from './host.ts';
import { type HostGone, HostProcess } from './host-process.ts';
import type { SpawnOptions } from './spawn-host.ts';

/** `marker`: of this probe alone: what it started is killed by it, and may still be while the next one works. */
export interface ProbeOptions extends Omit<SpawnOptions, 'role' | 'id'> {
  readonly clock: Clock;
  readonly log: Log;
  /** Default: `hostDefaults.probeMs`. */
  readonly probeMs?: number;
  /** Ends what still loads, when nobody waits for it any more. */
  readonly signal?: AbortSignal | undefined;
  /** Folder that code is kept in for hosts, made where it is missing; absent: it is not kept. */
  readonly keepIn?: string | undefined;
}

export function createProbe(options: ProbeOptions): Probe {
  let hosts = 0;
  const nextId = () => `${options.marker}/${++hosts}`;
  return async (files, early) => {
    const results = new Map<string, Probed>();
    const over = new AbortController();
    const signals = [over.signal, ...(options.signal ? [options.signal] : [])];
    const signal = AbortSignal.any(signals);
    const probing: Probing = { ...options, nextId, signal };
    let quiet: Timer | undefined;
    let looking = false;
    const tell = () => early?.(new Map(results));
    const got = (file: string, result: Probed) => {
      // Of two that looked at it the first one counts.
      if (results.has(file)) return;
      results.set(file, result);
      quiet?.cancel();
      if (results.size === files.length) over.abort();
      else if (early && !looking) quiet = options.clock.timer(hostDefaults.probeSlowMs, tell);
    };
    const eachOfRest = async (look: (file: string) => Promise<Probed | undefined>) => {
      const rest = files.filter((file) => !results.has(file));
      const lane = async () => {
        for (let file = rest.shift(); file !== undefined; file = rest.shift()) {
          if (signal.aborted) return;
          const result = results.has(file) ? undefined : await look(file);
          if (result !== undefined) got(file, result);
        }
      };
      await Promise.all(Array.from({ length: hostDefaults.probesAtOnce }, lane));
    };
    if (files.length > 1) {
      const held = Promise.withResolvers<true>();
      const heard = (answer: Answer) => {
        if (answer.t === 'loaded' || !answer.unplaced) got(answer.file, probed(answer));
      };
      const together = load(files, probing, heard, () => held.resolve(true));
      if ((await Promise.race([together, held.promise])) === true) {
        looking = true;
        quiet?.cancel();
        await eachOfRest((file) => lookShortly(file, probing));
        looking = false;
        if (results.size > 0 && results.size < files.length) tell();
      }
      await together;
    }
    await eachOfRest((file) => loadAlone(file, probing));
    quiet?.cancel();
    return results;
  };
}

type Answer = Extract<FromHost, { t: 'loaded' | 'not-loaded' }>;

interface Session {
  readonly answers: ReadonlyMap<string, Answer>;
  /** Absent: all have answered, and nobody has to wait for the end of what did. */
  readonly gone?: HostGone;
  /** It has come up: what it did not answer then is for the files to answer for. */
  readonly up: boolean;
  readonly timedOut: boolean;
  readonly stderr: string;
}

interface Probing extends ProbeOptions {
  nextId(): string;
}

/**
 * One process: loads the files until all have answered, none answers for too long, or the process ends.
 * @param held is called where a file holds its thread, perhaps more than once.
 */
async function load(
  files: readonly string[],
  options: Probing,
  heard?: (answer: Answer) => void,
  held?: () => void,
): Promise<Session> {
  const { clock, keepIn, log, probeMs = hostDefaults.probeMs, signal } = options;
  const answers = new Map<string, Answer>();
  const host = new HostProcess({ ...options, role: 'probe', id: options.nextId() }, clock, log);
  let timedOut = false;
  let up = false;
  const timer = (ms: number) =>
    clock.timer(ms, () => {
      timedOut = true;
      host.kill();
    });
  let silence = timer(hostDefaults.probeStartMs);
  const slow = clock.timer(hostDefaults.probeSlowMs, () => tellSlow(files, answers, up, log));
  let asked: Timer | undefined;
  const askLater = () => {
    asked?.cancel();
    if (held === undefined) return;
    asked = clock.timer(hostDefaults.probeAskMs, () => {
      host.write(encodeFrame({ t: 'ping' }));
      asked = clock.timer(hostDefaults.probeHeldMs, held);
    });
  };
  const answered = Promise.withResolvers<undefined>();
  const alone = files.length === 1;
  host.listener = {
    frame: (frame) => {
      if (frame.t !== 'loaded' && frame.t !== 'not-loaded' && frame.t !== 'pong') return;
      askLater();
      // It gives way, and goes on waiting for a file.
      if (frame.t === 'pong' && up) return;
      up = true;
      silence.cancel();
      silence = timer(probeMs);
      // What comes now is code of the files.
      if (frame.t === 'pong') return host.giveWay();
      answers.set(frame.file, frame);
      heard?.(frame);
      const more = frame.t === 'not-loaded' && frame.unplaced && alone;
      if (answers.size < files.length || more) return;
      host.kill();
      answered.resolve(undefined);
    },
    output: () => {},
  };
  const keep = keepIn === undefined ? {} : { keepIn };
  const end = () => host.kill();
  signal?.addEventListener('abort', end);
  if (signal?.aborted) end();
  for (const file of files) host.write(encodeFrame({ t: 'load', file, alone, ...keep }));
  const gone = await Promise.race([host.gone, answered.promise]);
  silence.cancel();
  slow.cancel();
  asked?.cancel();
  signal?.removeEventListener('abort', end);
  return { answers, ...(gone && { gone }), up, timedOut, stderr: host.stderrTail.text };
}

/** Whoever looks at a start must not think that it hangs, and knows which file it is if it does. */
function tellSlow(
  files: readonly string[],
  answers: ReadonlyMap<string, unknown>,
  up: boolean,
  log: Log,
): void {
  const waiting = files.filter((file) => !answers.has(file));
  const told = waiting.slice(0, SLOW_TOLD).join(', ');
  const more = waiting.length > SLOW_TOLD ? ` and ${waiting.length - SLOW_TOLD} more` : '';
  const why = up ? '' : ': the process for it has not come up yet, since this machine is busy';
  log.info('handler.loading', `Still loading ${told}${more}${why}.`, { files: waiting.length });
}

const SLOW_TOLD = 3;

/** While it may still answer elsewhere; `undefined`: it takes long here too, which says nothing yet. */
async function lookShortly(file: string, options: Probing): Promise<Probed | undefined> {
  const session = await load([file], { ...options, probeMs: hostDefaults.probeSlowMs });
  return session.timedOut ? undefined : judged(file, session, options);
}

async function loadAlone(file: string, options: Probing): Promise<Probed> {
  return judged(file, await load([file], options), options);
}

function judged(file: string, session: Session, options: Probing): Probed {
  const { answers, gone, stderr, timedOut, up } = session;
  const answer = answers.get(file);
  if (answer !== undefined) return probed(answer, placeIn(stderr));
  if (gone?.notStarted !== undefined) {
    const hint = 'Mend that and start again.';
    return { ok: false, problem: { code: 'HOST_NOT_STARTED', message: gone.notStarted, hint } };
  }
  if (timedOut && !up) {
    const seconds = hostDefaults.probeStartMs / 1_000;
    return bad(
      `It was not looked at: the process that loads it did not come up within ${seconds} s.`,
      'This machine is very busy: see what else runs on it, and start again.',
    );
  }
  if (timedOut) {
    const seconds = (options.probeMs ?? hostDefaults.probeMs) / 1_000;
    return bad(
      `It was not loaded within ${seconds} s, which is the limit.`,
      'Move what takes long (a model that is loaded, a top-level await, a loop) into the handler, to its first call. If there is no such thing, this machine is too busy: wait, and start again.',
    );
  }
  const last = stderr.trim().slice(-hostDefaults.stderrToldChars);
  return bad(
    `It ends the process while it is loaded (${exitText(gone ?? {})}).${last && ` It said: ${last}`}`,
    'A handler must not call process.exit() or crash at its top level.',
  );
}

function probed(answer: Answer, place?: string): Probed {
  if (answer.t === 'loaded') {
    const { code, declaration, warnings } = answer;
    return { ok: true, declaration, ...(code && { code }), ...(warnings && { warnings }) };
  }
  const { code, message, hint } = answer.problem;
  return {
    ok: false,
    problem: { code, message: place ? `${message} (${place})` : message, hint },
  };
}

/** Where the runtime saw an error that ended the process: its first line is `file:line`. */
function placeIn(stderr: string): string | undefined {
  return stderr.match(/^(?:file:\/\/)?(\S.*:\d+)$/m)?.[1];
}

function bad(message: string, hint: string): Probed {
  return { ok: false, problem: { code: 'HANDLER_NOT_LOADED', message, hint } };
}
