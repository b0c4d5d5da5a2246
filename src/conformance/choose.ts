import type { Case } from './case.ts';

/**
 * The cases that `--only` names: each pattern is a part of a name (`fencing`, `fencing/wrong`), a name with `*`, or the
 * number of a promise (`1.3`). No pattern: all of them.
 */
export function chosen<World>(
  cases: readonly Case<World>[],
  patterns: readonly string[],
): readonly Case<World>[] {
  if (patterns.length === 0) return cases;
  const tests = patterns.map(matcher);
  return cases.filter((one) => tests.some((test) => test(one)));
}

function matcher(pattern: string): (one: Case<unknown> | Case<never>) => boolean {
  if (/^\d+\.\d+$/.test(pattern)) return ({ promises }) => promises.includes(pattern);
  if (!pattern.includes('*')) return ({ name }) => name.includes(pattern);
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  const whole = new RegExp(`^${parts.join('.*')}$`);
  return ({ name }) => whole.test(name);
}
