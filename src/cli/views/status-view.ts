import { typeKey } from '../../contract/index.ts';
import { pauseInWords } from '../../core/type-pauses.ts';
import { unservedWords } from '../../core/worker-words.ts';
import { durationWords } from '../duration.ts';
import { sizeWords } from '../size-words.ts';
import type { StatusAnswer } from '../status/ask.ts';
import { plain, type Style } from '../style.ts';

/** A worker at one look: what it is, whether it takes tasks and why not, what runs, what it owes. */
export function statusLines(status: StatusAnswer, style: Style): string[] {
  const { pid, ready, state, uptimeMs, versions, workerId } = status;
  // `ready` and `full` tell of its slots: whether it can work at all is another matter.
  const able = ready || (state !== 'ready' && state !== 'full');
  const words = able ? style.state(state, plain(state)) : style.bad('not ready');
  const up = uptimeMs === undefined ? '' : `, up ${durationWords(uptimeMs)}`;
  const version = versions?.interlock === undefined ? '' : `, version ${versions.interlock}`;
  const rows: (readonly [string, string | undefined])[] = [
    ['Ready', readyWords(status, style)],
    ['Loops', status.stalled && style.bad(plain(status.stalled))],
    ['Slots', slotWords(status)],
    ['Heard', heardWords(status)],
    ['Spool', spoolWords(status, style)],
    ['Drain', drainWords(status)],
    ['Serves', servesWords(status)],
  ];
  return [
    `${style.strong(plain(workerId))} is ${words} (process ${pid}${up}${plain(version)})`,
    ...rows.flatMap(([name, words]) =>
      words === undefined ? [] : [`  ${style.faint(name.padEnd(7))} ${words}`],
    ),
    ...(status.pausedTypes ?? []).map((paused) =>
      style.warn(plain(`  ${typeKey(paused.type, paused.schemaVersion)} ${pauseInWords(paused)}`)),
    ),
    ...(status.keptHandlers ?? []).map(({ schemaVersion, since, type, why }) =>
      style.warn(
        plain(
          `  ${typeKey(type, schemaVersion)} is served with its code of before: its file has not loaded since ${since}: ${why}`,
        ),
      ),
    ),
    ...(status.unservedHandlers ?? []).map((one) => style.warn(plain(`  ${unservedWords(one)}`))),
    ...(status.attempts ?? []).map((attempt) => `  ${attemptWords(attempt, style)}`),
  ];
}

function readyWords({ notReady, ready }: StatusAnswer, style: Style): string {
  return ready ? style.good('yes') : style.bad(plain(notReady ?? 'no'));
}

function slotWords({ slots }: StatusAnswer): string | undefined {
  if (slots === undefined) return undefined;
  const waiting = slots.waiting === 0 ? '' : `, ${slots.waiting} waiting`;
  return `${slots.busy} of ${slots.max} taken${waiting}`;
}

function heardWords(status: StatusAnswer): string | undefined {
  const { hintsWork, lastClaimOkMs, lastRenewalOkMs } = status;
  if (hintsWork === undefined) return undefined;
  const heard = (what: string, ms: number | undefined) =>
    ms === undefined ? [] : [`${what} ${durationWords(ms)} ago`];
  const all = [...heard('claim', lastClaimOkMs), ...heard('renewal', lastRenewalOkMs)];
  const hints = hintsWork ? 'hints come' : 'no hints';
  return [...(all.length === 0 ? ['nothing yet'] : all), hints].join(', ');
}

function spoolWords({ spool, unanswered }: StatusAnswer, style: Style): string | undefined {
  if (spool === undefined) return undefined;
  const broken = spool.ok ? '' : style.bad(' cannot be written;');
  const direct = Math.max(0, (unanswered ?? 0) - spool.records);
  const beside = direct === 0 ? '' : `, ${direct} more in memory`;
  if (spool.records === 0) return `${broken} nothing owed${beside}`.trim();
  const oldest = spool.oldestMs === null ? '' : `, the oldest ${durationWords(spool.oldestMs)} old`;
  const reports = spool.records === 1 ? 'report' : 'reports';
  return `${broken} ${spool.records} ${reports} not answered (${sizeWords(spool.bytes)}${oldest})${beside}`.trim();
}

function drainWords({ drain, state }: StatusAnswer): string | undefined {
  if (drain === undefined || state === 'stopped') return undefined;
  const { atMostMs, likelyMs } = drain;
  const most = `at most ${durationWords(atMostMs)}`;
  const likely =
    likelyMs === undefined
      ? `in ${most}`
      : likelyMs === 0
        ? 'at once'
        : `in about ${durationWords(likelyMs)}, ${most}`;
  return state === 'draining' ? `over ${likely}` : `would be over ${likely}`;
}

function servesWords({ handlers }: StatusAnswer): string | undefined {
  if (handlers === undefined) return undefined;
  if (handlers.length === 0) return 'no handler';
  const all = handlers.map(
    ({ type, schemaVersion, effectSafety, host }) =>
      `${typeKey(type, schemaVersion)} (${effectSafety}${host === undefined ? '' : `, ${host} host`})`,
  );
  return plain(all.join(', '));
}

function attemptWords(
  attempt: NonNullable<StatusAnswer['attempts']>[number],
  style: Style,
): string {
  const { heldUp, leaseLeftMs, phase, runningMs, schemaVersion, stuck, taskId, type } = attempt;
  const time = runningMs === undefined ? '' : ` for ${durationWords(runningMs)}`;
  const lease =
    leaseLeftMs > 0
      ? `lease ${durationWords(leaseLeftMs)}`
      : style.warn(`lease out for ${durationWords(-leaseLeftMs)}`);
  const waits = heldUp ? style.warn(', held up in its shared process') : '';
  const doesNotGo = stuck ? style.bad(', does not go') : '';
  return `${plain(`${phase}${time}  ${typeKey(type, schemaVersion)}  ${taskId}`)}  ${lease}${waits}${doesNotGo}`;
}
