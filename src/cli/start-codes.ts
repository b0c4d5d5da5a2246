import type { ClientCode } from './client-codes.ts';

/** Codes of what starts: a control plane, and everything at once. */
export const startCodes = {
  ALREADY_RUNNING: {
    exit: 'already-running',
    title: 'Another `interlock dev` runs in this folder',
    next: 'Use that one, or end the process that is named.',
  },
  DATA_IN_USE: {
    exit: 'already-running',
    title: 'Another control plane uses this data',
    next: 'Stop that one, or name another `--data`.',
  },
  DATA_UNUSABLE: {
    exit: 'input-output',
    title: 'The data folder cannot be used, or its database is gone or damaged',
    next: 'Follow the step that is printed: most often a backup.',
  },
  HANDLERS_NOT_WRITTEN: {
    exit: 'input-output',
    title: 'The handlers that come in the executable cannot be written to the state folder',
    next: 'Give a folder with `--handlers`, or set XDG_STATE_HOME to one that can be written.',
  },
  NO_PROCESS_LIST: {
    exit: 'cannot-start',
    title: 'A worker on Linux without /proc',
    next: 'Mount it: `mount -t proc proc /proc`.',
  },
  STORE_TOO_NEW: {
    exit: 'configuration',
    title: 'A newer program wrote the database',
    next: 'Run that one; or go back to the copy of the folder from before it ([upgrading](operations.md#upgrading-and-going-back)).',
  },
  STORE_TOO_OLD: {
    exit: 'configuration',
    title:
      'The database wants to be brought to this version, and is in use (or another command is at it)',
    next: 'Try again in a moment; else stop who uses it, and start the control plane.',
  },
  ADDRESS_IN_USE: {
    exit: 'port-in-use',
    title: 'Another program listens on the address',
    next: 'End that program, or choose another port with `--listen` (of a worker’s status: `--status-listen`).',
  },
  LISTEN_FAILED: {
    exit: 'input-output',
    title: 'The address cannot be listened on',
    next: 'Check that it is one of this machine and that the port may be used.',
  },
  LISTEN_PLAIN: {
    exit: 'usage',
    title:
      'Without TLS, keys would travel readable: the address can be reached from other machines',
    next: 'Give `--tls-cert` and `--tls-key`, or put a proxy with TLS in front and say `--behind-proxy`.',
  },
  LISTEN_WITHOUT_KEYS: {
    exit: 'usage',
    title: 'The address can be reached from other machines, and there is no key yet',
    next: 'Make one before: `interlock keys new "admin" --kind admin --data <folder> --create-data`.',
  },
  TLS_UNUSABLE: {
    exit: 'input-output',
    title:
      'A file with the certificate or its key is not there, cannot be read, or holds something else',
    next: 'Give files in PEM form that this user may read; a key without a passphrase.',
  },
  TLS_MISMATCH: {
    exit: 'input-output',
    title: 'The key is not the one of the certificate',
    next: 'Give the two that were made together, the own certificate first in its file.',
  },
  TLS_EXPIRED: {
    exit: 'input-output',
    title: 'The certificate has expired',
    next: 'Renew it, or check the clock of the machine.',
  },
  LISTEN_INVALID: {
    exit: 'usage',
    title: 'The address to listen on is none',
    next: 'Write it as 127.0.0.1:7420 or [::1]:7420.',
  },
  CHILD_DIED: {
    exit: 'child-died',
    title: 'A program that `interlock dev` had started has ended by itself',
    next: 'See its lines, then start again.',
  },
  BUG: {
    exit: 'bug',
    title: 'A fault of this program',
    next: 'Run it again with `--debug` and tell us.',
  },
} as const satisfies Readonly<Record<string, ClientCode>>;
