import type { ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

/** A bench that a signal ends leaves neither processes nor folders. */

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** How long what was told to end may take. */
const PATIENCE_MS = 5_000;

const children = new Set<ChildProcess>();
let ending = false;

/** It is ended with the bench. */
export function mine<Child extends ChildProcess>(child: Child): Child {
  children.add(child);
  child.once('exit', () => children.delete(child));
  if (ending) child.kill('SIGKILL');
  return child;
}

/** Whether a signal ends the bench: what ends now was told to. */
export const endsBySignal = (): boolean => ending;

/** From now on all temporary folders of this process and its scripts lie in one, which goes with the process. */
export function cleanAtEnd(): void {
  const folder = mkdtempSync(join(tmpdir(), 'interlock-bench-run-'));
  // PostgreSQL runs as another user where this one is root.
  chmodSync(folder, 0o711);
  process.env.TMPDIR = folder;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  for (const signal of SIGNALS) process.on(signal, () => void end(signal));
}

async function end(signal: (typeof SIGNALS)[number]): Promise<void> {
  if (ending) return;
  ending = true;
  console.error(`bench: ${signal}: its processes are ended and its folders removed.`);
  const gone = Array.from(children, (child) => new Promise((done) => child.once('exit', done)));
  for (const child of children) child.kill('SIGTERM');
  const late = setTimeout(() => {
    for (const child of children) child.kill('SIGKILL');
  }, PATIENCE_MS);
  await Promise.all(gone);
  clearTimeout(late);
  process.exit(128 + constants.signals[signal]);
}
