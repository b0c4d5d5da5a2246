/** What FCP saw, as lines for a person: one for each request and note, without keys and tokens. */
import type { AnswerBody } from './answers.ts';
import { BASE_PATH } from './base-path.ts';
import type { LoggedRequest, Report } from './journal.ts';
import { without } from './played.ts';

export interface Note {
  t: number;
  text: string;
  /** It tells what the script did. */
  played?: boolean;
}

interface Entry {
  t: number;
  lines: string[];
  /** Entries of the same one are alike. */
  shape: string;
}

/** Of entries that are alike these are shown, and the last one. */
const SHOWN_ALIKE = 3;
const PATH_CHARS = 120;
/** Lines of a whole timeline; beyond, its middle is left out. */
const WHOLE_LINES = 2_000;
/** Requests to which the same was played, named by number. */
const NUMBERS_TOLD = 4;

/** Everything, in order. */
export function wholeTimeline(requests: readonly LoggedRequest[], notes: readonly Note[]) {
  const all = entriesOf(requests, notes);
  return clipped(all.flatMap((entry) => told(entry, all[0]?.t ?? 0)));
}

/** The same with what is alike folded: the first ones and the last are shown. At most so many lines. */
export function foldedTimeline(
  requests: readonly LoggedRequest[],
  notes: readonly Note[],
  most: number,
): string[] {
  const all = entriesOf(requests, notes);
  const from = all[0]?.t ?? 0;
  const last = new Map(all.map(({ shape }, at) => [shape, at]));
  const seen = new Map<string, number>();
  const lines: string[] = [];
  let hidden: Entry[] = [];
  const unfold = () => {
    const [only] = hidden;
    if (only && hidden.length === 1) lines.push(...told(only, from));
    else if (only) lines.push(foldedLine(hidden));
    hidden = [];
  };
  for (const [at, entry] of all.entries()) {
    const times = (seen.get(entry.shape) ?? 0) + 1;
    seen.set(entry.shape, times);
    if (times > SHOWN_ALIKE && last.get(entry.shape) !== at) {
      hidden.push(entry);
      continue;
    }
    unfold();
    lines.push(...told(entry, from));
  }
  unfold();
  return clipped(lines, most);
}

/** What the script did, each once: `#12 complete 4fs2ea: the answer was changed: body.fence 1 → 77`. */
export function playedLines(
  requests: readonly LoggedRequest[],
  notes: readonly Note[],
): { t: number; text: string }[] {
  const alike = new Map<string, { t: number; numbers: number[] }>();
  for (const request of requests) {
    for (const words of playedIn(request)) {
      const known = alike.get(words) ?? { t: request.t, numbers: [] };
      if (known.numbers.at(-1) !== request.n) known.numbers.push(request.n);
      alike.set(words, known);
    }
  }
  const done = [...alike].map(([words, { t, numbers }]) => {
    const first = numbers.slice(0, NUMBERS_TOLD).map((n) => `#${n}`);
    const more = numbers.length - first.length;
    const which = `${first.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
    return { t, text: `${which} ${words}` };
  });
  const said = notes.filter(({ played }) => played);
  return [...done, ...said].sort((a, b) => a.t - b.t);
}

/** `complete 4fs2ea: …`, for the whole request and for each report that a rule answered. */
function playedIn(request: LoggedRequest): string[] {
  const { played, reports, method, path } = request;
  const carried = reports.map(({ op, attemptId }) => `${op} ${attemptId.slice(-6)}`);
  const what = carried.join(', ') || `${method} ${shortPath(path)}`;
  const own = reports.flatMap((report, at) =>
    report.played === undefined ? [] : [`${carried[at]}: ${report.played}`],
  );
  return played === undefined ? own : [`${what}: ${played}`, ...own];
}

function entriesOf(requests: readonly LoggedRequest[], notes: readonly Note[]): Entry[] {
  const all: Entry[] = requests.map((request) => ({
    t: request.t,
    lines: requestLines(request),
    shape: shapeOf(request),
  }));
  for (const { t, text, played } of notes) {
    const line = played ? `${MARK} ${text}` : text;
    all.push({ t, lines: [line], shape: line });
  }
  return all.sort((a, b) => a.t - b.t);
}

const MARK = 'the kit:';

function told({ t, lines }: Entry, from: number): string[] {
  const at = `+${((t - from) / 1000).toFixed(3)} `;
  return lines.map((line, i) => (i === 0 ? at : ' '.repeat(at.length)) + line);
}

function foldedLine(hidden: readonly Entry[]): string {
  const counts = new Map<string, number>();
  for (const { shape } of hidden) counts.set(shape, (counts.get(shape) ?? 0) + 1);
  const kinds = [...counts].map(([shape, count]) => (counts.size > 1 ? `${count} ` : '') + shape);
  return `… ${hidden.length} more: ${kinds.join(', ')}`;
}

function clipped(lines: string[], most = WHOLE_LINES): string[] {
  if (lines.length <= most) return lines;
  const head = Math.floor(most / 2);
  const left = lines.length - most;
  return [...lines.slice(0, head), `… ${left} lines left out`, ...lines.slice(lines.length - head)];
}

function requestLines(request: LoggedRequest): string[] {
  const { answered, n, socketId, method } = request;
  const what = request.reports.length
    ? request.reports.map(reportWords).join(', ')
    : (request.body?.requestId ?? request.body?.state ?? '');
  const late = answered ? ` after ${Math.round(answered.t - request.t)} ms` : '';
  const path = without(request.path).slice(0, PATH_CHARS);
  const line = `#${n} socket ${socketId} ${method} ${path} ${what} ${endOf(request)}${late}${givenIn(request)}`;
  const mine = [request.played, ...request.reports.map(({ played }) => played)];
  return [line, ...mine.flatMap((words) => (words === undefined ? [] : [`${MARK} ${words}`]))];
}

function shapeOf(request: LoggedRequest): string {
  const { method, path, reports, played } = request;
  const what = reports.map((one) => [reportWords(one), one.played].filter(Boolean).join(': '));
  const words = [`${method} ${shortPath(path)}`, ...what, endOf(request), givenIn(request)];
  return `${words.filter(Boolean).join(' ')}${played ? ` (${MARK} ${played})` : ''}`;
}

/** Below the base path, without the query: `/claims`. */
function shortPath(path: string): string {
  const [address = ''] = path.split('?');
  const at = address.indexOf(BASE_PATH);
  const short = at === 0 ? address.slice(BASE_PATH.length) || '/' : address;
  return without(short).slice(0, PATH_CHARS);
}

function endOf({ answered, cut }: LoggedRequest): string {
  return `→ ${answered ? answered.status : 'no answer'}${cut ? ` (cut: ${CUTS[cut]})` : ''}`;
}

const CUTS: Record<NonNullable<LoggedRequest['cut']>, string> = {
  before: 'before it was carried out',
  after: 'after it was carried out',
  midway: 'in the middle of the answer',
  raw: 'after bytes that are no answer',
  restart: 'the control plane went away',
  client: 'the worker hung up',
};

/** The attempts that the answer to a claim brought. */
function givenIn({ route, answered }: LoggedRequest): string {
  const given = (answered?.body as AnswerBody | undefined)?.attempts;
  if (route !== 'claim' || !Array.isArray(given) || given.length === 0) return '';
  const names = given.map((one: unknown) => {
    const { attemptId, type, schemaVersion, fence } = (one ?? {}) as Record<string, unknown>;
    if (typeof attemptId !== 'string') return 'junk';
    return `${attemptId.slice(-6)} (${type}@${schemaVersion}, fence ${fence})`;
  });
  return `, gave ${names.join(', ')}`;
}

function reportWords(report: Report): string {
  const name = `${report.op} ${report.attemptId.slice(-6)}`;
  if (!report.answer) return name;
  const { status, body } = report.answer;
  return `${name} [${status}${body.code ? ` ${body.code}` : ''}${body.replayed ? ' replayed' : ''}]`;
}
