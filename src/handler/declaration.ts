/**
 * Reads what a loaded module says: which function runs, and how safe it is. Takes every shape that compilers
 * make of `export default`: a module, CommonJS, transpiled CommonJS that import() has wrapped once more.
 */
import { bounds } from '../contract/limits.ts';
import { nearest } from '../core/nearest.ts';
import { HANDLER_BRAND, type HandlerFunction } from './define.ts';
import { errorText } from './failure.ts';
import type { Declaration, LoadProblem } from './protocol.ts';
import { type Check, describeSchema, makeCheck } from './schema.ts';
import { unheard } from './unheard.ts';

/** A handler that can be called. */
export interface Handler {
  /** Absolute; absent where it is a function of a program. */
  readonly file?: string;
  readonly run: HandlerFunction;
  readonly declaration: Declaration;
  readonly checkInput?: Check | undefined;
  readonly checkOutput?: Check | undefined;
}

export type HandlerRead =
  | {
      readonly ok: true;
      readonly handler: Handler;
      /** What it says that is not heard. */
      readonly warnings?: readonly LoadProblem[];
    }
  | { readonly ok: false; readonly problem: LoadProblem };

/** `exports`: the namespace that `import()` gave, or `{ default: … }`. Never throws. */
export async function readHandler(exports: unknown): Promise<HandlerRead> {
  try {
    return await read(exports as Holder);
  } catch (error) {
    // A getter or a proxy among the exports.
    return bad('HANDLER_BAD_DECLARATION', `Its declaration cannot be read: ${errorText(error)}`);
  }
}

type Holder = Record<PropertyKey, unknown>;
export const SAFETIES = ['pure', 'idempotent', 'non-idempotent'] as const;
export const GATES = ['start', 'effect'] as const;
export const HOSTS = ['own', 'shared'] as const;
/** How often a default export may be wrapped in another. */
const WRAPPED_MAX = 3;

async function read(exports: Holder): Promise<HandlerRead> {
  const holders: Holder[] = [exports];
  let value = exports.default;
  for (let i = 0; i < WRAPPED_MAX && isObject(value) && !runsItself(value); i++) {
    holders.push(value);
    value = value.default;
  }
  let run: unknown = value;
  if (typeof value === 'function') holders.push(value as unknown as Holder);
  else if (isObject(value)) {
    holders.push(value);
    run = value.run;
  }
  if (typeof run !== 'function') return noFunction(exports, value);

  const said = (name: string) => {
    const words = holders.map((holder) => holder[name]).filter((word) => word !== undefined);
    if (new Set(words).size > 1) throw new Error(`${name} is declared twice, differently`);
    return words[0];
  };
  // All that is wrong is told at once: each is mended in the same file.
  const wrong: string[] = [];
  const noting = <T>(look: () => T): T | undefined => {
    try {
      return look();
    } catch (error) {
      wrong.push(errorText(error));
      return undefined;
    }
  };
  const effectSafety = noting(() => word('effectSafety', said('effectSafety'), SAFETIES));
  const effectGate = noting(() => word('effectGate', said('effectGate'), GATES)) ?? 'start';
  const shared = noting(() => word('host', said('host'), HOSTS)) === 'shared';
  const timeoutMs = noting(() => durationSaid(said('timeoutMs')));
  const input = noting(() => said('input'));
  const output = noting(() => said('output'));
  const check = (schema: unknown, root: 'input' | 'result') =>
    schema === undefined
      ? undefined
      : makeCheck(schema, root).catch((error: unknown) => {
          wrong.push(errorText(error));
          return undefined;
        });
  const checkInput = await check(input, 'input');
  const checkOutput = await check(output, 'result');
  if (wrong.length > 0) throw new Error(wrong.join('; '));
  if (shared && (effectSafety ?? 'non-idempotent') === 'non-idempotent')
    return unsafe(effectSafety !== undefined);
  const inputSchema = describeSchema(input, 'input');
  const outputSchema = describeSchema(output, 'output');
  const handler: Handler = {
    run: run as HandlerFunction,
    declaration: {
      effectSafety: effectSafety ?? 'non-idempotent',
      safetyDeclared: effectSafety !== undefined,
      effectGate,
      ...(shared ? { host: 'shared' as const } : {}),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(inputSchema === undefined ? {} : { inputSchema }),
      ...(outputSchema === undefined ? {} : { outputSchema }),
    },
    checkInput,
    checkOutput,
  };
  const warnings = unheard(holders);
  return { ok: true, handler, ...(warnings.length > 0 && { warnings }) };
}

/** Stopping one task may end the host, and with it the others in it: nobody could tell how far their effects came. */
function unsafe(declared: boolean): HandlerRead {
  const what = declared ? 'non-idempotent' : 'not declared, which counts as non-idempotent';
  return bad(
    'HANDLER_SHARED_UNSAFE',
    `It asks for host: 'shared' and its effectSafety is ${what}: where one task has to be killed, the others in that process end with it in the middle of their effects, and only pure and idempotent ones may simply run again.`,
    "Take out host: 'shared' (each of its tasks then has a process of its own), or declare effectSafety: 'pure' or 'idempotent' if that is true.",
  );
}

/** A definition: made by `defineHandler`, or an object that has `run`. */
function runsItself(value: Holder): boolean {
  return HANDLER_BRAND in value || typeof value.run === 'function';
}

function noFunction(exports: Holder, value: unknown): HandlerRead {
  const named = Object.keys(exports).filter((name) => typeof exports[name] === 'function');
  const what =
    value === undefined
      ? 'It has no default export'
      : `Its default export is ${isObject(value) ? 'an object without run' : typeof value}`;
  const hint = named[0]
    ? `Write "export default" before the function that runs the task (it exports ${named.slice(0, 5).join(', ')}).`
    : 'Write "export default async (input, ctx) => …" or "export default defineHandler({ run, … })".';
  return bad('HANDLER_NO_FUNCTION', `${what}: there is no function to call.`, hint);
}

function word<Word extends string>(
  name: string,
  said: unknown,
  allowed: readonly Word[],
): Word | undefined {
  if (said === undefined) return undefined;
  const known = allowed.find((word) => word === said);
  if (known) return known;
  const near = typeof said === 'string' ? nearest(said, allowed) : undefined;
  const meant = near === undefined ? '' : `. Did you mean ${near}?`;
  throw new Error(`${name} is ${shown(said)}; it must be ${allowed.join(' or ')}${meant}`);
}

function shown(said: unknown): string {
  if (typeof said === 'string') return JSON.stringify(said.slice(0, 100));
  if (typeof said === 'function' || isObject(said)) return `of the type ${typeof said}`;
  return String(said);
}

function isObject(value: unknown): value is Holder {
  return typeof value === 'object' && value !== null;
}

function durationSaid(said: unknown): number | undefined {
  if (said === undefined || isDuration(said)) return said;
  throw new Error(`timeoutMs is ${shown(said)}; it must be a whole number of milliseconds from 1`);
}

/** What `timeoutMs` may be. */
export function isDuration(value: unknown): value is number {
  return (
    Number.isInteger(value) && (value as number) >= 1 && (value as number) <= bounds.durationMs
  );
}

function bad(
  code: string,
  message: string,
  hint = 'Correct the declaration in the file and start again.',
): HandlerRead {
  return { ok: false, problem: { code, message, hint } };
}
