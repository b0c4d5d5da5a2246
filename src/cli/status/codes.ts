import type { ClientCode } from '../client-codes.ts';

/** Codes of `interlock worker status`. */
export const statusCodes = {
  STATUS_NOT_FOUND: {
    exit: 'not-found',
    title: 'No worker with a status port was found on this machine',
    next: 'Start the worker with `--status-listen 127.0.0.1:7421`, or name it: `--status-listen`, `--worker-id`, `--spool`.',
  },
  STATUS_UNREACHABLE: {
    exit: 'unreachable',
    title: 'The status port of the worker does not answer, or somebody else answers there',
    next: 'See its log: it may be stopped, or busy starting. Check the address.',
  },
} as const satisfies Readonly<Record<string, ClientCode>>;
