import * as nodeModule from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { stateFolder } from '../system/state-folder.ts';

/** Where compiled code is kept from one start to the next: below this user's own state folder, never in a shared one. */
export function compileCacheFolder(
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const state = stateFolder({ platform: process.platform, env, home: env.HOME ?? homedir() });
  return state && join(state, 'compile-cache');
}

/** For what is imported after this call. A folder that cannot be used costs only the time it would have saved. */
export function keepCompiledCode(): void {
  const folder = compileCacheFolder(process.env);
  if (folder !== undefined && process.env.NODE_COMPILE_CACHE === undefined)
    nodeModule.enableCompileCache?.(folder);
}
