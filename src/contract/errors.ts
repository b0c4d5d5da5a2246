/**
 * One error class for everything that a person or a program has to handle, and the table of the codes a
 * task can end with. Match on `code`, show `message` and `hint`. No dependencies: handler hosts load it.
 */
export class TaskError extends Error {
  /** From this project's tables (`problemCodes`, `taskErrorCodes`, the CLI's) or a handler's own. */
  readonly code: string;
  /** Whether the same call may work later without a change. */
  readonly retryable: boolean;
  /** The next step, as a sentence. */
  readonly hint: string | undefined;
  /** Further facts, safe to print. */
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: string,
    message: string,
    options: {
      retryable?: boolean;
      hint?: string | undefined;
      cause?: unknown;
      details?: Readonly<Record<string, unknown>> | undefined;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TaskError';
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.hint = options.hint;
    this.details = options.details;
  }

  /** With its message, which JSON leaves out of other errors; without its stack and cause. */
  toJSON(): Readonly<Record<string, unknown>> {
    const { name, code, message, retryable, hint, details } = this;
    return { name, code, message, retryable, hint, details };
  }
}

/** What `error` of a report holds: how a handler failed, cut to its bounds. */
export interface TaskFailure {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  /** A lower bound of the delay before the next attempt. */
  readonly retryAfterMs?: number | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** Codes of a task's `error.code`. `by`: who says so. A handler's own codes stand beside them. */
export const taskErrorCodes = {
  ATTEMPTS_EXHAUSTED: {
    by: 'control plane',
    title: 'Every permitted attempt was lost',
    next: 'See `details.reason` (out of memory, host died, timeout, lease); mend the cause, then `interlock tasks retry <task-id> --reason "…"`.',
  },
  OUTCOME_UNKNOWN: {
    by: 'control plane',
    title: 'It is not known whether the effect took place',
    next: 'Look at the outside world, then `interlock tasks resolve <task-id>` with what you found.',
  },
  RESOLVED_FAILED: {
    by: 'control plane',
    title: 'An operator looked and resolved it as failed: the effect did not take place',
    next: 'Nothing has to be done. It can be run again: `interlock tasks retry <task-id> --reason "…"`.',
  },
  UNDELIVERABLE: {
    by: 'control plane',
    title: 'Workers took the task and gave it back too often',
    next: 'See the journal for the reasons of release; mend the worker, then `interlock tasks retry <task-id> --reason "…"`.',
  },
  DEADLINE_PASSED: {
    by: 'control plane',
    title: '`deadlineAt` passed before the task was done',
    next: 'Retry it without the deadline, or add workers.',
  },
  QUEUE_TIMEOUT: {
    by: 'control plane',
    title: 'No worker took the task within `queueTimeoutMs`',
    next: 'Start a worker that serves the type in that pool, then retry.',
  },
  HOST_UNHEALTHY: {
    by: 'handler',
    title: 'The handler’s host could not do it: `HostError`',
    next: 'See `interlock tasks workers`: its worker leaves the type alone for a while. Mend the host.',
  },
  HANDLER_ERROR: {
    by: 'worker',
    title: 'The handler threw an error without a code',
    next: 'See the message and the task’s log.',
  },
  INPUT_INVALID: {
    by: 'worker',
    title: 'The input does not fit the handler’s schema',
    next: 'Correct the fields named in the message and submit again. With `error.begun: false` the handler was not called in that attempt; `error.effect: "begun"` beside it is about an earlier one.',
  },
  RESULT_INVALID: {
    by: 'worker',
    title: 'The handler returned what JSON cannot hold, or what its schema does not allow',
    next: 'Correct the handler; the message names the path.',
  },
  RESULT_REFUSED: {
    by: 'worker',
    title: 'The control plane refused the result for good',
    next: 'The task has failed, but its result is kept on the worker: on its machine, `interlock spool show <task> --full --json --spool <its spool>` has it. Most often it is too large.',
  },
  FILE_MISMATCH: {
    by: 'worker',
    title: 'A file does not have the size or hash that was promised',
    next: 'Upload it again.',
  },
  FLOW_CHANGED: {
    by: 'worker',
    title: 'The code of the flow no longer fits its history',
    next: 'Serve the old version beside the new one.',
  },
} as const satisfies Record<string, { by: string; title: string; next: string }>;

export type TaskErrorCode = keyof typeof taskErrorCodes;

/** Cuts a text to `max` characters, says that it was cut, and leaves no half character. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text.toWellFormed();
  const mark = ` … (cut, ${text.length} characters)`;
  return text.slice(0, Math.max(0, max - mark.length)).toWellFormed() + mark;
}
