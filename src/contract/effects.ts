import * as z from 'zod';

/** How safe it is to run a handler again. Missing or unknown to us counts as `non-idempotent`. */
export type EffectSafety = 'pure' | 'idempotent' | 'non-idempotent';
/** Which accepted report is the point of no return of a non-idempotent attempt. */
export type EffectGate = 'start' | 'effect';

export const effectSafety = z.enum(['pure', 'idempotent', 'non-idempotent']);
export const effectGate = z.enum(['start', 'effect']);
/** Reader's form: a word that we do not know is the careful one. */
export const effectSafetyRead = effectSafety
  .default('non-idempotent')
  .catch('non-idempotent')
  .meta({
    openapi: { default: 'non-idempotent', examples: effectSafety.options },
    description: '`pure`, `idempotent` or `non-idempotent`; anything else counts as the last.',
  });
export const effectGateRead = effectGate
  .default('start')
  .catch('start')
  .meta({
    openapi: { default: 'start', examples: effectGate.options },
    description:
      'The report that is the gate: `start` or `effect`; anything else counts as `start`.',
  });
