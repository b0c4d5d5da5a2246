import { TaskError } from '../contract/errors.ts';
import { parseTypeKey } from '../contract/type-key.ts';
import { valueInWords } from '../core/value-words.ts';
import { GATES, HOSTS, isDuration, SAFETIES } from '../handler/declaration.ts';
import type { HandlerDefinition, HandlerFunction } from '../handler/define.ts';
import type { Declaration } from '../handler/protocol.ts';
import type { ServedHandler } from '../worker/worker.ts';
import { checkOptions, judgedElsewhere, mustBeOneOf, type OptionChecks } from './options.ts';

/** How a handler is to be treated; see `defineHandler`. */
export type HandleOptions = Omit<HandlerDefinition, 'run'>;

const checks: OptionChecks<HandlerDefinition> = {
  effectSafety: mustBeOneOf(SAFETIES),
  effectGate: mustBeOneOf(GATES),
  host: mustBeOneOf(HOSTS),
  timeoutMs: (value) => (isDuration(value) ? undefined : 'a whole number of milliseconds from 1'),
  input: judgedElsewhere,
  output: judgedElsewhere,
  // Of a definition that is given whole.
  run: judgedElsewhere,
};

/**
 * What `handle()` was given, as one definition: a function and options, or a definition in place of both. Throws
 * `INVALID_OPTION` for a name that is not known in either, and where there is no function to call.
 */
export function definitionOf<Input, Result>(
  given: HandlerFunction<Input, Result> | HandlerDefinition<Input, Result>,
  options: HandleOptions | undefined,
): HandlerDefinition<Input, Result> {
  if (options !== undefined) checkOptions('handle()', options, checks);
  if (typeof given === 'function') return { ...(options as object), run: given };
  if (typeof given !== 'object' || given === null) throw noFunction(given);
  checkOptions('handle()', given, checks);
  if (typeof given.run !== 'function') throw noFunction(given.run, 'run of the definition is');
  if (options !== undefined)
    throw new TaskError(
      'INVALID_OPTION',
      'handle() got a definition and options beside it: nobody could say which of them counts.',
      { hint: 'Write the options into the definition, or give its run and the options.' },
    );
  return given;
}

function noFunction(given: unknown, what = 'its handler is'): TaskError {
  return new TaskError(
    'INVALID_OPTION',
    `handle() has no function to call: ${what} ${valueInWords(given)}.`,
    { hint: "Give it one: handle('demo/hello', 1, async (input, ctx) => …)." },
  );
}

/**
 * What stands in another place than `handle()` has it is told as that, before it is taken for a wrong value. Throws
 * `INVALID_OPTION`.
 */
export function checkOrder(
  type: unknown,
  schemaVersion: unknown,
  run: unknown,
  options: unknown,
): void {
  const order = 'handle(type, schemaVersion, handler, options)';
  if (typeof type === 'string' && (typeof schemaVersion === 'function' || hasRun(schemaVersion))) {
    const both = parseTypeKey(type);
    throw new TaskError(
      'INVALID_OPTION',
      `${order} got the handler in place of schemaVersion: the version is missing.`,
      {
        hint: `Write handle('${both?.type ?? type.slice(0, 100)}', ${both?.schemaVersion ?? 1}, …): the handler comes third.`,
      },
    );
  }
  if (typeof options === 'function')
    throw new TaskError(
      'INVALID_OPTION',
      `${order} got a function as its options and ${valueInWords(run)} as its handler: the function comes third, the options after it.`,
      {
        hint: 'Change the two about.',
      },
    );
}

function hasRun(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'run' in value;
}

/** As the agent serves it. */
export function served(type: string, schemaVersion: number, declared: Declaration): ServedHandler {
  return {
    type,
    schemaVersion,
    effectSafety: declared.effectSafety,
    effectGate: declared.effectGate,
    ...(declared.timeoutMs === undefined ? {} : { timeoutMs: declared.timeoutMs }),
    ...(declared.inputSchema === undefined ? {} : { inputSchema: declared.inputSchema }),
    ...(declared.outputSchema === undefined ? {} : { outputSchema: declared.outputSchema }),
  };
}
