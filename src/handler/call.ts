/**
 * One handler call from its input to its outcome. Phases: checking (input), running, over. The first outcome
 * wins: whatever the handler does or throws after it changes nothing.
 */
import { resolve } from 'node:path';
import { cutText, type TaskFailure } from '../contract/errors.ts';
import { copyPlain, toJson } from '../contract/json.ts';
import { bounds } from '../contract/limits.ts';
import { ContextControl, type ContextDoor } from './context.ts';
import type { Handler } from './declaration.ts';
import type { StopReason } from './errors.ts';
import { readThrown } from './failure.ts';
import { rooted } from './paths.ts';
import type { CallJob, CallOutcome } from './protocol.ts';
import type { Check, SchemaIssue } from './schema.ts';

export interface RunningCall {
  /** Never rejects. Pending for as long as the handler is. */
  readonly outcome: Promise<CallOutcome>;
  abort(reason: StopReason): void;
  openGate(): void;
  refuseGate(why: string): void;
  /** Something that belongs to this call was thrown outside of its promise: that is its outcome. */
  crashed(thrown: unknown): void;
}

/** Starts the handler. Nothing is said through `door` after the outcome. */
export function startCall(handler: Handler, job: CallJob, door: ContextDoor): RunningCall {
  let over = false;
  const control = new ContextControl(job, {
    progress: (update) => over || door.progress(update),
    log: (level, text) => over || door.log(level, text),
    effectRequested: () => over || door.effectRequested(),
  });
  let settle = (_outcome: CallOutcome) => {};
  const outcome = new Promise<CallOutcome>((resolve) => {
    settle = (outcome) => {
      over = true;
      resolve(outcome);
    };
  });
  const crashed = (thrown: unknown) => {
    if (over) return;
    const { brand, failure, opinion, stack, caused } = readThrown(thrown, folderOf(handler, job));
    if (control.stopped && !opinion) return settle({ how: 'stopped' });
    // The report has messages and places in the handler's own code; the log has the whole stacks. An error of ours was
    // thrown on purpose: there is more to say only where another one led to it.
    if (stack !== undefined && (brand === undefined || caused)) door.log('error', stack);
    settle({ how: brand === 'unknown' ? 'unknown' : 'threw', error: failure });
  };
  run(handler, job, control).then(settle, crashed);
  return {
    outcome,
    abort: (reason) => control.abort(reason),
    openGate: () => control.openGate(),
    refuseGate: (why) => control.refuseGate(why),
    crashed,
  };
}

/** The handlers folder: a file lies in it as deep as its type has parts. In a program the folder that it was started in. */
function folderOf({ file }: Handler, { type }: CallJob): string {
  return file === undefined ? process.cwd() : resolve(file, ...type.split('/').map(() => '..'));
}

async function run(handler: Handler, job: CallJob, control: ContextControl): Promise<CallOutcome> {
  const input = await checked(handler.checkInput, job.input);
  // What is thrown while it is checked is no such word: only here is it certain that nothing was called.
  if (!input.ok)
    return { how: 'threw', error: invalid('INPUT_INVALID', INPUT, input.issues), begun: false };
  const returned = await handler.run(input.value, control.context);
  const result = await checked(handler.checkOutput, returned);
  if (!result.ok) return { how: 'threw', error: invalid('RESULT_INVALID', RESULT, result.issues) };
  const plain = copyPlain(result.value);
  if (plain !== undefined) return { how: 'returned', result: plain };
  const made = toJson(result.value);
  if (made.ok) return { how: 'returned', result: made.value };
  const issue = { path: rooted('result', made.issue.path), message: made.issue.message };
  return { how: 'threw', error: invalid('RESULT_INVALID', NOT_JSON, [issue]) };
}

const INPUT = 'The input does not fit the handler’s schema';
const RESULT = 'The handler’s result does not fit its own schema';
const NOT_JSON = 'The handler returned what JSON cannot hold';
/** Issues that stand in the message; the details have more. */
const TOLD_MAX = 5;

function checked(check: Check | undefined, value: unknown) {
  return check ? check(value) : { ok: true as const, value };
}

function invalid(code: string, what: string, issues: readonly SchemaIssue[]): TaskFailure {
  const told = issues.slice(0, TOLD_MAX).map(({ path, message }) => `${path} ${message}`);
  const more = issues.length > TOLD_MAX ? `; and ${issues.length - TOLD_MAX} more` : '';
  return {
    code,
    message: cutText(`${what}: ${told.join('; ')}${more}.`, bounds.messageChars),
    retryable: false,
    details: {
      issues: issues.map(({ path, message }) => ({
        path: cutText(path, ISSUE_CHARS),
        message: cutText(message, ISSUE_CHARS),
      })),
    },
  };
}

/** Twenty issues of this size stay within what details may have. */
const ISSUE_CHARS = 300;
