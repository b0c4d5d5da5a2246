import { TaskError } from '../contract/index.ts';
import { VERSION } from '../contract/version.ts';
import { spoolFlag } from '../spool/index.ts';
import type { SystemLog } from '../system/log.ts';
import type { KeyLimit } from '../worker/refusals.ts';
import type { WorkerEnd } from '../worker/worker.ts';
import type { Call } from './command.ts';
import { durationWords } from './duration.ts';
import type { ExitName } from './exit-codes.ts';
import { toldProblems } from './handler-words.ts';
import { type Discovery, handlerKey } from './handlers.ts';
import { findKey } from './keys.ts';
import { plain } from './style.ts';
import type { WorkerCall } from './worker-agent.ts';

/** What is said at the start: one line with all that matters, and a line for each handler that has something wrong. */
export function summary({ settings }: WorkerCall, at: string, { handlers }: Discovery): string {
  const serves =
    handlers.length === 0
      ? 'no handler (what is in its spool is sent)'
      : handlers.map(handlerKey).join(', ');
  const pools = settings.pools.join(', ');
  return `Worker ${settings.workerId} (process ${process.pid}) serves ${serves} from pool ${pools}, ${settings.maxConcurrent} at a time, for ${at}.`;
}

export function tellHandlers({ handlers, problems }: Discovery, log: SystemLog): void {
  for (const { severity, says, hint, file, type, code } of toldProblems(problems)) {
    const text = `${says} ${hint}`;
    const fields = { file, ...(type && { type }), code };
    if (severity === 'error') log.error('handler.not-served', text, fields);
    else log.warn('handler.warning', text, fields);
  }
  for (const handler of handlers) {
    if (handler.code?.notKept === undefined) continue;
    log.warn(
      'handler.not-pinned',
      `The code of ${handlerKey(handler)} is not kept: ${handler.code.notKept}. Its processes load what lies in the handlers folder when they start, also while it is being changed.`,
      { file: handler.file },
    );
  }
  const silent = handlers.filter(({ safetyDeclared }) => !safetyDeclared).map(handlerKey);
  if (silent.length > 0) {
    log.warn(
      'handler.safety-not-declared',
      `${silent.join(', ')} ${silent.length === 1 ? 'does' : 'do'} not declare effectSafety, so non-idempotent is taken: after a crash past the start somebody has to decide. Export effectSafety: 'pure', 'idempotent' or 'non-idempotent'.`,
      { handlers: silent },
    );
  }
}

/** How it ended, in words and as an exit; throws what is no success. */
export async function ended(
  end: WorkerEnd,
  { keyPlaces, settings }: WorkerCall,
  spool: { readonly folder: string; readonly refused: number },
  log: SystemLog,
): Promise<ExitName> {
  const kept =
    end.unsent === 0
      ? spool.refused === 0
        ? 'Nothing is left in the spool.'
        : `Every report was answered; ${spool.refused === 1 ? 'one that was refused lies' : `${spool.refused} that were refused lie`} in the spool: interlock spool list --state refused${spoolFlag(spool.folder)}`
      : `${end.unsent} ${end.unsent === 1 ? 'report is' : 'reports are'} left in ${spool.folder}; the next start sends ${end.unsent === 1 ? 'it' : 'them'}.`;
  const fields = { unsent: end.unsent, stopped: end.stopped };
  const failed = (code: string, message: string, hint: string) =>
    new TaskError(code, message, { hint, details: fields });
  switch (end.why) {
    case 'drained':
      log.info('worker.drained', `Drained in order. ${kept}`, fields);
      break;
    case 'stopped-handlers': {
      const count = `${end.stopped} ${end.stopped === 1 ? 'handler' : 'handlers'}`;
      log.warn(
        'worker.drained',
        `Drained; ${count} had to be told to stop, by a second signal or ${durationWords(settings.stopGraceMs)} (the grace) before the drain timeout of ${durationWords(settings.drainTimeoutMs)}. What ${end.stopped === 1 ? 'it' : 'they'} said until then is kept. ${kept}`,
        fields,
      );
      break;
    }
    case 'superseded':
      await log.flush();
      throw failed(
        'SESSION_SUPERSEDED',
        `Another process has taken over worker id "${settings.workerId}". ${kept}`,
        'Give each worker a --worker-id of its own, or stop the other process. Do not start this one again.',
      );
    case 'key-refused':
      await log.flush();
      throw failed(
        'KEY_REFUSED',
        `The control plane ${settings.url} refuses the key of this worker (${end.detail ?? 'no detail'}).`,
        end.beyond === undefined
          ? `A task-worker key is needed. ${await keyHint(keyPlaces)}`
          : withinLimit(end.beyond),
      );
    case 'contract-mismatch':
      await log.flush();
      throw failed(
        'CONTRACT_MISMATCH',
        `This worker (interlock ${VERSION}) and the control plane ${settings.url} share no version of the contract: ${end.detail ?? ''} ${kept}`,
        'Do not start it again before one of them was updated.',
      );
    case 'spool-lost':
      await log.flush();
      throw failed(
        'SPOOL_LOST',
        end.detail ?? `The spool ${spool.folder} is no longer this worker's.`,
        'See to its folder, then start the worker again.',
      );
    default:
      await log.flush();
      throw failed(
        'FORCED_STOP',
        `The worker left at once (${end.detail ?? 'a third signal'}). ${kept}`,
        'Start it again: what was running is told as lost, and what was done is sent.',
      );
  }
  await log.flush();
  return 'ok';
}

/** The key is good, for other workers than this one. */
function withinLimit({ limit, allowed }: KeyLimit): string {
  const named = plain(allowed.slice(0, NAMED_MAX).join(', '));
  const other = 'or have a key made without that limit (interlock keys list shows the limits).';
  if (limit === 'workerIdPrefix')
    return `Start it with a --worker-id that begins with ${named}, ${other}`;
  if (limit === 'pools')
    return `Start it with --pool ${allowed.length === 1 ? named : `(of ${named})`}, ${other}`;
  return `Give it handlers of ${named} only (--handlers), ${other}`;
}

const NAMED_MAX = 5;

async function keyHint(places: Call['keyPlaces']): Promise<string> {
  const { from } = await findKey(['task-worker'], places);
  return `This one came from ${from}. Make another: interlock keys new "my worker" --kind task-worker; it goes into INTERLOCK_WORKER_KEY, a file for --key-file, or the profile.`;
}

export function nothingToServe(folder: string, { problems }: Discovery): TaskError {
  const [first] = toldProblems(problems);
  return new TaskError(
    'HANDLERS_NONE',
    first?.file === folder
      ? first.says
      : first
        ? `None of the handlers in ${folder} can be served: ${first.says}`
        : `There is no handler in ${folder}.`,
    {
      hint:
        first?.hint ??
        'Put one there, such as demo/hello@1.mjs, or name another folder with --handlers.',
      details: { problems },
    },
  );
}
