import { Caller, type CallerOptions, type Seen, Transcript } from './caller.ts';
import type { KitKeys } from './world.ts';

/** Why a run with these keys would prove nothing. */
export interface KeyTrouble {
  readonly code: 'UNAUTHENTICATED' | 'SCOPE_DENIED';
  /** Whose key, and what is wrong with it: the rest of a sentence. */
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
 * @returns the first trouble.
 */
export async function keyTrouble(
  options: Omit<CallerOptions, 'transcript'>,
  keys: KitKeys,
): Promise<KeyTrouble | undefined> {
  const caller = new Caller({ ...options, transcript: new Transcript() });
  const projects = new Map<string, unknown>();
  for (const [whose, key] of Object.entries(keys) as [keyof KitKeys, string | undefined][]) {
    if (key === undefined) continue;
    const seen = await caller.call({ method: 'GET', path: '/doctor', key });
    const trouble = ofOne(whose, seen);
    if (trouble) return trouble;
    if (seen.status === 200) projects.set(whose, seen.json?.project);
  }
  const mine = projects.get('worker');
  for (const [whose, project] of projects) {
    const same = project === mine;
    if (mine === undefined || project === undefined || same !== OTHERS.has(whose)) continue;
    return {
      code: 'SCOPE_DENIED',
      says: `${words(whose)} is of project ${String(project)}, ${same ? 'as the others are: it has to be of another one' : `and the worker's of ${String(mine)}: they have to be of one`}.`,
    };
  }
  return undefined;
}

function ofOne(whose: keyof KitKeys, { status, json }: Seen): KeyTrouble | undefined {
  if (status === 401) return { code: 'UNAUTHENTICATED', says: `${words(whose)} is refused.` };
  const kind = json?.keyKind;
  if (status !== 200 || typeof kind !== 'string' || kind === KINDS[whose]) return undefined;
  return {
    code: 'SCOPE_DENIED',
    says: `${words(whose)} is of kind ${kind}; ${KINDS[whose]} is needed.`,
  };
}

/** `The key of --other-worker-key-file`. */
function words(whose: string): string {
  const option = whose.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `The ${option.replace('-', ' ')} key (--${option}-key-file)`;
}
