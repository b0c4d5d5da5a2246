import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { ExitName } from './exit-codes.ts';
import type { KeyPlaces } from './keys.ts';
import type { Output } from './output.ts';
import type { Programs } from './programs.ts';
import type { Screen } from './screen.ts';
import type { SettingName } from './setting-table.ts';
import type { SettingSources, Settings } from './settings.ts';
import type { Style } from './style.ts';

/** One command: what `--help` says, what it takes, and what it does. One file each, listed in `commands.ts`. */
export interface CommandSpec<
  O extends Options,
  P extends readonly Positional[],
  S extends readonly SettingName[],
> {
  /** `tasks submit`. */
  readonly path: string;
  readonly summary: string;
  /** More than the summary, where it helps; shown in `--help`. */
  readonly description?: string;
  readonly positionals?: P;
  readonly options?: O;
  readonly settings?: S;
  /** It takes the flags of its settings, and looks at all places itself: something may be wrong with them. */
  readonly looksItself?: true;
  /** It takes words of any form after `--`: a command line to start. */
  readonly rest?: { readonly name: string; readonly help: string };
  /** Command line (without `interlock`) and what it does. */
  readonly examples: readonly (readonly [string, string])[];
  /** Resolves with how it ended; throws `TaskError` for what failed. */
  run(call: Call<O, P, S>): Promise<ExitName>;
}

export interface OptionSpec {
  /** `text` takes a value, `list` may be repeated, `switch` takes none. */
  readonly form: 'text' | 'list' | 'switch';
  readonly argument?: string;
  readonly help: string;
  readonly alias?: string;
}
export type Options = Readonly<Record<string, OptionSpec>>;

export interface Positional {
  readonly name: string;
  readonly help: string;
  readonly optional?: true;
}

export type ArgsOf<O extends Options, P extends readonly Positional[]> = {
  readonly [K in keyof O]: O[K]['form'] extends 'switch'
    ? boolean
    : O[K]['form'] extends 'list'
      ? readonly string[]
      : string | undefined;
} & {
  readonly [I in P[number] as I['name']]: I extends { optional: true }
    ? string | undefined
    : string;
};

/** What a command gets: what was typed, its settings, and the world. */
export interface Call<
  O extends Options = Options,
  P extends readonly Positional[] = readonly Positional[],
  S extends readonly SettingName[] = readonly SettingName[],
> {
  readonly args: ArgsOf<O, P>;
  /** What stood after `--`. */
  readonly rest: readonly string[];
  readonly settings: Settings<S[number]>;
  readonly sources: SettingSources;
  /** Where keys may be; needs the settings `url` and `keyFile`. */
  readonly keyPlaces: KeyPlaces;
  /** Noted on the way, for the words of an error. */
  readonly notes: { keyFrom?: string };
  readonly json: boolean;
  readonly debug: boolean;
  readonly style: Style;
  readonly io: Io;
}

/** The world of a command, so that tests can give another one. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: AsyncIterable<Uint8Array | string>;
  readonly out: Output;
  readonly err: Output;
  /** Whether a person sees it. */
  readonly terminal: { readonly out: boolean; readonly err: boolean; readonly in?: boolean };
  /** Width of the terminal. */
  readonly columns: number | undefined;
  /** The terminal as a whole, where a person is on both sides of it. */
  readonly screen?: Screen | undefined;
  readonly programs: Programs;
  readonly clock: Clock;
  readonly random: Random;
}

/** A command of any shape, as the list holds them. */
export type Command = CommandSpec<Options, readonly Positional[], readonly SettingName[]>;

export function defineCommand<
  const O extends Options = Record<never, never>,
  const P extends readonly Positional[] = readonly [],
  const S extends readonly SettingName[] = readonly [],
>(spec: CommandSpec<O, P, S>): Command {
  return spec as unknown as Command;
}
