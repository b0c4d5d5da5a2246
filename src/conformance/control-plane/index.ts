import type { Case } from '../case.ts';
import { batch } from './batch.ts';
import { cancel } from './cancel.ts';
import { cancelQueued } from './cancel-queued.ts';
import { carriedStart } from './carried-start.ts';
import { claims } from './claims.ts';
import { claimsWaiting } from './claims-waiting.ts';
import { clocks } from './clocks.ts';
import { errors } from './errors.ts';
import { eventsStream } from './events-stream.ts';
import { fencing } from './fencing.ts';
import { hints } from './hints.ts';
import { history } from './history.ts';
import { iJson } from './i-json.ts';
import { idempotency } from './idempotency.ts';
import { isolation } from './isolation.ts';
import { keys } from './keys.ts';
import { keysEnded } from './keys-ended.ts';
import { keysLimits } from './keys-limits.ts';
import { lateReports } from './late-reports.ts';
import { leases } from './leases.ts';
import { limits } from './limits.ts';
import { lostAnswers } from './lost-answers.ts';
import { operator } from './operator.ts';
import { operatorResolve } from './operator-resolve.ts';
import { operatorRetry } from './operator-retry.ts';
import { outcomes } from './outcomes.ts';
import { presence } from './presence.ts';
import { reading } from './reading.ts';
import { readingFacts } from './reading-facts.ts';
import { readingJournal } from './reading-journal.ts';
import { readingViews } from './reading-views.ts';
import { release } from './release.ts';
import { replay } from './replay.ts';
import { scopes } from './scopes.ts';
import { service } from './service.ts';
import { sessions } from './sessions.ts';
import { submission } from './submission.ts';
import { times } from './times.ts';
import { tolerance } from './tolerance.ts';
import type { ControlPlaneWorld } from './world.ts';

export type ControlPlaneCase = Case<ControlPlaneWorld>;

/** What a case may need beyond a worker's and a producer's key, and how it is given. */
export const controlPlaneNeeds = {
  'operator-key': 'a task-operator key (--operator-key-file)',
  'admin-key': 'an admin key (--admin-key-file)',
  'other-project': 'keys of another project (--other-worker-key-file, --other-producer-key-file)',
} as const;

/** Every case of the kit for control planes, in the order of its reports. A new group is one file and one line. */
export const controlPlaneCases: readonly ControlPlaneCase[] = [
  ...service,
  ...submission,
  ...iJson,
  ...idempotency,
  ...batch,
  ...reading,
  ...readingJournal,
  ...readingViews,
  ...readingFacts,
  ...scopes,
  ...isolation,
  ...errors,
  ...eventsStream,
  ...operator,
  ...operatorRetry,
  ...operatorResolve,
  ...carriedStart,
  ...cancelQueued,
  ...keys,
  ...keysEnded,
  ...keysLimits,
  ...fencing,
  ...replay,
  ...lostAnswers,
  ...claims,
  ...claimsWaiting,
  ...leases,
  ...outcomes,
  ...times,
  ...lateReports,
  ...cancel,
  ...release,
  ...sessions,
  ...presence,
  ...hints,
  ...clocks,
  ...tolerance,
  ...history,
  ...limits,
];
