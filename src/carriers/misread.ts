import { careInWords, lessCareful } from '../contract/care.ts';
import type { Declaration } from '../handler/protocol.ts';
import type { Job } from '../ports/carrier.ts';

/**
 * Where the file asks for more care than the job would get: what is known of it, what it says, what to do, to be read
 * after its name. What needs less is run as the worker knows it.
 */
export function misread(job: Job, says: Declaration): string | undefined {
  const apart = job.sharesHost === true && says.host !== 'shared';
  const careful = lessCareful(job, says);
  if (!apart && !careful) return undefined;
  const knew = `${careInWords(job)}${apart ? ', in a process that it shares' : ''}`;
  const now = `${careInWords(says)}${apart ? ', in a process of its own' : ''}`;
  return `has changed since the worker read it: its task was claimed as ${knew}; loaded from the folder it says ${now}. Nothing was run. Send the worker SIGHUP, so that it reads its handlers again.`;
}
