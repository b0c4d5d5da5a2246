import { TaskError } from '../../contract/index.ts';
import { updateError } from './codes.ts';
import type { Place } from './place.ts';
import type { ProgramEnd } from './run-program.ts';

/** What the disk said to an update, as a sentence. Others' errors pass. */
export function notWritten(
  error: unknown,
  { exe, folder }: Pick<Place, 'exe' | 'folder'>,
): unknown {
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  if (error instanceof TaskError || syscall === undefined) return error;
  const [why, hint] = WORDS[code] ?? [`the system refuses it (${code} in ${syscall})`, LOOK];
  return updateError(
    'UPDATE_NOT_WRITTEN',
    `${exe} cannot be updated: in ${folder} ${why}. It is untouched.`,
    {
      hint,
      details: { errno: code },
      cause: error,
    },
  );
}

const LOOK = 'See to the folder, then run the update again.';
const RIGHTS = 'Run the update as the user that the folder belongs to (most often: sudo).';
const WORDS: Readonly<Record<string, readonly [string, string]>> = {
  EACCES: ['this user may not write', RIGHTS],
  EPERM: ['this user may not write, or its files are made unchangeable (chattr +i)', RIGHTS],
  EROFS: [
    'nothing can be written: the file system is read-only',
    'Mount it writable for the update, or put the new executable into the image that it comes from.',
  ],
  ENOSPC: [
    'there is no room: the disk is full',
    'Make room for two executables, then run it again.',
  ],
  EDQUOT: [
    "there is no room: this user's quota is used up",
    'Make room for two executables, then run it again.',
  ],
  EIO: ['the disk fails to write (EIO)', 'Look at the disk (dmesg) before anything else.'],
  EBUSY: [
    'a file is held by another program',
    'Wait, or end that program (a virus scanner?), then run it again.',
  ],
  ETXTBSY: ['a file is being written by another program', LOOK],
};

/** Why a new executable did not do on this machine, as the end of a sentence. */
export function tryWords(end: ProgramEnd, wanted: string | undefined): string {
  if (end.late) return 'did not answer --version in time';
  const { failed } = end;
  if (failed === 'ENOENT')
    return 'cannot be loaded: the loader that it names is not on this machine (musl, or another libc or CPU)';
  if (failed === 'ENOEXEC') return 'is no program of this CPU or system (ENOEXEC)';
  if (failed === 'EACCES' || failed === 'EPERM')
    return `may not be run (${failed}): its folder is mounted noexec, or SELinux or AppArmor forbids it`;
  if (failed !== undefined) return `does not start (${failed})`;
  const said = lastLine(end.err);
  if (/GLIBC(XX)?_[\d.]+'? not found/.test(end.err))
    return `needs newer system libraries than this machine has: ${said}`;
  if (/cannot open shared object file/.test(end.err))
    return `needs a library that this machine lacks: ${said}`;
  if (/Exec format error|cannot execute binary/i.test(end.err))
    return `is no program of this CPU or system: ${said}`;
  if (end.signal === 'SIGILL') return 'uses instructions that this CPU does not have (SIGILL)';
  if (end.signal !== undefined) return `was ended by ${end.signal}`;
  if (end.code !== 0) return `ended with code ${end.code}${said ? `: ${said}` : ''}`;
  return `says that it is version ${JSON.stringify(end.out.trim().slice(0, 60))} and not ${wanted ?? 'one of this form: 1.2.3'}`;
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.slice(0, 300) ?? '';
}
