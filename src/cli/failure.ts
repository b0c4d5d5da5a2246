import { isNoCall } from '../client/errors.ts';
import { hideKeys, hideSecrets, hideSecretsIn } from '../contract/hidden.ts';
import { cutText, TaskError } from '../contract/index.ts';
import { WireFault } from '../wire/fault.ts';
import { withoutKeys } from '../wire/key.ts';
import { type ClientCode, clientCodes } from './client-codes.ts';
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

/** Answers of the control plane; those of our own are in `client-codes.ts`. What is in neither is judged by its form. */
const ANSWERS: Readonly<Record<string, ExitName>> = {
  INVALID_REQUEST: 'input-refused',
  PAYLOAD_TOO_LARGE: 'input-refused',
  UNSUPPORTED_MEDIA_TYPE: 'input-refused',
  FILE_MISSING: 'input-refused',
  NOT_FOUND: 'not-found',
  UNAUTHENTICATED: 'key-refused',
  SCOPE_DENIED: 'key-refused',
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
};

const EXITS: Readonly<Record<string, ExitName | undefined>> = {
  ...ANSWERS,
  ...Object.fromEntries(
    Object.values<Readonly<Record<string, ClientCode>>>(clientCodes).flatMap((codes) =>
      Object.entries(codes).map(([code, { exit }]) => [code, exit]),
    ),
  ),
};

/** Anything thrown becomes one shape here, and nowhere else. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof TaskError) {
    const { code, message, details, stack } = thrown;
    const hint = waitHint(thrown) ?? thrown.hint;
    const noCall = isNoCall({ code, kind: details?.kind });
    const exit = noCall ? 'not-the-contract' : (EXITS[code] ?? 'bug');
    return clean({ code, exit, message, hint, details, stack });
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

/** A header is nothing that people see: they are told the seconds. */
function waitHint({ code, details }: TaskError): string | undefined {
  const ms = details?.retryAfterMs;
  if (code !== 'RATE_LIMITED' || typeof ms !== 'number' || !Number.isFinite(ms)) return undefined;
  return `Wait ${Math.max(1, Math.ceil(ms / 1_000))} s, then call it again; call it less often, or use a key with a higher --rate.`;
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
    EBUSY: 'is held by something else, a mount of this single file for example',
    EXDEV: 'lies on another file system than its folder',
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

/** No key, no password of an address and no endless text gets out through an error. */
function clean(failure: Failure): Failure {
  return {
    ...failure,
    message: cutText(hideSecrets(withoutKeys(failure.message)), 4_000),
    // A hint may show how a key is sent (`Bearer il_…`), and how an address is written (`http://user:password@…`).
    ...(failure.hint && { hint: hideKeys(failure.hint) }),
    ...(failure.details && { details: hideSecretsIn(failure.details) }),
    ...(failure.stack && { stack: hideSecrets(withoutKeys(failure.stack)) }),
  };
}
