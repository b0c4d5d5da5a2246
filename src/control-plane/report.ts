import { canonical } from '../contract/canonical.ts';
import { bounds } from '../contract/limits.ts';
import { type Op, type Report, reportSchemas, terminalOps } from '../contract/worker-calls.ts';
import { applyReport } from '../core/task-report.ts';
import type { KeyRow, Transaction } from '../ports/store.ts';
import { type Answer, answer, type Refusal, refusal } from './answer.ts';
import { keepChange } from './change.ts';
import { sha256, tokenFits } from './lease-token.ts';
import type { Services } from './services.ts';
import { sessionStanding } from './sessions.ts';
import { check } from './validate.ts';

/** A report as it came in, whichever route it took: `op` and `attemptId` stand in it. */
export interface GivenReport {
  readonly raw: Readonly<Record<string, unknown>>;
  /** Bytes as sent of the value that the op carries (`result`, `checkpoint`); 0 where it is surely small. */
  readonly valueBytes: number;
}

/** The member of a report that is stored as it is, and its limit. */
export const VALUES: Readonly<Partial<Record<string, 'result' | 'checkpoint'>>> = {
  complete: 'result',
  progress: 'checkpoint',
};

/** One report on one attempt, in its own transaction. */
export async function report(
  services: Services,
  key: KeyRow,
  given: GivenReport,
): Promise<Answer | Refusal> {
  const { raw } = given;
  const op = raw.op;
  if (typeof op !== 'string' || !Object.hasOwn(reportSchemas, op)) {
    return refusal(
      'UNSUPPORTED_OPERATION',
      `There is no report ${JSON.stringify(String(op).slice(0, 100))} here.`,
    );
  }
  const checked = check(reportSchemas[op as Op], raw);
  if (!checked.ok) return checked.refusal;
  const tooLarge = tooLargeValue(services, given, op) ?? tooLargeDetails(raw);
  if (tooLarge) return tooLarge;
  const value = raw[VALUES[op] ?? ''];
  const facts = {
    hash: terminalOps.has(op) ? sha256(canonical(raw)) : '',
    ...(value === undefined ? {} : { valueJson: JSON.stringify(value) }),
  };
  return services.store.write((tx) => apply(tx, services, key, checked.value, facts));
}

function tooLargeValue(
  { limits }: Services,
  { valueBytes }: GivenReport,
  op: string,
): Refusal | undefined {
  const name = VALUES[op];
  const limitBytes = name === 'checkpoint' ? limits.checkpointBytes : limits.inlineBytes;
  if (name === undefined || valueBytes <= limitBytes) return undefined;
  return refusal(
    'PAYLOAD_TOO_LARGE',
    `${name} has ${valueBytes} bytes; at most ${limitBytes} are taken.`,
    { path: name, limitBytes },
  );
}

/** Details end up in the journal. A worker cuts them to half of what is taken here. */
function tooLargeDetails(raw: GivenReport['raw']): Refusal | undefined {
  const inError = (raw.error as { details?: unknown } | undefined)?.details;
  const details = raw.details ?? inError;
  if (details === undefined) return undefined;
  const limitBytes = 2 * bounds.detailsBytes;
  if (Buffer.byteLength(JSON.stringify(details)) <= limitBytes) return undefined;
  return refusal('PAYLOAD_TOO_LARGE', `details have more than ${limitBytes} bytes.`, {
    path: inError === undefined ? 'details' : 'error.details',
    limitBytes,
  });
}

async function apply(
  tx: Transaction,
  services: Services,
  key: KeyRow,
  said: Report,
  given: { readonly hash: string; readonly valueJson?: string },
): Promise<Answer | Refusal> {
  const { project } = key;
  const found = await tx.attempt(project, said.attemptId);
  if (!found) {
    return refusal('NOT_FOUND', `There is no attempt ${said.attemptId} in project ${project}.`, {
      kind: 'attempt',
      project,
    });
  }
  const { attempt } = found.attempt;
  const holder = { project, attemptId: attempt.id, fence: attempt.fence };
  const change = applyReport(tx.nowMs, found.row.task, attempt, said, {
    ...given,
    tokenFits: tokenFits(services.secret, services.store.epoch, holder, said.leaseToken),
    ...('sessionId' in said ? { session: await sessionStanding(tx, attempt, said.sessionId) } : {}),
    chance: services.random.fraction(),
  });
  await keepChange(tx, found.row, found.attempt, change);
  const { verdict } = change;
  if (!verdict.ok) return refusal(verdict.code, verdict.detail, verdict.more);
  if (said.op === 'log' && !verdict.replayed) {
    const { logLinesPerTask, logCharsPerTask } = services.timing;
    const bounds = { lines: logLinesPerTask, chars: logCharsPerTask };
    await tx.addLogs(found.row.ref, attempt.number, said.lines, bounds);
  }
  if (said.op === 'renew')
    await tx.touchWorker(project, attempt.workerId, attempt.sessionId, services.timing.touchGapMs);
  return answer({
    accepted: true,
    attemptId: attempt.id,
    fence: attempt.fence,
    op: said.op,
    leaseMs: verdict.leaseMs,
    cancelRequested: verdict.cancelRequested,
    replayed: verdict.replayed,
  });
}
