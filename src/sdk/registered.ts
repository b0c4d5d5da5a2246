import { TaskError } from '../contract/errors.ts';
import { valueInWords } from '../core/value-words.ts';
import type { HandlerDefinition, HandlerFunction } from '../handler/define.ts';
import type { Declaration } from '../handler/protocol.ts';
import type { ServedHandler } from '../worker/worker.ts';
import { checkOptions, judgedElsewhere, type OptionChecks } from './options.ts';

/** How a handler is to be treated; see `defineHandler`. */
export type HandleOptions = Omit<HandlerDefinition, 'run'>;

const checks: OptionChecks<HandlerDefinition> = {
  effectSafety: judgedElsewhere,
  effectGate: judgedElsewhere,
  host: judgedElsewhere,
  timeoutMs: judgedElsewhere,
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
