import { TaskError } from '../../contract/index.ts';
import type { ClientCode } from '../client-codes.ts';

/** Codes of `interlock worker update`. */
export const updateCodes = {
  UPDATE_FROM_SOURCE: {
    exit: 'usage',
    title: 'This is no standalone executable: it runs from a checkout or an installed package',
    next: 'In a checkout: `git pull && npm ci`. A package: install the newer version with npm.',
  },
  UPDATE_NO_TRUST: {
    exit: 'update-refused',
    title: 'There is no key by which the signature of a release could be checked',
    next: 'Give the public key that came to you on another way than the release: `--trust pub.pem`.',
  },
  UPDATE_UNTRUSTED: {
    exit: 'update-refused',
    title: 'The release is not signed, or by nobody who is trusted here',
    next: 'Nothing was changed. Get the release, or the key, from who makes them; nothing unsigned is ever installed.',
  },
  UPDATE_DAMAGED: {
    exit: 'update-refused',
    title: 'A file of the release is missing, cut, or not what was signed',
    next: 'Nothing was changed. Download the release again.',
  },
  UPDATE_WRONG_TARGET: {
    exit: 'update-refused',
    title:
      'The release has no executable for this system and CPU, or the file that was named is for another',
    next: 'Nothing was changed. Get the release that has it.',
  },
  UPDATE_OLDER: {
    exit: 'update-refused',
    title: 'The release is older than what runs',
    next: 'Nothing was changed. If that is meant: `--allow-downgrade`, or `interlock worker update --rollback`.',
  },
  UPDATE_DOES_NOT_RUN: {
    exit: 'update-refused',
    title: 'The new executable does not run on this machine, or is another version than it says',
    next: 'Nothing was changed. The message has what the system said: most often a missing or old library.',
  },
  UPDATE_RUNNING: {
    exit: 'conflict',
    title: 'Another update of this executable is running, or one came between',
    next: 'Wait until it has ended, then see which version runs: `--version`.',
  },
  UPDATE_EXECUTABLE_GONE: {
    exit: 'conflict',
    title: 'The executable was removed or replaced while its update ran',
    next: 'See which version lies there, and run the update again from it.',
  },
  UPDATE_NOT_WRITTEN: {
    exit: 'input-output',
    title: 'The new executable cannot be written beside the old one',
    next: 'See the message: most often other rights, a full or a read-only disk. The old executable is untouched.',
  },
  UPDATE_NO_PREVIOUS: {
    exit: 'not-found',
    title: 'There is no previous executable to go back to',
    next: 'Install the version that you want: `interlock worker update --from … --allow-downgrade`.',
  },
  UPDATE_SERVICE_UNKNOWN: {
    exit: 'usage',
    title: 'The service that was named is none of this executable, or cannot be asked',
    next: 'See `systemctl list-units`, and name it with `--service`.',
  },
  UPDATE_ROLLED_BACK: {
    exit: 'update-rolled-back',
    title: 'The new version did not become ready; the previous one was put back and runs',
    next: 'See the last lines of its log, which are told with it.',
  },
  UPDATE_STUCK: {
    exit: 'update-stuck',
    title: 'The new version did not become ready, and the previous one does not run again either',
    next: 'Look at the service at once: the message says what is in place and what its log said.',
  },
} as const satisfies Readonly<Record<string, ClientCode>>;

export type UpdateCode = keyof typeof updateCodes;

export function updateError(
  code: UpdateCode,
  message: string,
  more: {
    readonly hint?: string;
    readonly details?: Record<string, unknown>;
    readonly cause?: unknown;
  } = {},
): TaskError {
  return new TaskError(code, message, { hint: more.hint ?? updateCodes[code].next, ...more });
}
