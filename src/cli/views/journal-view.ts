import type { LogList, TaskEvent } from '../../contract/index.ts';
import { cut, dataWords } from '../../core/journal-words.ts';
import { plain, type Style } from '../style.ts';
import { timeOf } from './detail-words.ts';

/** One journal entry as a line: `18:31:02.120   3  started         attempt 1 on garage`. */
export function eventLine(event: TaskEvent, style: Style): string {
  const { keyName, ...data } = event.data;
  // The id is for readers that compare; people know the key by its name.
  const by = typeof keyName === 'string' ? `"${cut(keyName)}" (${event.by})` : event.by;
  const facts = [...dataWords(data, timeOf), `by ${by}`].map((word) => plain(word));
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

function paintKind(kind: string, style: Style): string {
  const text = plain(kind).padEnd(16);
  if (kind === 'succeeded') return style.good(text);
  if (/^(failed|lost|unknown)$/.test(kind)) return style.bad(text);
  if (/^(cancelled|expired|released|cancel-requested|late-report)$/.test(kind))
    return style.warn(text);
  return text;
}
