import { Caller, type CallerOptions, type Seen, Transcript } from './caller.ts';
import type { KitKeys } from './world.ts';

/** In words: `INTERLOCK_WORKER_KEY`, `profile …`. */
export type KeyOrigins = { readonly [Whose in keyof KitKeys]?: string | undefined };

/** Why a run with these keys would prove nothing. */
export interface KeyTrouble {
  readonly code: 'UNAUTHENTICATED' | 'SCOPE_DENIED';
  readonly whose: keyof KitKeys;
  /** Whose key, and what is wrong with it. */
  readonly says: string;
}

const KINDS: Readonly<Record<keyof KitKeys, string>> = {
  worker: 'task-worker',
  producer: 'task-producer',
  operator: 'task-operator',
  admin: 'admin',
  otherWorker: 'task-worker',
  otherProducer: 'task-producer',
};
const OTHERS: ReadonlySet<string> = new Set(['otherWorker', 'otherProducer']);

/**
 * Asks doctor with each key: one that is refused, or of another kind or project than meant, would make every case fail
 * that uses it. A peer whose doctor is no doctor is let through: its cases tell.
 *
 * @param from where those came from that no flag gave.
 * @returns the first trouble.
 */
export async function keyTrouble(
  options: Omit<CallerOptions, 'transcript'>,
  keys: KitKeys,
  from: KeyOrigins = {},
): Promise<KeyTrouble | undefined> {
  const caller = new Caller({ ...options, transcript: new Transcript() });
  const projects = new Map<keyof KitKeys, unknown>();
  for (const [whose, key] of Object.entries(keys) as [keyof KitKeys, string | undefined][]) {
    if (key === undefined) continue;
    const seen = await caller.call({ method: 'GET', path: '/doctor', key });
    const trouble = ofOne(whose, seen, words(whose, from[whose]));
    if (trouble) return trouble;
    if (seen.status === 200) projects.set(whose, seen.json?.project);
  }
  const mine = projects.get('worker');
  for (const [whose, project] of projects) {
    const same = project === mine;
    if (mine === undefined || project === undefined || same !== OTHERS.has(whose)) continue;
    const key = words(whose, from[whose]);
    return {
      code: 'SCOPE_DENIED',
      whose,
      says: `${key} is of project ${String(project)}, ${same ? 'as the others are: it has to be of another one' : `and the worker's of ${String(mine)}: they have to be of one`}.`,
    };
  }
  return undefined;
}

function ofOne(whose: keyof KitKeys, { status, json }: Seen, key: string): KeyTrouble | undefined {
  if (status === 401) return { code: 'UNAUTHENTICATED', whose, says: `${key} is refused.` };
  const kind = json?.keyKind;
  if (status !== 200 || typeof kind !== 'string' || kind === KINDS[whose]) return undefined;
  return {
    code: 'SCOPE_DENIED',
    whose,
    says: `${key} is of kind ${kind}; ${KINDS[whose]} is needed.`,
  };
}

/** `The other worker key (--other-worker-key-file)`, `The operator key (from profile …)`. */
function words(whose: keyof KitKeys, from?: string): string {
  const option = keyOption(whose);
  return `The ${option.slice(2, -'-key-file'.length).replace('-', ' ')} key (${from === undefined ? option : `from ${from}`})`;
}

/** `--other-worker-key-file`. */
function keyOption(whose: keyof KitKeys): string {
  return `--${whose.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}-key-file`;
}

/** What to do about it; of a key that no flag gave also how to do without it. */
export function keyAdvice(whose: keyof KitKeys, from: string | undefined): string {
  const kind = KINDS[whose];
  if (from === undefined)
    return 'Give a key of that kind and project; make one with interlock keys new.';
  const place = from.startsWith('profile ')
    ? 'name another profile with --profile'
    : `unset ${from}`;
  const other = `Give one of this control plane with ${keyOption(whose)}; make it with interlock keys new "conformance" --kind ${kind}.`;
  return whose === 'operator' || whose === 'admin'
    ? `${other} To leave it out, ${place}${from.startsWith('profile ') ? ' or take this key out of it' : ''}: cases that need it are skipped then.`
    : other;
}
