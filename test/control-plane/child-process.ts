import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';

/** Bundles a file of this folder as the product is bundled, so that a real process can run it. */
export async function bundled(file: string, folder: string): Promise<string> {
  const outfile = join(folder, 'child.mjs');
  await build({
    entryPoints: [join(import.meta.dirname, file)],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    loader: { '.sql': 'text', '.md': 'text', '.client.js': 'text' },
    banner: {
      js: "import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);",
    },
    logLevel: 'error',
  });
  return outfile;
}

export interface Child {
  readonly process: ChildProcess;
  /** The next line that it prints, as JSON. */
  next<T>(): Promise<T>;
  /** Resolves with its exit code or signal. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

export function start(script: string, args: readonly string[]): Child {
  const child = spawn(process.execPath, ['--no-warnings', script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    process: child,
    async next<T>() {
      const { value, done } = await lines.next();
      if (done) throw new Error('The process ended without a word.');
      return JSON.parse(value) as T;
    },
    ended: once(child, 'exit').then(([code, signal]) => signal ?? code),
  };
}
