/**
 * What a worker serves after it has looked at its handlers folder again, purely. A file that cannot be loaded never takes
 * the place of code that could: that goes on being served, from what was kept of it.
 */
import { relative, sep } from 'node:path';
import { typeKey } from '../contract/type-key.ts';
import type { DiscoveredHandler, Discovery, HandlerProblem } from './discovery.ts';

export interface NextHandlers {
  readonly handlers: readonly DiscoveredHandler[];
  /** `demo/hello@1`. */
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Served as before, though what lies there now cannot be. */
  readonly kept: readonly KeptBack[];
  /** As they were. */
  readonly same: number;
}

export interface KeptBack {
  readonly handler: DiscoveredHandler;
  readonly problem: HandlerProblem;
}

/** @param folder the handlers folder that was looked at. */
export function nextHandlers(
  now: readonly DiscoveredHandler[],
  found: Discovery,
  folder: string,
): NextHandlers {
  const fresh = new Map(found.handlers.map((one) => [keyOf(one), one]));
  const handlers: DiscoveredHandler[] = [];
  const changed: string[] = [];
  const removed: string[] = [];
  const kept: KeptBack[] = [];
  let same = 0;
  for (const old of now) {
    const key = keyOf(old);
    const next = fresh.get(key);
    if (next !== undefined) {
      if (isSame(old, next)) same++;
      else changed.push(key);
      handlers.push(isSame(old, next) ? old : next);
      continue;
    }
    const problem = found.problems.find((one) => keepsBack(one, key, old.file, folder));
    if (problem === undefined) removed.push(key);
    else {
      kept.push({ handler: old, problem });
      handlers.push(old);
    }
  }
  const known = new Set(now.map(keyOf));
  const more = found.handlers.filter((one) => !known.has(keyOf(one)));
  return {
    // In the order of the folder, as at a start.
    handlers: [...handlers, ...more].sort((a, b) => (a.file < b.file ? -1 : 1)),
    added: more.map(keyOf),
    changed,
    removed,
    kept,
    same,
  };
}

/** What is wrong with its file, or with a folder that it lies in. */
function keepsBack(problem: HandlerProblem, key: string, file: string, folder: string): boolean {
  if (problem.severity !== 'error') return false;
  if (problem.type !== undefined) return problem.type === key;
  if (problem.code !== 'HANDLERS_UNREADABLE') return false;
  if (problem.file === folder) return true;
  const path = relative(folder, file).split(sep).join('/');
  return path === problem.file || path.startsWith(`${problem.file}/`);
}

/** A host of the one is as good as one of the other. Code that is not known counts as changed. */
function isSame(old: DiscoveredHandler, next: DiscoveredHandler): boolean {
  if (old.code === undefined || old.code.id !== next.code?.id) return false;
  return JSON.stringify(old) === JSON.stringify(next);
}

function keyOf({ type, schemaVersion }: DiscoveredHandler): string {
  return typeKey(type, schemaVersion);
}
