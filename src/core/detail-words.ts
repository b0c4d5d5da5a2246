import { type LastProgress, progressInWords } from './lost-evidence.ts';

/**
 * The details of an error or a loss, one clause each: `exitCode 7`, `last progress 40 %, "page 4" at 2026-11-29 18:31:02`.
 * @param timeOf an instant as its reader sees it.
 */
export function detailWords(
  details: Readonly<Record<string, unknown>>,
  timeOf: (at: string) => string,
): string[] {
  return Object.entries(details)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => wordsOf(name, value, timeOf) ?? `${name} ${plainly(value)}`);
}

function wordsOf(name: string, value: unknown, timeOf: (at: string) => string): string | undefined {
  if (name === 'begunAt' || name === 'claimedAt')
    return typeof value === 'string' ? `${name.slice(0, -2)} at ${timeOf(value)}` : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  if (name === 'stack' && Array.isArray(value)) {
    const [at, ...callers] = value.map(String);
    if (at === undefined) return undefined;
    return `thrown at ${at}${callers.length > 0 ? `, called from ${callers.join(', ')}` : ''}`;
  }
  const facts = value as Readonly<Record<string, unknown>>;
  if (name === 'lastProgress' && typeof facts.at === 'string') {
    const { percent, message } = facts;
    const said: LastProgress = {
      at: facts.at,
      ...(typeof percent === 'number' ? { percent } : {}),
      ...(typeof message === 'string' ? { message } : {}),
    };
    return `last progress ${progressInWords(said)} at ${timeOf(facts.at)}`;
  }
  if (name === 'workerProcess' && typeof facts.went === 'string') {
    const where =
      facts.pid === undefined ? '' : ` ${String(facts.pid)} on ${String(facts.hostName)}`;
    return `worker process${where}: ${WENT[facts.went] ?? facts.went}`;
  }
  return undefined;
}

const WENT: Readonly<Record<string, string>> = {
  died: 'killed or crashed',
  'machine-restarted': 'the machine was restarted',
  'in-order': 'left in order',
  unknown: 'it is not known how it ended',
};

/** A text of at most so many characters, its last one `…` where it was longer. No half character is left. */
export function cut(text: string, chars: number): string {
  return text.length > chars
    ? `${text.slice(0, chars - 1).replace(/[\ud800-\udbff]$/, '')}…`
    : text;
}

function plainly(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
