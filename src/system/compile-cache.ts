import * as nodeModule from 'node:module';
import { join } from 'node:path';
import { makeFolder } from './make-folder.ts';
import { homeFolder, stateFolder } from './state-folder.ts';

/**
 * Where compiled code is kept from one start to the next: below this user's own state folder, never in a shared one. Made
 * here: Node.js would try for ever where no folder can be made. `undefined` where there can be none.
 */
export function compileCacheFolder(
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const state = stateFolder({ platform: process.platform, env, home: homeFolder(env) });
  if (state === undefined) return undefined;
  const folder = join(state, 'compile-cache');
  try {
    makeFolder(folder);
    return folder;
  } catch {
    return undefined;
  }
}

/** For what is imported after this call. A folder that cannot be used costs only the time it would have saved. */
export function keepCompiledCode(env: Readonly<Record<string, string | undefined>>): void {
  const folder = compileCacheFolder(env);
  if (folder !== undefined && env.NODE_COMPILE_CACHE === undefined)
    nodeModule.enableCompileCache?.(folder);
}

/**
 * What this thread has compiled until now is written down. By itself Node.js does so at its end, which a killed process does
 * not live to see.
 */
export function keepCompiledCodeNow(): void {
  nodeModule.flushCompileCache?.();
}
