import { type TaskErrorCode, taskErrorCodes } from '../contract/errors.ts';
import type { TaskErrorView, TaskView } from '../contract/index.ts';
import { taskPageDefaults } from './task-page-defaults.ts';

/** Failures as people meet them: whether one still asks for somebody, and who named it. Pure. */

/** Code of a task whose unknown outcome an operator has resolved as failed: it asks for nobody any more. */
export const RESOLVED_FAILED = 'RESOLVED_FAILED' satisfies TaskErrorCode;

export function isResolved(error: Pick<TaskErrorView, 'code'> | undefined): boolean {
  return error?.code === RESOLVED_FAILED;
}

/** Failures that ended before this instant are listed under their status only. */
export function failuresSinceMs(nowMs: number): number {
  return nowMs - taskPageDefaults.failureStandsMs;
}

/** It stands among what needs a person. @param nowMs by the control plane's clock. */
export function failureStands({ status, error, finishedAt }: TaskView, nowMs: number): boolean {
  if (status !== 'failed' || isResolved(error)) return false;
  const endedMs = Date.parse(finishedAt ?? '');
  return !(endedMs < failuresSinceMs(nowMs));
}

/** Whether the catalogue of failures has this code; the others are a handler's own. */
export function isCatalogued(code: string): code is TaskErrorCode {
  return Object.hasOwn(taskErrorCodes, code);
}

/** What an error says of effects, in words; `undefined`: nothing. `begun: false` is about its own attempt alone. */
export function effectWords({
  effect,
  begun,
  attempt,
}: Pick<TaskErrorView, 'effect' | 'begun' | 'attempt'>): string | undefined {
  const here = begun === false ? 'In this attempt the handler was not called' : '';
  if (effect === 'begun') return here ? `${here}. ${GATE_PASSED}` : GATE_PASSED;
  if (!here) return undefined;
  return attempt === 1 ? NOT_CALLED : `${here}; what earlier ones did, it does not say.`;
}

const NOT_CALLED = 'The handler was not called, so no effect of it took place.';
export const GATE_PASSED = 'An attempt was past its gate: its effect may have taken place.';

/** Begins what is told of an attempt that was lost past its gate. */
export const EFFECT_MAY_BE = 'The effect may or may not have taken place';
