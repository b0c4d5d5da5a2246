/** What a kit checks: one case each, told apart by its name. */
export interface Case<World> {
  /** `group/name`, unique within its kit: `fencing/wrong-fence`. */
  readonly name: string;
  /** What the peer has to do, as the rest of a sentence: `refuses a report with another fence`. */
  readonly title: string;
  /** Numbers of the promises in `docs/contract.md` that it checks; at least one. */
  readonly promises: readonly string[];
  /** What it takes beyond the least that a person gives; where it is missing the case is skipped. */
  readonly needs?: readonly string[];
  /** Longest it may take, milliseconds [60000]. */
  readonly timeoutMs?: number;
  /** Throws `Broken` where the peer does not keep a promise, `NotApplicable` where it need not. */
  run(world: World): Promise<void>;
}

/** The peer did not keep a promise: what was expected, and what came. */
export class Broken extends Error {
  override readonly name = 'Broken';
}

/** The case does not apply to this peer: an optional feature that it does not offer. */
export class NotApplicable extends Error {
  override readonly name = 'NotApplicable';
}

/** `stopped`: the run was ended in the middle of it, and it says nothing of the peer. */
export type Outcome = 'passed' | 'failed' | 'skipped' | 'stopped';

/** How one case went. */
export interface Verdict {
  readonly name: string;
  readonly title: string;
  readonly promises: readonly string[];
  readonly outcome: Outcome;
  readonly ms: number;
  /** Why it failed, or why it was not judged. */
  readonly says?: string;
  /** Of a failed one: what went over the wire, or what the worker said; without keys and tokens. */
  readonly evidence?: readonly string[];
  /** The same whole, as far as it has a bound: for `--json`, not for people. */
  readonly timeline?: readonly string[];
}
