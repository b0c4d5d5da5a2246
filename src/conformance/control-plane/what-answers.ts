import { BASE_PATH, CONTRACT_VERSION } from '../../contract/limits.ts';
import { shown } from '../check.ts';
import { Caller, type CallerOptions, type Seen, Transcript } from './caller.ts';

/**
 * Asks anybody's question, without a key: keys are sent to nobody who has not answered it as a control plane of this
 * version does.
 *
 * @returns who answers instead, as a sentence.
 * @throws Broken where nobody answers.
 */
export async function strangerAt(
  options: Omit<CallerOptions, 'transcript'>,
): Promise<string | undefined> {
  const caller = new Caller({ ...options, transcript: new Transcript() });
  const seen = await caller.call({ method: 'GET', path: '/' });
  const versions = seen.status === 200 ? seen.json?.contracts : undefined;
  if (!Array.isArray(versions)) return `${answered(options.serviceUrl, seen)}: ${NONE}.`;
  if (versions.includes(CONTRACT_VERSION)) return undefined;
  return `${options.serviceUrl} speaks ${versions.length === 0 ? 'no version' : `version ${shown(versions).slice(1, -1).replaceAll(',', ', ')}`} of the contract; this kit checks version ${CONTRACT_VERSION}.`;
}

function answered(serviceUrl: string, { status, headers, json }: Seen): string {
  const type = headers.get('content-type')?.split(';')[0]?.trim() || 'without a Content-Type';
  const lacks = status === 200 && json !== undefined ? ', without `contracts`,' : '';
  return `${serviceUrl} answers ${status} ${type}${lacks} at GET ${BASE_PATH}/`;
}

const NONE = 'that is no control plane of this contract';
