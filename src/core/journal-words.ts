import type { TaskEvent } from '../contract/index.ts';
import { cut as cutTo, detailWords, withCode } from './detail-words.ts';
import { durationWords } from './duration-words.ts';

/**
 * What an entry of the journal says beside its kind, shortened: results and checkpoints are told elsewhere.
 * @param timeOf an instant as its reader sees it.
 */
export function dataWords(data: TaskEvent['data'], timeOf: (at: string) => string): string[] {
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
    if (name === 'begun' && value === false && 'code' in data) {
      words.push('the handler was not called');
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
      words.push(withCode(code ?? 'error', cut(message ?? '')));
    } else if (name === 'details' && typeof value === 'object')
      words.push(...detailWords(value as Record<string, unknown>, timeOf).map(cut));
    else if (typeof value !== 'object') words.push(`${spaced(name)} ${cut(String(value))}`);
    else words.push(`${spaced(name)} ${cut(JSON.stringify(value))}`);
  }
  return words;
}

/** `workerId` → `worker id`. */
function spaced(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Of a name or a sentence beside an entry. */
export function cut(text: string): string {
  return cutTo(text, 120);
}

const TOLD_BY_MESSAGE: ReadonlySet<string> = new Set(['begun', 'killed', 'details']);
/** Enough to tell versions of one handler apart. */
const CODE_CHARS = 12;
/** A sentence of evidence is told whole. */
const EVIDENCE_CHARS = 400;
