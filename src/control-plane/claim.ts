import { makeId } from '../contract/ids.ts';
import { typeKey } from '../contract/type-key.ts';
import type { ClaimRequest, Want } from '../contract/worker-calls.ts';
import { isLocalKey } from '../core/key-rules.ts';
import type { AttemptState } from '../core/task.ts';
import { type Change, isCurrent, type TaskState, wantsStop } from '../core/task.ts';
import { betterElsewhere, claimTask, leaseLength } from '../core/task-claim.ts';
import { renewal } from '../core/task-report-alive.ts';
import type { KeyRow, TaskRow, Transaction, WorkerRow } from '../ports/store.ts';
import { isRefusal, type Refusal } from './answer.ts';
import { beyondKey, endedKey } from './auth.ts';
import { keepChange } from './change.ts';
import { labelsText, policyText, quoted, rawMember, textMember } from './json-text.ts';
import { leaseToken } from './lease-token.ts';
import type { Services } from './services.ts';
import { enterSession } from './sessions.ts';
import type { WaitingClaim } from './waiting-claims.ts';

export interface Granted {
  /** JSON texts of attempts. */
  readonly attempts: readonly string[];
  readonly drain: boolean;
  readonly nowMs: number;
  /** Where it waited: for how long, when these were granted. */
  readonly waitedMs?: number;
}

/** Gives a worker what it may run, in one transaction. */
export async function claim(
  services: Services,
  key: KeyRow,
  request: ClaimRequest,
): Promise<Granted | Refusal> {
  return (await claimOrNothing(services, key, request)) as Granted | Refusal;
}

/**
 * The same for a claim that can wait: where there is nothing for it, it waits from then on, nothing is kept of it, and the
 * answer is `undefined`.
 */
export async function claimOrNothing(
  services: Services,
  key: KeyRow,
  request: ClaimRequest,
  waiting?: WaitingClaim,
): Promise<Granted | Refusal | undefined> {
  const beyond = beyondKey(key, {
    workerId: ['workerId', request.workerId],
    pools: request.pools.map((pool, i) => [`pools[${i}]`, pool]),
    types: request.want.map((want, i) => [`want[${i}].type`, want.type, want.schemaVersion]),
  });
  if (beyond) return beyond;
  return services.store.write(async (tx) => {
    // Its caller has gone or asks anew, and this look was asked for before: nothing is granted after that.
    if (waiting?.end !== undefined) return undefined;
    // The key that came with it may be none any more by now.
    if (request.waitMs !== undefined && !isLocalKey(key.id)) {
      const ended = endedKey(tx.nowMs, await tx.keyById(key.id));
      if (ended) return ended;
    }
    const entered = await enterSession(tx, key, request, services.timing);
    if (isRefusal(entered)) return entered;
    const { project } = key;
    const { workerId, sessionId, requestId } = request;
    const worker = await signOfLife(tx, services, entered.worker, entered.changed, request);
    const drain = worker.drainSessionId === sessionId;
    const name = { project, workerId, sessionId, requestId };
    services.waiting.replace(name, waiting);
    const before = await tx.claimed(name);
    const past = before && (await beyondGranted(tx, key, before));
    if (past) return past;
    if (before) {
      const attempts = await again(tx, services, project, before);
      return { attempts, drain, nowMs: tx.nowMs };
    }
    for (const spot of await tx.makeAvailable(services.timing.sweepBatch))
      tx.announce({ kind: 'available', ...spot });
    const { granted, passedOver } = drain
      ? { granted: [], passedOver: false }
      : await grant(tx, services, project, request);
    // Before the notes of later commands: what comes after this claim shall wake its worker.
    services.hub.learn(project, request, {
      pools: new Set(request.pools),
      types: new Set(request.want.map((w) => typeKey(w.type, w.schemaVersion))),
      freeSlots: request.max - granted.length,
      draining: drain,
    });
    // Nothing is made to wait for a worker that is about to go, nor where there is something that it is not to have now: of
    // that, and of what is behind it, nobody would tell.
    const going = drain || worker.present?.state === 'draining';
    const waits = granted.length === 0 && !passedOver && !going;
    if (waiting !== undefined && waits) {
      services.waiting.add(waiting);
      return undefined;
    }
    if (waiting !== undefined)
      for (const { task } of granted) {
        const { pool, type, schemaVersion } = task;
        tx.announce({ kind: 'given', project, pool, type, schemaVersion });
        waiting.gave(task);
      }
    await tx.addClaim(
      name,
      granted.map(({ id }) => id),
    );
    return { attempts: granted.map(({ text }) => text), drain, nowMs: tx.nowMs };
  });
}

/** A claim counts as presence; it is written down only now and then. */
async function signOfLife(
  tx: Transaction,
  { timing }: Services,
  worker: WorkerRow,
  changed: boolean,
  request: ClaimRequest,
): Promise<WorkerRow> {
  const fresh = tx.nowMs - worker.lastSeenMs < timing.touchGapMs;
  const back = worker.present?.state === 'offline';
  if (!changed && fresh && worker.present && !back) return worker;
  const present = worker.present ?? {
    atMs: tx.nowMs,
    state: 'ready' as const,
    slots: { max: request.max, busy: 0 },
    pools: request.pools,
    versions: {},
    openAttempts: 0,
  };
  const seen: WorkerRow = {
    ...worker,
    lastSeenMs: tx.nowMs,
    present: back ? { ...present, state: 'ready' } : present,
  };
  await tx.saveWorker(seen);
  if (!worker.present) {
    const handlers = request.want.map(({ slots: _, ...handler }) => handler);
    await tx.saveHandlers(worker.project, worker.workerId, handlers);
  }
  tx.announce({ kind: 'worker', project: worker.project, workerId: worker.workerId });
  return seen;
}

/** What a claim gave may lie beyond the key that asks for it once more. */
async function beyondGranted(
  tx: Transaction,
  key: KeyRow,
  ids: readonly string[],
): Promise<Refusal | undefined> {
  for (const id of ids) {
    const found = await tx.attempt(key.project, id);
    if (!found) continue;
    const { pool, type, schemaVersion } = found.row.task;
    const beyond = beyondKey(key, {
      pools: [['the pool of an attempt', pool]],
      types: [['the type of an attempt', type, schemaVersion]],
    });
    if (beyond) return beyond;
  }
  return undefined;
}

/** The same request again: what is still alive of it, leases renewed as of now, never new work. */
async function again(
  tx: Transaction,
  services: Services,
  project: string,
  ids: readonly string[],
): Promise<string[]> {
  const alive: string[] = [];
  for (const id of ids) {
    const found = await tx.attempt(project, id);
    if (!found || !isCurrent(found.row.task, found.attempt.attempt)) continue;
    const change: Change = renewal(tx.nowMs, found.row.task, found.attempt.attempt);
    if (!change.verdict.ok || !change.attempt) continue;
    await keepChange(tx, found.row, found.attempt, change);
    const payloads = await payloadsOf(tx, found.row);
    alive.push(attemptText(tx.nowMs, services, found.row.task, change.attempt, payloads));
  }
  return alive;
}

async function grant(
  tx: Transaction,
  services: Services,
  project: string,
  request: ClaimRequest,
): Promise<{ readonly granted: readonly GrantedTask[]; readonly passedOver: boolean }> {
  const { limits, random } = services;
  const wanted = new Map<string, Want>();
  for (const want of request.want) {
    const name = typeKey(want.type, want.schemaVersion);
    if (!wanted.has(name)) wanted.set(name, want);
  }
  const rows = await tx.claimable({
    project,
    pools: [...new Set(request.pools)],
    want: [...wanted.values()],
    max: request.max,
  });
  const granted: GrantedTask[] = [];
  let chars = 0;
  for (const row of rows) {
    const { task } = row;
    const want = wanted.get(typeKey(task.type, task.schemaVersion)) as Want;
    const { workerId } = request;
    if (betterElsewhere(tx.nowMs, task, workerId) && services.hub.othersWant(task, workerId))
      continue;
    const change = claimTask(tx.nowMs, task, {
      attemptId: makeId('att', tx.nowMs, random.bytes(10)),
      workerId: request.workerId,
      sessionId: request.sessionId,
      effectSafety: want.effectSafety,
      effectGate: want.effectGate,
      leaseMs: leaseLength(task.policy.leaseMs, request.leaseMs, limits.leaseMs),
    });
    if (!change.attempt || !change.task) continue;
    const payloads = readAlong(row) ?? (await payloadsOf(tx, row));
    const text = attemptText(tx.nowMs, services, change.task, change.attempt, payloads);
    chars += text.length + 1;
    // What does not fit stays in the queue, in its place; one always fits.
    if (granted.length > 0 && isLonger(chars, granted, text, limits.batchBytes)) break;
    const kept = keepChange(tx, row, undefined, change);
    if (kept instanceof Promise) await kept;
    granted.push({ id: change.attempt.id, text, task });
  }
  return { granted, passedOver: granted.length < rows.length };
}

/** Whether all of it has more UTF-8 bytes; counted only where it has so many characters that it may. */
function isLonger(
  chars: number,
  granted: readonly { readonly text: string }[],
  last: string,
  maxBytes: number,
): boolean {
  if (chars * MAX_BYTES_PER_CHAR <= maxBytes) return false;
  let bytes = Buffer.byteLength(last) + 1;
  for (const { text } of granted) bytes += Buffer.byteLength(text) + 1;
  return bytes > maxBytes;
}

/** Of a UTF-16 unit. */
const MAX_BYTES_PER_CHAR = 3;

interface GrantedTask {
  /** Of the attempt. */
  readonly id: string;
  readonly text: string;
  readonly task: TaskState;
}

interface Payloads {
  readonly input: string | undefined;
  readonly checkpoint: string | undefined;
}

/** Without waiting, where the store has read all that there is with the row. */
function readAlong({ inputJson, task }: TaskRow): Payloads | undefined {
  return inputJson !== undefined && task.fence === 0
    ? { input: inputJson, checkpoint: undefined }
    : undefined;
}

async function payloadsOf(tx: Transaction, row: TaskRow): Promise<Payloads> {
  return {
    input: row.inputJson ?? (await tx.payload(row.ref, 'input')),
    // Only an attempt can have left one.
    checkpoint: row.task.fence === 0 ? undefined : await tx.payload(row.ref, 'checkpoint'),
  };
}

function attemptText(
  nowMs: number,
  { secret, store }: Services,
  task: TaskState,
  attempt: AttemptState,
  { input, checkpoint }: Payloads,
): string {
  const holder = { project: attempt.project, attemptId: attempt.id, fence: attempt.fence };
  return (
    `{"taskId":${quoted(task.id)},"attemptId":${quoted(attempt.id)},"fence":${attempt.fence}` +
    `,"leaseToken":"${leaseToken(secret, store.epoch, holder)}","leaseMs":${attempt.leaseMs}` +
    `,"attempt":${attempt.number},"type":${quoted(task.type)},"schemaVersion":${task.schemaVersion}` +
    `,"effectKey":${quoted(task.effectKey)},"effectSafety":"${attempt.effectSafety}"` +
    `,"effectGate":"${attempt.effectGate}","pool":${quoted(task.pool)}` +
    `,"labels":${labelsText(task.labels)},"policy":${policyText(task.policy)}` +
    textMember('traceparent', task.traceparent) +
    `,"cancelRequested":${wantsStop(nowMs, task)}` +
    rawMember('input', input) +
    rawMember('checkpoint', checkpoint) +
    '}'
  );
}
