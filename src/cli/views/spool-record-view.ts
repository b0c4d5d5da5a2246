import type { OpenedEntry, SpoolEntry } from '../../spool/index.ts';
import { escaped, withoutToken } from '../masked.ts';
import { plain, type Style } from '../style.ts';
import { factLines } from '../table.ts';
import { answerWords, entryJson, placeOf, statePaint, typeOf } from './spool-view.ts';
import { moment } from './time-words.ts';

/** A record of the spool, whole, for `spool show`. Its lease token is masked, whatever is asked for. */
export interface Shown {
  readonly entry: SpoolEntry;
  readonly opened: OpenedEntry;
}

/** What a report says beside who it is of. */
function partsOf({ report, running, answer }: OpenedEntry) {
  const token = report?.body.leaseToken ?? running?.leaseToken;
  const {
    taskId: _t,
    attemptId: _a,
    fence: _f,
    leaseToken: _l,
    op: _o,
    ...said
  } = (report?.body ?? {}) as unknown as Record<string, unknown>;
  return {
    said: withoutToken(said, token) as Record<string, unknown>,
    answer: withoutToken(answer, token),
    workedAt: report?.workedAt,
    ...(running && {
      held: { effectSafety: running.effectSafety, effectGate: running.effectGate },
    }),
  };
}

/** Lines for people. @param full values as they are, else their beginning. */
export function recordLines(
  { entry, opened }: Shown,
  style: Style,
  wallMs: number,
  full: boolean,
): string[] {
  const { state, at, taskId, attemptId, fence, op, bytes, followUp, begun } = entry;
  const { said, answer, workedAt, held } = partsOf(opened);
  const when = at === undefined ? '' : `${VERBS[state]} ${moment(at, wallMs)}`;
  const words = answerWords(entry.answer);
  const facts = factLines(
    [
      ['state', `${statePaint(style, state)(state)}${when && `, ${plain(when)}`}`],
      ['task', taskId && style.strong(plain(taskId))],
      ['attempt', attemptId && `${plain(attemptId)}, fence ${fence}`],
      ['type', plain(typeOf(entry)) || undefined],
      ['report', op && `${plain(op)}${followUp ? ', stands in for one that was refused' : ''}`],
      ['begun', begun === undefined ? undefined : begun ? 'yes' : 'no'],
      ['effects', held && `${held.effectSafety}, gate ${held.effectGate}`],
      ['worked', workedAt && workedWords(workedAt)],
      ['answer', words ? plain(words) : undefined],
      ['why', entry.why && plain(entry.why)],
      ['for', plain(placeOf(entry)) || undefined],
      ['worker', entry.workerId && plain(entry.workerId)],
      ['file', `${plain(entry.file)}${entry.line === undefined ? '' : `, line ${entry.line}`}`],
      ['bytes', bytes === 0 ? undefined : String(bytes)],
      ['lease token', taskId === undefined ? undefined : 'masked'],
    ],
    style,
  );
  const lines = [...facts];
  for (const [name, value] of Object.entries({ ...said, ...(answer !== undefined && { answer }) }))
    lines.push(...blockLines(name, plain(JSON.stringify(value, null, 2) ?? '', true), style, full));
  if (opened.content) lines.push(...blockLines('bytes', escaped(opened.content), style, full));
  return lines;
}

function blockLines(name: string, text: string, style: Style, full: boolean): string[] {
  const cut = !full && text.length > SHOWN_CHARS;
  const shown = cut ? text.slice(0, SHOWN_CHARS) : text;
  const more = cut ? [style.faint(`  … ${text.length - SHOWN_CHARS} more characters: --full`)] : [];
  return ['', style.faint(plain(name)), ...shown.split('\n').map((line) => `  ${line}`), ...more];
}

/** The same for programs: the entry, and `report`, `answer` or `content`; a long result is cut unless it is asked for. */
export function recordJson(
  { entry, opened }: Shown,
  wallMs: number,
  full: boolean,
): Record<string, unknown> {
  const { said, answer, workedAt, held } = partsOf(opened);
  const { result, ...rest } = said;
  const text = result === undefined ? undefined : JSON.stringify(result);
  const cut = text !== undefined && !full && text.length > SHOWN_CHARS;
  const content = opened.content && escaped(opened.content);
  return {
    ...entryJson(entry, wallMs),
    ...(opened.report && {
      report: {
        ...rest,
        ...(text !== undefined &&
          (cut
            ? { resultStart: text.slice(0, SHOWN_CHARS), resultChars: text.length }
            : { result })),
      },
      workedAt,
    }),
    ...held,
    ...(answer !== undefined && { fullAnswer: answer }),
    ...(content !== undefined && {
      content: full ? content : content.slice(0, SHOWN_CHARS),
      contentChars: content.length,
    }),
  };
}

function workedWords({
  startedAt,
  endedAt,
}: {
  startedAt?: string;
  endedAt?: string;
}): string | undefined {
  const parts = [startedAt && `started ${startedAt}`, endedAt && `ended ${endedAt}`].filter(
    Boolean,
  );
  return parts.length > 0 ? plain(parts.join(', ')) : undefined;
}

const VERBS: Readonly<Record<SpoolEntry['state'], string>> = {
  owed: 'spooled',
  running: 'claimed',
  stale: 'set aside',
  refused: 'set aside',
  corrupt: 'found',
  newer: 'seen',
  unreadable: 'seen',
};
/** Of a value, unless all of it is asked for: about a screen. */
const SHOWN_CHARS = 2_000;
