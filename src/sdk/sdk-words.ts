/** The worker's texts name the flags of `interlock-worker`; a program has options. Commands that can be run stay as they are. */
import type { Log, LogLevel } from '../ports/log.ts';
import type { WorkerStatus } from '../worker/worker.ts';
import type { ToldError } from './agent-words.ts';

export function sdkText(text: string): string {
  // Nearly all lines name none, and there are some for each task.
  if (!text.includes('--')) return text;
  return text
    .replaceAll(/\(`?--spool`?\)/g, '(option `spool`)')
    .replaceAll(/\(--ca-file\)/g, '(option `caFile`)')
    .replaceAll(/with --ca-file\b/g, 'with the option `caFile`')
    .replaceAll(/a `?--worker-id`? of its own/g, 'a `workerId` of its own');
}

/** @param self of this process: its spool may be held by another worker of the same program. */
export function sdkError(
  told: ToldError,
  self: { readonly pid: number; readonly hostName: string },
): ToldError {
  const { code, hint, details } = told;
  const own =
    code === 'SPOOL_LOCKED' && details?.pid === self.pid && details.hostName === self.hostName;
  const next = own
    ? 'That is a worker of this very program. Await its drain() first; after `forced` or `agent-died` the spool is free when the last of its handlers has ended. Or give this one a spool of its own (option `spool`).'
    : hint && sdkText(hint);
  return { ...told, message: sdkText(told.message), hint: next };
}

export function sdkStatus(status: WorkerStatus): WorkerStatus {
  const { notClaiming } = status;
  return notClaiming === undefined ? status : { ...status, notClaiming: sdkText(notClaiming) };
}

export function sdkLog(log: Log): Log {
  const at =
    (level: LogLevel): Log[LogLevel] =>
    (event, text, fields) =>
      log[level](event, sdkText(text), fields);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
