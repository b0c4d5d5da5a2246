import type * as z from 'zod';

/** One setting: where it may be said, how it is written, and what is taken when nobody says anything. */
export interface Setting<T, F = T> {
  readonly flag: string;
  readonly env: string;
  /** `text` takes a value, `list` may be repeated (commas in the environment), `switch` takes none. */
  readonly form: 'text' | 'list' | 'switch';
  readonly argument?: string;
  /** A file or folder. In a config file it may be relative to the file's own folder, elsewhere to the current one. */
  readonly path?: true;
  readonly help: string;
  /** What is taken when nobody says anything; `undefined`: nothing. */
  readonly fallback: (around: Surroundings) => F;
  readonly fallbackWords: string;
  readonly schema: z.ZodType<T>;
}

/** What fallbacks depend on. */
export interface Surroundings {
  readonly cwd: string;
  readonly hostName: string;
  readonly cores: number;
  /** `undefined` where this user has no home. */
  readonly stateFolder: string | undefined;
  /** The current folder is a checkout of this project. */
  readonly checkout: boolean;
}

export function setting<T>(value: Setting<T>): Setting<T> {
  return value;
}

/** One that may be nothing at all. */
export function optional<T>(value: Setting<T, T | undefined>): Setting<T, T | undefined> {
  return value;
}
