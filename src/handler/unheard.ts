/**
 * Words of a module that look like part of its declaration and are none: a misspelt one would be a wish that nobody heard.
 * What a module exports may be anything, so there only a near name with a fitting value is told; of what is given to
 * `defineHandler`, every name that it does not know.
 */

import type { Policy } from '../contract/policy.ts';
import { nearest } from '../core/nearest.ts';
import { HANDLER_BRAND, type HandlerDefinition } from './define.ts';
import type { LoadProblem } from './protocol.ts';

type Holder = Readonly<Record<PropertyKey, unknown>>;

/** What the value of a word can look like; keys of the definition, so that none is forgotten here. */
const FITS: Readonly<Record<Exclude<keyof HandlerDefinition, 'run'>, (value: unknown) => boolean>> =
  {
    effectSafety: (value) => isWord(value, ['pure', 'idempotent', 'non-idempotent']),
    effectGate: (value) => isWord(value, ['start', 'effect']),
    host: (value) => isWord(value, ['own', 'shared']),
    timeoutMs: (value) => typeof value === 'number',
    input: isSchema,
    output: isSchema,
  };
const NAMES = Object.keys(FITS);

const POLICY: Readonly<Record<keyof Policy, true>> = {
  maxAttempts: true,
  backoff: true,
  attemptTimeoutMs: true,
  leaseMs: true,
  lostGraceMs: true,
  queueTimeoutMs: true,
  deadlineAt: true,
};

/** One for each name. @param holders what the declaration was read from: the module, a function, a definition. */
export function unheard(holders: readonly Holder[]): LoadProblem[] {
  const declared = (name: string) => holders.some((holder) => holder[name] !== undefined);
  const told = new Map<string, LoadProblem>();
  for (const holder of holders) {
    const strict = HANDLER_BRAND in holder;
    for (const name of Object.keys(holder)) {
      if (name === 'default' || name === 'run' || NAMES.includes(name)) continue;
      if (Object.hasOwn(POLICY, name)) told.set(name, ofPolicy(name));
      else if (strict) told.set(name, unknown(name, nearest(name, [...NAMES, 'run'])));
      else {
        const meant = nearest(name, NAMES, 1) as keyof typeof FITS | undefined;
        // `Input` beside `input` is the schema that was declared.
        if (meant && !declared(meant) && FITS[meant](holder[name]))
          told.set(name, unknown(name, meant));
      }
    }
  }
  return [...told.values()].slice(0, TOLD_MAX);
}

const TOLD_MAX = 10;

function unknown(name: string, meant: string | undefined): LoadProblem {
  const shown = name.slice(0, 100);
  return {
    code: 'HANDLER_WORD_UNKNOWN',
    message: `It declares "${shown}", which means nothing here.${meant ? ` Did you mean ${meant}?` : ''}`,
    hint: `${meant ? `Write ${meant}` : 'Take it out'}; a handler declares ${NAMES.join(', ')}.`,
  };
}

function ofPolicy(name: string): LoadProblem {
  return {
    code: 'HANDLER_WORD_UNKNOWN',
    message: `It declares "${name}", which is part of a task's policy and is not heard from a handler.`,
    hint: `Give it where the task is submitted: interlock tasks submit --policy ${name}=…, or policy: { ${name} } of the SDK.`,
  };
}

function isWord(value: unknown, words: readonly string[]): boolean {
  return typeof value === 'string' && words.includes(value.toLowerCase());
}

function isSchema(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['~standard', 'type', 'properties', '$ref'].some((name) => name in value)
  );
}
