/**
 * How the commands end: every way has a name and a number of its own, and `docs/operations.md` has the page
 * (a test compares them). Where `sysexits.h` has a number that fits, it is that one.
 */
export const exitCodes = {
  ok: { code: 0, says: 'Done. A worker has drained, also when the deadline had to stop handlers.' },
  'task-failed': { code: 10, says: 'The task that was waited for has failed.' },
  'task-outcome-unknown': {
    code: 11,
    says: 'The task that was waited for ended as outcome-unknown: somebody has to look.',
  },
  'task-cancelled': { code: 12, says: 'The task that was waited for was cancelled.' },
  'task-expired': { code: 13, says: 'The task that was waited for has expired.' },
  'checks-failed': {
    code: 20,
    says: 'A check of `tasks doctor` failed, or the worker has no handler that loads (`--check`: one that does not).',
  },
  usage: { code: 64, says: 'The command line or a setting is wrong; nothing was done.' },
  'input-refused': {
    code: 65,
    says: 'What was given is no valid JSON, does not fit the contract, or is too large.',
  },
  'not-found': { code: 66, says: 'There is no such task, worker or file.' },
  unreachable: {
    code: 68,
    says: 'The control plane could not be reached: name, connection, TLS, proxy or time.',
  },
  'cannot-start': { code: 69, says: 'This installation has not been built, or no Node.js fits.' },
  bug: { code: 70, says: 'A bug in this program. Run it again with `--debug` and tell us.' },
  'input-output': { code: 74, says: 'A file, a folder or a port could not be used.' },
  'try-later': {
    code: 75,
    says: 'The control plane answered that it cannot do it now. The same may work later.',
  },
  'not-the-contract': {
    code: 76,
    says: 'Something else than a control plane of this contract answered: a proxy, another version.',
  },
  'key-refused': {
    code: 77,
    says: 'The key is missing, malformed, refused, or of the wrong kind.',
  },
  configuration: { code: 78, says: 'The profile or the config file is damaged or open to others.' },
  conflict: {
    code: 79,
    says: 'What is there already contradicts the request: another task under this idempotency key, a task that has ended, a change in between.',
  },
  superseded: {
    code: 80,
    says: 'Another process has taken over this worker id. Do not restart this one.',
  },
  'spool-locked': { code: 81, says: 'Another live worker holds the spool.' },
  'spool-unwritable': { code: 82, says: 'The spool cannot be read or written at start.' },
  'spool-lost': { code: 83, says: 'The spool was taken away while the worker was running.' },
  'forced-stop': {
    code: 84,
    says: 'A third signal ended the worker before its handlers had ended, or a second one the control plane.',
  },
  'already-running': {
    code: 85,
    says: 'Another `interlock dev` runs in this folder, or another control plane on this data.',
  },
  'port-in-use': { code: 86, says: 'Another program listens on the address of `--listen`.' },
  'child-died': {
    code: 87,
    says: 'A program that `interlock dev` had started has ended by itself.',
  },
} as const satisfies Record<string, { code: number; says: string }>;

export type ExitName = keyof typeof exitCodes;

export function exitCode(name: ExitName): number {
  return exitCodes[name].code;
}
