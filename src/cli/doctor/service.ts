import { type DoctorAnswer, doctorAnswer, type KeyKind } from '../../contract/index.ts';
import type { Door } from '../../wire/door.ts';
import { READERS } from '../connect.ts';
import { durationWords } from '../duration.ts';
import { type FoundKey, KEY_VARIABLES, type KeyCandidate, oldProfile } from '../keys.ts';
import { type Check, fail, ok, skip, warn } from './check.ts';
import type { Reader } from './hints.ts';
import { NOT_REACHED } from './not-reached.ts';

export interface KeyChecked {
  readonly checks: readonly Check[];
  /** The answer to the first key that was accepted, and its door. */
  readonly answer?: DoctorAnswer;
  readonly reader?: Reader;
  /** The first accepted key that may look at tasks and workers, which a worker's own may not. */
  readonly viewer?: Reader;
}

/**
 * Every configured key is tried: accepted, and of the kind that it is kept as? @param project expected, where
 * somebody named one.
 */
export async function checkKeys(
  candidates: readonly KeyCandidate[],
  openDoor: (key: FoundKey) => Door,
  reached: boolean,
  project: string | undefined,
  missing: string,
): Promise<KeyChecked> {
  if (candidates.length === 0)
    return { checks: [fail('key', `none is configured for this address: ${missing}`, NO_KEY)] };
  const checks: Check[] = [];
  const profilesTold = new Set<string>();
  let first: DoctorAnswer | undefined;
  let reader: Reader | undefined;
  let viewer: Reader | undefined;
  for (const candidate of candidates) {
    let key: FoundKey;
    try {
      key = await candidate.load();
    } catch (error) {
      const { message, hint } = error as { message: string; hint?: string };
      checks.push(fail('key', message, hint ?? NO_KEY));
      continue;
    }
    if (key.advice) checks.push(warn('key', key.advice));
    if (!reached) {
      checks.push(skip('key', `${nameOf(key)} was not tried: the control plane was not reached`));
      continue;
    }
    const door = openDoor(key);
    const { check, answer } = await tryKey(key, door, project, profilesTold);
    checks.push(check);
    first ??= answer;
    if (answer) {
      const one = { door, kind: answer.keyKind, key: key.source };
      reader ??= one;
      if (READERS.includes(answer.keyKind as KeyKind)) viewer ??= one;
    }
  }
  return {
    checks,
    ...(first && { answer: first }),
    ...(reader && { reader }),
    ...(viewer && { viewer }),
  };
}

/** Queue, workers and deliveries, as the control plane tells them. @param reached it answered at all. */
export function checkService(answer: DoctorAnswer | undefined, reached = true): Check[] {
  if (!answer)
    return ['queue', 'workers', 'deliveries'].map((name) =>
      skip(name, reached ? 'no key was accepted' : NOT_REACHED),
    );
  const { queueDepth, oldestQueuedMs, workers, outboxDebt, troubles } = answer;
  const online = workers.ready + workers.full + workers.draining;
  const waits = queueDepth === 1 ? '1 task waits' : `${queueDepth} tasks wait`;
  const oldest = oldestQueuedMs === null ? '' : `, the oldest for ${durationWords(oldestQueuedMs)}`;
  const keyEnded = troubles.filter(({ says }) => KEY_ENDED.test(says)).map((one) => one.workerId);
  const start = `${keyEnded.length === 0 ? '' : `Give ${keyEnded.join(', ')} a key (see below). Else: `}Start one: interlock worker --handlers ./handlers`;
  const states = (['ready', 'full', 'draining', 'offline'] as const)
    .filter((state) => workers[state] > 0)
    .map((state) => `${workers[state]} ${state}`);
  return [
    ok('queue', queueDepth === 0 ? 'empty' : `${waits}${oldest}`),
    online > 0
      ? ok('workers', states.join(', '))
      : queueDepth > 0
        ? fail('workers', `none is online, and ${waits}`, start)
        : warn(
            'workers',
            `none is online${states.length > 0 ? ` (${states.join(', ')})` : ''}`,
            start,
          ),
    ...troubles.map(({ workerId, says }) =>
      warn('worker', `${workerId}: ${says}`, troubleFix(workerId, says)),
    ),
    outboxDebt === 0
      ? ok('deliveries', 'nothing is waiting to be delivered')
      : warn(
          'deliveries',
          `${outboxDebt} callbacks or hints are not yet delivered`,
          'They are tried again by themselves; look again in a minute.',
        ),
  ];
}

/** What is said of a trouble holds its cause; where to do something about it does not stand there. */
function troubleFix(workerId: string, says: string): string {
  const where = `on the machine of ${workerId}`;
  if (KEY_ENDED.test(says))
    return `Make one: interlock keys new "${workerId}" --kind task-worker, and put it into the key file ${where}: the worker reads it again within a minute, without a restart. One that has its key from INTERLOCK_WORKER_KEY needs it there, and a new start. What it owes waits in its spool.`;
  if (/handlers? do(es)? not go/.test(says))
    return `Mend what it waits for ${where} (a mount, a device), or restart that machine; where it runs inside a program of your own (TaskWorker), restart that.`;
  if (/ is (paused|tried again)/.test(says))
    return `Mend that ${where}; the type is tried again by itself. Its log has each failure.`;
  // What is wrong with a handler's file is read again on SIGHUP only, and one that still loads needs nothing.
  return GOES_ON.test(says)
    ? `Do what is said there ${where}: it goes on by itself then.`
    : `Do what is said there ${where}.`;
}

const GOES_ON = /claims nothing: (?!there is no handler)/;
const KEY_ENDED = /last heard with the key .* which (was revoked|has expired)/s;

async function tryKey(
  key: FoundKey,
  door: Door,
  project: string | undefined,
  profilesTold: Set<string>,
): Promise<{ check: Check; answer?: DoctorAnswer }> {
  const answer = await door.call({
    method: 'GET',
    path: '/doctor',
    statuses: [200],
    schema: doctorAnswer,
  });
  const name = nameOf(key);
  if (answer.kind === 'no-answer')
    return { check: fail('key', `${name}: ${answer.why}`, 'See the lines above.') };
  if (answer.kind === 'refused') {
    // A key without Tasks authority is a key all the same.
    const { status, problem } = answer;
    const says = `${name} is refused: ${status} ${problem.code}, ${problem.detail ?? problem.title ?? ''}`;
    return { check: fail('key', says, refusedFix(key, profilesTold)) };
  }
  const { keyKind } = answer.value;
  if (key.kind !== undefined && key.kind !== keyKind) {
    const says = `${name} is accepted, but it is of kind ${keyKind} and kept as ${key.kind}`;
    return {
      check: fail('key', says, `Put it into ${placeFor(keyKind)}, and a ${key.kind} key there.`),
    };
  }
  if (project !== undefined && answer.value.project !== project) {
    const says = `${name} is of kind ${keyKind} and project "${answer.value.project}", but "${project}" is set`;
    return {
      check: fail('key', says, `Use a key of project "${project}", or leave --project away.`),
    };
  }
  const says = `${keyKind} of project ${answer.value.project}, from ${key.from}`;
  return { check: endsSoon(answer.value, says) ?? ok('key', says), answer: answer.value };
}

/** By the clock that refuses it. */
function endsSoon({ keyKind, keyExpiresAt, serverTime }: DoctorAnswer, says: string) {
  const leftMs = Date.parse(keyExpiresAt ?? '') - Date.parse(serverTime);
  if (!(leftMs < ENDS_SOON_MS)) return undefined;
  return warn(
    'key',
    `${says}, expires in ${durationWords(leftMs)} (${keyExpiresAt})`,
    `Make another: interlock keys new "my key" --kind ${keyKind} --expires 90d, and put it in its place before that; workers take it without a restart.`,
  );
}

/** Time enough for who looks once a week. */
const ENDS_SOON_MS = 14 * 86_400_000;

function nameOf({ kind, from }: FoundKey): string {
  return from.startsWith('profile') && kind ? `the ${kind} key of the ${from}` : from;
}

function placeFor(kind: string): string {
  return KEY_VARIABLES.find(([known]) => known === (kind as KeyKind))?.[1] ?? 'its own place';
}

/** @param told profiles of which it was said already: each holds several keys. */
function refusedFix({ kind, from }: FoundKey, told: Set<string>): string {
  const profile = told.has(from) ? '' : oldProfile(from);
  told.add(from);
  return `Make a new one: interlock keys new "my key" --kind ${kind ?? 'task-producer'}, with an admin key or with --data on the control plane's machine.${profile}`;
}

const NO_KEY =
  'Set INTERLOCK_PRODUCER_KEY (or _WORKER_, _OPERATOR_, _ADMIN_), give --key-file, or run interlock dev, which makes a profile.';
