import { claims } from './cases/claims.ts';
import { claimsWaiting } from './cases/claims-waiting.ts';
import { discovery } from './cases/discovery.ts';
import { gates } from './cases/gates.ts';
import { hints } from './cases/hints.ts';
import { leases } from './cases/leases.ts';
import { presence } from './cases/presence.ts';
import { answers } from './cases/reports-answers.ts';
import { batches } from './cases/reports-batches.ts';
import { kept } from './cases/reports-kept.ts';
import { pace } from './cases/reports-pace.ts';
import { redirects } from './cases/reports-redirects.ts';
import { refusals } from './cases/reports-refused.ts';
import { restarts } from './cases/restarts.ts';
import { sessions } from './cases/sessions.ts';
import { signals } from './cases/signals.ts';
import { spool } from './cases/spool.ts';
import { stops } from './cases/stops.ts';
import { words } from './cases/words.ts';
import { judged } from './judge.ts';
import type { WorkerCase } from './worker-case.ts';

/** Every case of the worker kit, in the order in which they are told. A new group is one file and one line here. */
export const workerCases: readonly WorkerCase[] = [
  answers,
  redirects,
  pace,
  kept,
  refusals,
  batches,
  spool,
  signals,
  leases,
  gates,
  claims,
  claimsWaiting,
  stops,
  sessions,
  hints,
  discovery,
  restarts,
  presence,
  words,
].flatMap((group) => group.map(judged));
