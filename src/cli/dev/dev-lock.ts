import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TaskError } from '../../contract/index.ts';
import type { ProcessInfo } from '../../ports/process-info.ts';

/** In the folder that `interlock dev` runs in. */
export const DEV_LOCK = join('.interlock', 'dev.json');

/** Says who runs `interlock dev` in a folder, so that a second one finds clear words instead of a locked spool. */
export interface DevLock {
  /** Where it can be reached, once that is known. */
  note(url: string): void;
  release(): void;
}

interface Holder {
  readonly pid: number;
  readonly startTime?: string | undefined;
  readonly url?: string | undefined;
}

/** Rejects with `ALREADY_RUNNING` while another live `dev` holds the folder; one that has died does not count. */
export async function takeDevLock(file: string, processes: ProcessInfo): Promise<DevLock> {
  const { pid, startTime } = processes.self;
  const self: Holder = { pid, startTime };
  for (let tries = 0; ; tries++) {
    if (make(file, self)) break;
    const holder = read(file);
    if (holder && (await lives(holder, processes))) throw alreadyRunning(holder);
    // Two that find the same dead holder: both remove, one makes it anew, the other finds it alive.
    if (tries > 5) throw alreadyRunning(holder ?? { pid: 0 });
    rmSync(file, { force: true });
  }
  return {
    note: (url) => writeFileSync(file, JSON.stringify({ ...self, url }), { mode: 0o600 }),
    release: () => {
      if (read(file)?.pid === pid) rmSync(file, { force: true });
    },
  };
}

/**
 * Who has an address that another program of ours wanted: `interlock dev` of this folder, if it is that.
 * @returns its process id.
 */
export async function devListens(
  file: string,
  port: number,
  processes: ProcessInfo,
): Promise<number | undefined> {
  const holder = read(file);
  if (holder?.url === undefined || portOf(holder.url) !== port) return undefined;
  return (await lives(holder, processes)) ? holder.pid : undefined;
}

function portOf(url: string): number | undefined {
  return URL.canParse(url) ? Number(new URL(url).port) : undefined;
}

function make(file: string, holder: Holder): boolean {
  try {
    writeFileSync(file, JSON.stringify(holder), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function read(file: string): Holder | undefined {
  try {
    const holder = JSON.parse(readFileSync(file, 'utf8')) as Holder;
    return typeof holder?.pid === 'number' ? holder : undefined;
  } catch {
    return undefined;
  }
}

async function lives(holder: Holder, processes: ProcessInfo): Promise<boolean> {
  if (holder.pid === processes.self.pid) return false;
  const seen = await processes.look(holder.pid);
  return seen.alive && (holder.startTime === undefined || seen.startTime === holder.startTime);
}

function alreadyRunning({ pid, url }: Holder): TaskError {
  const where = url ? ` at ${url}` : '';
  return new TaskError(
    'ALREADY_RUNNING',
    `interlock dev already runs in this folder (process ${pid})${where}.`,
    {
      hint: `Use it from here, for instance: interlock tasks list. To end it: Ctrl-C in its terminal${pid > 0 ? `, or kill ${pid} (interlock dev itself, not npm)` : ''}.`,
    },
  );
}
