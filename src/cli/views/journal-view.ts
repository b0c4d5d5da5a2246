import type { LogList, TaskEvent } from '../../contract/index.ts';
import { durationWords } from '../duration.ts';
import { plain, type Style } from '../style.ts';
import { cut as cutTo, detailWords } from './detail-words.ts';

/** One journal entry as a line: `18:31:02.120   3  started         attempt 1 on garage`. */
export function eventLine(event: TaskEvent, style: Style): string {
  const { keyName, ...data } = event.data;
  // The id is for readers that compare; people know the key by its name.
  const by = typeof keyName === 'string' ? `"${cut(keyName)}" (${event.by})` : event.by;
  const facts = [...dataWords(data), `by ${by}`].map((word) => plain(word));
  const fence = event.fence === undefined ? '' : `#${event.fence} `;
  return `${style.faint(clockTime(event.at))} ${String(event.seq).padStart(3)}  ${paintKind(event.kind, style)}  ${fence}${style.faint(facts.join(', '))}`;
}

export function logLine(line: LogList['lines'][number], style: Style): string {
  const level = line.level.toUpperCase().padEnd(5);
  const paint =
    line.level === 'error' ? style.bad : line.level === 'warn' ? style.warn : style.faint;
  const attempt = `#${line.attempt}`;
  const at = clockTime(line.at);
  const text = plain(line.text.replace(/\r\n?/g, '\n').replace(/\n+$/, ''), true);
  // Indented: a line of a stack trace cannot pass for an entry of its own.
  const margin = ' '.repeat([at, attempt, level, ''].join(' ').length);
  return `${style.faint(at)} ${style.faint(attempt)} ${paint(plain(level))} ${text.replaceAll('\n', `\n${margin}`)}`;
}

/** `18:31:02.120`, local time. */
export function clockTime(at: string): string {
  const ms = Date.parse(at);
  if (!Number.isFinite(ms)) return plain(at);
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, '0');
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
  return `${time}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** What an entry says beside its kind, shortened: results and checkpoints are for `tasks show`. */
function dataWords(data: TaskEvent['data']): string[] {
  const words: string[] = [];
  // A loss that comes with a sentence: its details say the same once more.
  const evidence = 'details' in data && typeof data.message === 'string' && !('code' in data);
  for (const [name, value] of Object.entries(data)) {
    if (value === undefined || value === null) continue;
    if (evidence && TOLD_BY_MESSAGE.has(name)) continue;
    if (evidence && name === 'message') {
      words.push(cutTo(String(value).replace(/\.$/, ''), EVIDENCE_CHARS));
      continue;
    }
    if (name === 'codeHash' && typeof value === 'string') {
      words.push(`code ${value.slice(0, CODE_CHARS)}`);
      continue;
    }
    if (/\wMs$/.test(name) && typeof value === 'number') {
      words.push(`${spaced(name.slice(0, -2))} ${durationWords(value)}`);
      continue;
    }
    if (name === 'error' && typeof value === 'object') {
      const { code, message } = value as { code?: string; message?: string };
      words.push(`${code ?? 'error'}: ${cut(message ?? '')}`);
    } else if (name === 'details' && typeof value === 'object')
      words.push(...detailWords(value as Record<string, unknown>).map(cut));
    else if (typeof value !== 'object') words.push(`${spaced(name)} ${cut(String(value))}`);
    else words.push(`${spaced(name)} ${cut(JSON.stringify(value))}`);
  }
  return words;
}

function paintKind(kind: string, style: Style): string {
  const text = plain(kind).padEnd(16);
  if (kind === 'succeeded') return style.good(text);
  if (/^(failed|lost|unknown)$/.test(kind)) return style.bad(text);
  if (/^(cancelled|expired|released|cancel-requested|late-report)$/.test(kind))
    return style.warn(text);
  return text;
}

/** `workerId` → `worker id`. */
function spaced(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function cut(text: string): string {
  return cutTo(text, 120);
}

const TOLD_BY_MESSAGE: ReadonlySet<string> = new Set(['begun', 'killed', 'details']);
/** Enough to tell versions of one handler apart. */
const CODE_CHARS = 12;
/** A sentence of evidence is told whole. */
const EVIDENCE_CHARS = 400;
