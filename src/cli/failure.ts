import { cutText, TaskError } from '../contract/index.ts';
import { WireFault } from '../wire/fault.ts';
import { withoutKeys } from '../wire/key.ts';
import { type ExitName, exitCodes } from './exit-codes.ts';
import type { Style } from './style.ts';

/** How a command failed, ready to be told: what happened to what and why, and the next step. */
export interface Failure {
  readonly code: string;
  readonly exit: ExitName;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  /** Only shown with `--debug`. */
  readonly stack?: string | undefined;
}

/** The one table from codes to exits; what is not in it is judged by its form. */
const EXITS: Readonly<Record<string, ExitName>> = {
  USAGE: 'usage',
  SETTING_INVALID: 'usage',
  INVALID_ADDRESS: 'usage',
  INSECURE_HTTP: 'usage',
  INVALID_PROXY: 'usage',
  CONFIG_INVALID: 'configuration',
  INPUT_JSON: 'input-refused',
  INVALID_REQUEST: 'input-refused',
  PAYLOAD_TOO_LARGE: 'input-refused',
  UNSUPPORTED_MEDIA_TYPE: 'input-refused',
  FILE_MISSING: 'input-refused',
  NOT_FOUND: 'not-found',
  FILE_NOT_FOUND: 'not-found',
  KEY_MISSING: 'key-refused',
  KEY_MALFORMED: 'key-refused',
  KEY_UNREADABLE: 'key-refused',
  UNAUTHENTICATED: 'key-refused',
  SCOPE_DENIED: 'key-refused',
  KEY_REFUSED: 'key-refused',
  IDEMPOTENCY_CONFLICT: 'conflict',
  TASK_TERMINAL: 'conflict',
  CONFLICT: 'conflict',
  STALE_ATTEMPT: 'conflict',
  LEASE_EXPIRED: 'conflict',
  SESSION_SUPERSEDED: 'superseded',
  CONTRACT_UNSUPPORTED: 'not-the-contract',
  UNSUPPORTED_OPERATION: 'not-the-contract',
  RATE_LIMITED: 'try-later',
  INTERNAL: 'try-later',
  UNAVAILABLE: 'try-later',
  UNREACHABLE: 'unreachable',
  NOT_THE_CONTRACT: 'not-the-contract',
  SPOOL_LOCKED: 'spool-locked',
  SPOOL_UNWRITABLE: 'spool-unwritable',
  SPOOL_UNSAFE: 'spool-unwritable',
  SPOOL_UNREADABLE: 'spool-unwritable',
  SPOOL_LOST: 'spool-lost',
  ALREADY_RUNNING: 'already-running',
  CA_FILE_UNREADABLE: 'input-output',
  FORCED_STOP: 'forced-stop',
  HANDLERS_NONE: 'checks-failed',
  PROJECT_MISMATCH: 'key-refused',
  ADDRESS_IN_USE: 'port-in-use',
  LISTEN_FAILED: 'input-output',
  LISTEN_INVALID: 'usage',
  DATA_IN_USE: 'already-running',
  DATA_UNUSABLE: 'input-output',
  STORE_TOO_NEW: 'configuration',
  STORE_TOO_OLD: 'configuration',
  CHILD_DIED: 'child-died',
  FOLDER_GONE: 'input-output',
  KEY_NOT_SHOWN: 'input-output',
};

/** Anything thrown becomes one shape here, and nowhere else. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof TaskError) {
    const { code, message, hint, details, stack } = thrown;
    return clean({ code, exit: EXITS[code] ?? 'bug', message, hint, details, stack });
  }
  if (thrown instanceof WireFault) {
    const { message, stack } = thrown;
    const strange = thrown.reason === 'not-the-contract' || thrown.reason === 'redirect';
    const code = strange ? 'NOT_THE_CONTRACT' : 'UNREACHABLE';
    return clean({ code, exit: EXITS[code] ?? 'bug', message, stack });
  }
  const system = thrown as NodeJS.ErrnoException | undefined;
  if (thrown instanceof Error && system?.syscall && system.code)
    return clean(systemFailure(system));
  const stack = thrown instanceof Error ? thrown.stack : undefined;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return clean({
    code: 'BUG',
    exit: 'bug',
    message: `This is a bug in interlock: ${message || 'it failed without a message'}.`,
    hint: 'Run it again with --debug for the place in the code, and tell us.',
    stack,
  });
}

/** The lines for a person: what, then the next step. */
export function failureText(failure: Failure, style: Style, debug: boolean): string {
  const lines = [`${style.bad('error')}  ${failure.message}`];
  for (const issue of issuesOf(failure)) lines.push(`       ${issue}`);
  if (failure.hint) lines.push(`${style.faint('next')}   ${failure.hint}`);
  const ids = [failure.code, failure.details?.requestId].filter(Boolean).join(', ');
  lines.push(style.faint(`code   ${ids} (exit ${exitCodes[failure.exit].code}, ${failure.exit})`));
  if (debug && failure.stack) lines.push('', style.faint(failure.stack));
  return `${lines.join('\n')}\n`;
}

export function failureJson(failure: Failure, debug: boolean): string {
  const { code, exit, message, hint, details, stack } = failure;
  const error = {
    code,
    message,
    ...(hint && { hint }),
    ...(details && { details }),
    exit,
    exitCode: exitCodes[exit].code,
    ...(debug && stack && { stack }),
  };
  return `${JSON.stringify({ error })}\n`;
}

function systemFailure(error: NodeJS.ErrnoException): Failure {
  const { code = '', syscall, path, message, stack } = error;
  const words: Record<string, string> = {
    ENOENT: 'does not exist',
    EACCES: 'may not be used by this user',
    EPERM: 'may not be used by this user',
    ENOSPC: 'does not fit: the disk is full',
    EROFS: 'is on a read-only disk',
    EISDIR: 'is a folder',
    ENOTDIR: 'is no folder',
    EADDRINUSE: 'is in use by another program',
    EADDRNOTAVAIL: 'is no address of this machine',
  };
  const address = error as { address?: string; port?: number };
  const what = path ?? (address.address ? `${address.address}:${address.port}` : syscall);
  return {
    code,
    exit: code === 'ENOENT' ? 'not-found' : 'input-output',
    message: words[code] ? `${what} ${words[code]} (${code}).` : `${what}: ${message}.`,
    hint:
      code === 'EADDRINUSE' ? 'End that program, or choose another port with --listen.' : undefined,
    stack,
  };
}

function issuesOf(failure: Failure): string[] {
  const issues = failure.details?.issues;
  if (!Array.isArray(issues) || issues.length < 2) return [];
  return issues.map(
    (issue) =>
      `${(issue as { path: string }).path || 'body'} ${(issue as { message: string }).message}`,
  );
}

/** No key and no endless text gets out through an error. */
function clean(failure: Failure): Failure {
  return {
    ...failure,
    message: cutText(withoutKeys(failure.message), 4_000),
    // A hint may show how a key is sent (`Bearer il_…`); only a whole key is taken out of it.
    ...(failure.hint && { hint: failure.hint.replace(/\bil_\w{8,}/g, 'il_…') }),
    ...(failure.stack && { stack: withoutKeys(failure.stack) }),
  };
}
