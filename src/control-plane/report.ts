import { canonical } from '../contract/canonical.ts';
import { bounds } from '../contract/limits.ts';
import { plainReport } from '../contract/plain-calls.ts';
import { outcomeOps } from '../contract/start-in-outcome.ts';
import { type Op, type Report, reportSchemas, terminalOps } from '../contract/worker-calls.ts';
import type { AttemptState, Verdict } from '../core/task.ts';
import { applyReport } from '../core/task-report.ts';
import type { KeyRow, Transaction } from '../ports/store.ts';
import { type Answer, answerText, isRefusal, type Refusal, refusal } from './answer.ts';
import { AttemptUnderWay } from './attempt-under-way.ts';
import { member, quoted } from './json-text.ts';
import { sha256 } from './lease-token.ts';
import type { Services } from './services.ts';
import { SessionStandings } from './sessions.ts';
import { checkPlain } from './validate.ts';

/** A report as it came in, whichever route it took: `op` and `attemptId` stand in it. */
export interface GivenReport {
  readonly raw: Readonly<Record<string, unknown>>;
  /** Bytes as sent of the value that the op carries (`result`, `checkpoint`); 0 where it is surely small. */
  readonly valueBytes: number;
}

/** The member of a report that is stored as it is, and its limit. */
export function storedMember(op: unknown): 'result' | 'checkpoint' | undefined {
  if (op === 'complete') return 'result';
  return op === 'progress' ? 'checkpoint' : undefined;
}

/** A report that is as it should be, not applied yet. */
export interface Prepared {
  readonly said: Report;
  readonly hash: string;
  readonly valueJson: string | undefined;
}

/** One report on one attempt, in its own transaction. */
export async function report(
  services: Services,
  key: KeyRow,
  given: GivenReport,
): Promise<Answer | Refusal> {
  const prepared = prepare(services, given);
  if (isRefusal(prepared)) return prepared;
  const [done] = await services.store.write((tx) => apply(tx, services, key, [prepared]));
  return done as Answer | Refusal;
}

/** Everything that needs no look into the store. */
export function prepare(services: Services, given: GivenReport): Prepared | Refusal {
  const { raw } = given;
  const op = raw.op;
  if (typeof op !== 'string' || !Object.hasOwn(reportSchemas, op)) {
    const named = typeof op === 'string' ? JSON.stringify(op.slice(0, 100)) : 'whose op is no text';
    return refusal('UNSUPPORTED_OPERATION', `There is no report ${named} here.`);
  }
  const checked = checkPlain<Report>(plainReport, reportSchemas[op as Op], raw);
  if (!checked.ok) return checked.refusal;
  const tooLarge = tooLargeValue(services, given, op) ?? tooLargeDetails(raw);
  if (tooLarge) return tooLarge;
  const value = raw[storedMember(op) ?? ''];
  return {
    said: checked.value,
    hash: terminalOps.has(op) ? sha256(canonical(withoutStart(raw, op))) : '',
    valueJson: value === undefined ? undefined : JSON.stringify(value),
  };
}

/** Contract 1.39: an outcome that was sent with its `start` and without it is the same report. */
function withoutStart(raw: GivenReport['raw'], op: string): GivenReport['raw'] {
  return raw.start !== undefined && outcomeOps.has(op) ? { ...raw, start: undefined } : raw;
}

function tooLargeValue(
  { limits }: Services,
  { valueBytes }: GivenReport,
  op: string,
): Refusal | undefined {
  const name = storedMember(op);
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

/**
 * Reports of one command, one after the other. Those of one attempt that follow each other (the late `start` of a short job and its end)
 * find it once, and what they did is kept as one change.
 *
 * @param reports those that were refused before are left alone. @returns in the order of `reports`.
 */
export async function apply(
  tx: Transaction,
  services: Services,
  key: KeyRow,
  reports: readonly (Prepared | Refusal)[],
): Promise<(Answer | Refusal)[]> {
  const { project } = key;
  const standings = new SessionStandings(tx);
  const answers: (Answer | Refusal)[] = [];
  let under: AttemptUnderWay | undefined;
  for (const one of reports) {
    if (isRefusal(one)) {
      answers.push(one);
      continue;
    }
    const { said, hash, valueJson } = one;
    if (under?.attempt.id !== said.attemptId) {
      const kept = under?.keep(tx);
      if (kept instanceof Promise) await kept;
      const found = await tx.attempt(project, said.attemptId);
      under = found && new AttemptUnderWay(found);
    }
    if (under === undefined) {
      answers.push(noAttempt(said.attemptId, project));
      continue;
    }
    const { attempt } = under;
    const session =
      said.op === 'start' || said.op === 'effect'
        ? (standings.known(attempt, said.sessionId) ??
          (await standings.of(attempt, said.sessionId)))
        : undefined;
    const verdict = under.take(
      applyReport(tx.nowMs, under.task, attempt, said, {
        hash,
        valueJson,
        tokenFits: under.tokenFits(services, said.leaseToken),
        session,
        chance: services.random.fraction(),
      }),
    );
    if (verdict.ok && (said.op === 'log' || said.op === 'renew'))
      await keepBeside(tx, services, under, said, verdict);
    answers.push(
      verdict.ok
        ? accepted(attempt, said.op, verdict)
        : refusal(verdict.code, verdict.detail, verdict.more),
    );
  }
  await under?.keep(tx);
  return answers;
}

/** What is no state of the attempt: lines, and that its worker lives. */
async function keepBeside(
  tx: Transaction,
  { timing }: Services,
  { ref, attempt }: AttemptUnderWay,
  said: Extract<Report, { op: 'log' | 'renew' }>,
  { replayed }: Accepted,
): Promise<void> {
  if (said.op === 'log' && !replayed) {
    const bounds = { lines: timing.logLinesPerTask, chars: timing.logCharsPerTask };
    await tx.addLogs(ref, attempt.number, said.lines, bounds);
  }
  if (said.op === 'renew')
    await tx.touchWorker(attempt.project, attempt.workerId, attempt.sessionId, timing.touchGapMs);
}

function noAttempt(id: string, project: string): Refusal {
  return refusal('NOT_FOUND', `There is no attempt ${id} in project ${project}.`, {
    kind: 'attempt',
    project,
  });
}

type Accepted = Extract<Verdict, { ok: true }>;

function accepted(attempt: AttemptState, op: Op, verdict: Accepted): Answer {
  return answerText(
    `{"accepted":true,"attemptId":${quoted(attempt.id)},"fence":${attempt.fence},"op":"${op}"` +
      `${member('leaseMs', verdict.leaseMs)}${member('cancelRequested', verdict.cancelRequested)}` +
      `${member('replayed', verdict.replayed)}}`,
  );
}
