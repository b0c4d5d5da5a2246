import { type DoctorAnswer, doctorAnswer, type KeyKind } from '../../contract/index.ts';
import type { Door } from '../../wire/door.ts';
import { durationWords } from '../duration.ts';
import { type FoundKey, KEY_VARIABLES, type KeyCandidate } from '../keys.ts';
import { type Check, fail, ok, skip, warn } from './check.ts';

export interface KeyChecked {
  readonly checks: readonly Check[];
  /** The answer to the first key that was accepted. */
  readonly answer?: DoctorAnswer;
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
  let first: DoctorAnswer | undefined;
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
    const { check, answer } = await tryKey(key, openDoor(key), project);
    checks.push(check);
    first ??= answer;
  }
  return { checks, ...(first && { answer: first }) };
}

/** Queue, workers and outbox, as the control plane tells them. */
export function checkService(answer: DoctorAnswer | undefined): Check[] {
  if (!answer)
    return ['queue', 'workers', 'outbox'].map((name) => skip(name, 'no key was accepted'));
  const { queueDepth, oldestQueuedMs, workers, outboxDebt } = answer;
  const online = workers.ready + workers.full + workers.draining;
  const waits = queueDepth === 1 ? '1 task waits' : `${queueDepth} tasks wait`;
  const oldest = oldestQueuedMs === null ? '' : `, the oldest for ${durationWords(oldestQueuedMs)}`;
  const states = (['ready', 'full', 'draining', 'offline'] as const)
    .filter((state) => workers[state] > 0)
    .map((state) => `${workers[state]} ${state}`);
  return [
    ok('queue', queueDepth === 0 ? 'empty' : `${waits}${oldest}`),
    online > 0
      ? ok('workers', states.join(', '))
      : queueDepth > 0
        ? fail(
            'workers',
            `none is online, and ${waits}`,
            'Start one: interlock-worker --handlers ./handlers',
          )
        : warn(
            'workers',
            `none is online${states.length > 0 ? ` (${states.join(', ')})` : ''}`,
            'Start one: interlock-worker --handlers ./handlers',
          ),
    outboxDebt === 0
      ? ok('outbox', 'nothing is waiting to be delivered')
      : warn(
          'outbox',
          `${outboxDebt} callbacks or hints are not yet delivered`,
          'They are tried again by themselves; look again in a minute.',
        ),
  ];
}

async function tryKey(
  key: FoundKey,
  door: Door,
  project: string | undefined,
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
    return { check: fail('key', says, refusedFix(key)) };
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
  return {
    check: ok('key', `${keyKind} of project ${answer.value.project}, from ${key.from}`),
    answer: answer.value,
  };
}

function nameOf({ kind, from }: FoundKey): string {
  return from.startsWith('profile') && kind ? `the ${kind} key of the ${from}` : from;
}

function placeFor(kind: string): string {
  return KEY_VARIABLES.find(([known]) => known === (kind as KeyKind))?.[1] ?? 'its own place';
}

function refusedFix({ kind }: FoundKey): string {
  return `Make a new one: interlock keys new "my key" --kind ${kind ?? 'task-producer'}, with an admin key or with --data on the control plane's machine.`;
}

const NO_KEY =
  'Set INTERLOCK_PRODUCER_KEY (or _WORKER_, _OPERATOR_, _ADMIN_), give --key-file, or run npm start, which makes a profile.';
