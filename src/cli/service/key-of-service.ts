import { doctorAnswer, TaskError } from '../../contract/index.ts';
import { openDoors } from '../doors.ts';
import { type FoundKey, findKey } from '../keys.ts';
import type { Installing } from './install.ts';
import type { ServicePapers } from './papers.ts';

export interface KeyOfService {
  /** Where the service finds it. */
  readonly file: string;
  /** To be written there. */
  readonly copy: string | undefined;
  readonly found: FoundKey | undefined;
  readonly note: string | undefined;
}

/**
 * A key file stays where it is; a key from elsewhere is copied where that is asked for. Throws what is wrong with the
 * key, or `SERVICE_UNFIT` where the service could not find it.
 */
export async function keyOfService(
  call: Installing,
  papers: ServicePapers,
  dry: boolean,
): Promise<KeyOfService> {
  const { keyPlaces, args } = call;
  const { keyFile } = keyPlaces;
  const found = await findKey(['task-worker'], keyPlaces).catch((error: unknown) => {
    // Made for another machine perhaps: what is not here may be there.
    if (dry) return undefined;
    throw error;
  });
  if (args['copy-key'] || (dry && found === undefined && keyFile === undefined))
    return { file: papers.keyCopy, copy: found?.source.current(), found, note: undefined };
  if (keyFile !== undefined && (found === undefined || found.from === `key file ${keyFile}`))
    return { file: keyFile, copy: undefined, found, note: found?.advice };
  if (dry) return { file: papers.keyCopy, copy: undefined, found, note: NO_FILE };
  throw new TaskError(
    'SERVICE_UNFIT',
    `The key comes from ${found?.from}, where a service cannot find it.`,
    {
      hint: `Name a file that holds it with --key-file, or have it copied to ${papers.keyCopy} (0600) with --copy-key.`,
    },
  );
}

const NO_FILE =
  'The key comes from a place where a service cannot find it: give --key-file or --copy-key.';

/** Asks the control plane about the key. That it does not answer is no reason not to install; a refusal is. */
export async function proveKey(
  { io, settings }: Installing,
  { found }: KeyOfService,
): Promise<string[]> {
  if (found === undefined) return [];
  await using doors = openDoors({ io, settings });
  const answer = await doors
    .open(found.source)
    .call({ method: 'GET', path: '/doctor', statuses: [200], schema: doctorAnswer });
  if (answer.kind === 'ok') {
    const { keyKind } = answer.value;
    if (keyKind === 'task-worker') return [];
    throw new TaskError(
      'KEY_REFUSED',
      `The key (${found.from}) is of the kind ${keyKind}; a worker needs one of task-worker.`,
      {
        hint: 'An admin makes one: interlock keys new "my worker" --kind task-worker.',
      },
    );
  }
  if (answer.kind === 'refused' && (answer.status === 401 || answer.status === 403))
    throw new TaskError(
      'KEY_REFUSED',
      `The control plane ${settings.url} refuses the key (${found.from}): ${answer.problem.detail ?? answer.problem.title ?? answer.status}`,
      {
        hint: 'An admin makes one: interlock keys new "my worker" --kind task-worker.',
      },
    );
  const why = answer.kind === 'refused' ? `it answered ${answer.status}` : answer.why;
  return [
    `The key could not be tried at ${settings.url}: ${why} The worker asks again until it is answered.`,
  ];
}
