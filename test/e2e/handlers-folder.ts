import {
  mkdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type Proc, until } from './processes.ts';

/** Reads its handlers again; resolves when it says that it has, or why it has not. */
export async function reload(worker: Proc): Promise<Record<string, unknown>> {
  const told = () => [...worker.events('reload.done'), ...worker.events('reload.kept')].length;
  const before = told();
  worker.kill('SIGHUP');
  await until(() => told() > before, 'end of the reload');
  const lines = worker.err.split('\n').filter((line) => /"event":"reload\.(done|kept)"/.test(line));
  return JSON.parse(lines.at(-1) ?? '') as Record<string, unknown>;
}

/** Handlers in a folder that is made new as Kubernetes does it: a link is swapped, then what was there is removed. */
export class Volume {
  readonly folder: string;
  #count = 0;

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder);
  }

  swap(files: Readonly<Record<string, string>>): void {
    const data = join(this.folder, '..data');
    const name = `..version_${++this.#count}`;
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.folder, name, path)), { recursive: true });
      writeFileSync(join(this.folder, name, path), text);
      const link = join(this.folder, path);
      rmSync(link, { force: true });
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join('../'.repeat(path.split('/').length - 1), '..data', path), link);
    }
    let old: string | undefined;
    try {
      old = readlinkSync(data);
    } catch {
      // The first one.
    }
    symlinkSync(name, join(this.folder, '..data_tmp'));
    renameSync(join(this.folder, '..data_tmp'), data);
    if (old !== undefined) rmSync(join(this.folder, old), { recursive: true });
  }

  /** An ordinary file beside the links. */
  write(path: string, text: string): void {
    writeFileSync(join(this.folder, path), text);
  }

  remove(path: string): void {
    unlinkSync(join(this.folder, path));
  }
}

/** Says which version it is and in which process; waits for a file where it is told one. */
export function versioned(version: number): string {
  return `
    import { existsSync, appendFileSync } from 'node:fs';
    import { setTimeout as pause } from 'node:timers/promises';
    import { version } from './lib.mjs';
    export const effectSafety = 'pure';
    export default async ({ began, until } = {}) => {
      if (began) appendFileSync(began, 'begun\\n');
      while (until && !existsSync(until)) await pause(10);
      return { version, own: ${version}, pid: process.pid };
    };`;
}

export const lib = (version: number) => `export const version = ${version};`;
