import { detailWords as wordsOf } from '../../core/detail-words.ts';
import { localTime } from './time-words.ts';

export { cut, cutAtSentence } from '../../core/detail-words.ts';

/** The details of an error or a loss, one clause each, with local times. */
export function detailWords(details: Readonly<Record<string, unknown>>): string[] {
  return wordsOf(details, timeOf);
}

export function timeOf(at: string): string {
  const ms = Date.parse(at);
  return Number.isFinite(ms) ? localTime(ms) : at;
}
