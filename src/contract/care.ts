import type { EffectGate, EffectSafety } from './effects.ts';

/** How carefully an attempt is run, or how carefully a handler wants to be. */
export interface Care {
  readonly effectSafety: EffectSafety;
  readonly effectGate: EffectGate;
}

/**
 * Whether the handler wants more care than the attempt would get: it could be run a second time, or have its effect
 * before a gate. More than it wants harms nobody. The gate counts for `non-idempotent` alone; a `start` gate guards all
 * of a handler, also its call of `beginEffect`.
 */
export function lessCareful(attempt: Care, handler: Care): boolean {
  const [given, wanted] = [steps[attempt.effectSafety], steps[handler.effectSafety]];
  if (given !== wanted) return given < wanted;
  return (
    handler.effectSafety === 'non-idempotent' &&
    handler.effectGate === 'start' &&
    attempt.effectGate === 'effect'
  );
}

/** `pure`, `non-idempotent with the gate "start"`. */
export function careInWords({ effectSafety, effectGate }: Care): string {
  return effectSafety === 'non-idempotent'
    ? `${effectSafety} with the gate "${effectGate}"`
    : effectSafety;
}

const steps = { pure: 0, idempotent: 1, 'non-idempotent': 2 };
