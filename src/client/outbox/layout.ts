import { join } from 'node:path';
import { isTemporary } from '../../spool/layout.ts';
import type { Place } from '../../spool/private.ts';

/** Where things lie in an outbox. The format is described in `spool/README.md`. */
export interface OutboxLayout {
  readonly folder: string;
  readonly owner: string;
  readonly intents: string;
  readonly refused: string;
  readonly corrupt: string;
  /** How the last try went, for people; not durable. */
  readonly lastTry: string;
}

export function outboxLayout(folder: string): OutboxLayout {
  return {
    folder,
    owner: join(folder, 'owner.json'),
    intents: join(folder, 'intents'),
    refused: join(folder, 'refused'),
    corrupt: join(folder, 'corrupt'),
    lastTry: join(folder, 'last-try.json'),
  };
}

export function placeOf({
  folder,
  owner,
  intents,
  refused,
  corrupt,
  lastTry,
}: OutboxLayout): Place {
  const isOurs = (name: string) => OURS.has(name) || isTemporary(name);
  const folders = [intents, refused, corrupt];
  return { word: 'outbox', folder, owner, files: [lastTry], folders, isOurs };
}

const OURS = new Set([
  ...['owner.json', 'owner.lock', 'owner.door', 'last-try.json'],
  ...['intents', 'refused', 'corrupt'],
]);

/**
 * `1796000000123-9f86d081884c7d65.jsonl`: milliseconds since 1970, counted on where two fall together or the clock went
 * back, so names sort by age; and a tag of the process, so that many may write at once.
 */
export function intentFile(ms: number, tag: string): string {
  return `${String(ms).padStart(13, '0')}-${tag}.jsonl`;
}

/** The parts of such a name; `undefined` for other names. */
export function intentFileParts(name: string): { ms: number; tag: string } | undefined {
  const [, ms, tag] = FILE.exec(name) ?? [];
  return ms === undefined || tag === undefined ? undefined : { ms: Number(ms), tag };
}

const FILE = /^(\d{13,15})-([0-9a-f]{16})\.jsonl$/;
