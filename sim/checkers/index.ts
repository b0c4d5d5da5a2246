import type { Finished } from '../simulation.ts';
import { answers } from './answers.ts';
import { begunOnce } from './begun-once.ts';
import { calm } from './calm.ts';
import { drainInTime } from './drain-in-time.ts';
import { effectOnce } from './effect-once.ts';
import { gateAlive } from './gate-alive.ts';
import { gateFirst } from './gate-first.ts';
import { goneFirst } from './gone-first.ts';
import { journal } from './journal.ts';
import { leaseOver } from './lease-over.ts';
import { neverCalled } from './never-called.ts';
import { noBugs } from './no-bugs.ts';
import { noClaimWhileDraining } from './no-claim-while-draining.ts';
import { nothingLeft } from './nothing-left.ts';
import { outcomes } from './outcomes.ts';
import { pace } from './pace.ts';
import { prompt } from './prompt.ts';
import { reportsKept } from './reports-kept.ts';
import { sessions } from './sessions.ts';
import { settles } from './settles.ts';
import { spoolFirst } from './spool-first.ts';
import { stillRenewed } from './still-renewed.ts';
import { submittedOnce } from './submitted-once.ts';
import { sweeper } from './sweeper.ts';

export interface Checker {
  readonly name: string;
  /** The rule in a sentence. */
  readonly rule: string;
  /** What broke it, in sentences; empty where nothing did. */
  check(finished: Finished): string[];
}

/** One line for each invariant. Two more are seen while it happens: `slots` and `leaves-nothing`. */
export const checkers: readonly Checker[] = [
  reportsKept,
  spoolFirst,
  answers,
  effectOnce,
  gateFirst,
  gateAlive,
  outcomes,
  neverCalled,
  journal,
  begunOnce,
  goneFirst,
  sessions,
  leaseOver,
  stillRenewed,
  sweeper,
  noClaimWhileDraining,
  drainInTime,
  settles,
  nothingLeft,
  submittedOnce,
  pace,
  prompt,
  calm,
  noBugs,
];
