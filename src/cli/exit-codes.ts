/**
 * How the commands end: every way has a name and a number of its own, and `docs/operations.md` has the page
 * (a test compares them). Where `sysexits.h` has a number that fits, it is that one. After those that are `final`
 * a service manager must not start a worker again: somebody has to do something first.
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
  'outbox-left': {
    code: 14,
    says: 'It is not submitted: stored in the outbox (`tasks submit --store-and-forward` with `--wait`, or with a key that is refused), or left there or refused (`tasks outbox flush`).',
  },
  'checks-failed': {
    code: 20,
    says: 'A check of `tasks doctor` or a case of `conformance` failed, its run was stopped, or the worker has no handler that loads (`--check`: one that does not).',
  },
  'not-ready': {
    code: 21,
    says: 'The worker runs and is not ready: `worker status` says why.',
  },
  usage: {
    code: 64,
    final: true,
    says: 'The command line or a setting is wrong; nothing was done.',
  },
  'input-refused': {
    code: 65,
    says: 'What was given is no valid JSON, does not fit the contract, or is too large.',
  },
  'not-found': { code: 66, says: 'There is no such task, worker, file or record of a spool.' },
  unreachable: {
    code: 68,
    says: 'The control plane (or the status port of a worker) could not be reached: name, connection, TLS, proxy or time.',
  },
  'cannot-start': {
    code: 69,
    final: true,
    says: 'This installation has not been built, or no Node.js fits.',
  },
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
    final: true,
    says: 'The key is missing, malformed, refused, or of the wrong kind.',
  },
  configuration: {
    code: 78,
    final: true,
    says: 'The profile or the config file is damaged or open to others.',
  },
  conflict: {
    code: 79,
    says: 'What is there already contradicts the request: another task under this idempotency key, a task that has ended, a change in between.',
  },
  superseded: {
    code: 80,
    final: true,
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
  'port-in-use': {
    code: 86,
    says: 'Another program listens on the address of `--listen` or `--status-listen`.',
  },
  'child-died': {
    code: 87,
    says: 'A program that `interlock dev` had started has ended by itself.',
  },
  'contract-mismatch': {
    code: 88,
    final: true,
    says: 'Worker and control plane share no version of the contract. Update one of them; the spool keeps what is owed.',
  },
  'service-failed': {
    code: 89,
    says: 'The service does not run, or the service manager of this machine is not there or refused.',
  },
  'update-refused': {
    code: 90,
    says: 'The release is not signed by a trusted key, damaged, older, or for another machine. Nothing was changed.',
  },
  'update-rolled-back': {
    code: 91,
    says: 'The new version did not become ready; the previous one was put back and runs.',
  },
  'update-stuck': {
    code: 92,
    says: 'The new version did not become ready, and the previous one does not run again either. Look at once.',
  },
} as const satisfies Record<string, { code: number; final?: true; says: string }>;

export type ExitName = keyof typeof exitCodes;

export function exitCode(name: ExitName): number {
  return exitCodes[name].code;
}

/** The codes after which a worker is not started again by itself, ascending. */
export const finalExitCodes: readonly number[] = Object.values(exitCodes)
  .filter((one) => 'final' in one)
  .map(({ code }) => code)
  .sort((a, b) => a - b);
