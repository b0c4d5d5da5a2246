import { checkers } from './checkers/index.ts';
import { faultNames } from './faults.ts';
import type { Outcome } from './simulation.ts';

/** At most so many of what broke: the first ones tell the most. */
const TOLD = 10;

/** A run that failed, line by line: what broke, how to repeat it, and how often things went wrong. */
export function failureInWords(outcome: Outcome): string[] {
  const { options: o, violations } = outcome;
  return [
    `✗ ${o.world}, seed ${o.seed}, store ${o.store}`,
    ...violations.slice(0, TOLD).map(({ checker, text }) => {
      const rule = checkers.find(({ name }) => name === checker)?.rule;
      return `  ${checker}${rule ? ` (${rule})` : ''}: ${text}`;
    }),
    ...repeatInWords(outcome),
  ];
}

/** The run that `shrink` made of it. */
export function smallerInWords(small: Outcome): string[] {
  const [first] = small.violations;
  return [
    `  smaller, ${small.faultSteps} steps with faults, ${small.tasks} tasks: ${first?.checker}: ${first?.text}`,
    ...repeatInWords(small),
  ];
}

function repeatInWords(outcome: Outcome): string[] {
  return [`  repeat: ${command(outcome)}`, `  rates: ${ratesOf(outcome)}`];
}

function command({ options: o }: Outcome): string {
  const parts = [`npm run sim -- --world ${o.world} --seed ${o.seed}`];
  if (o.store === 'sqlite') parts.push('--store sqlite');
  if (o.steps !== undefined) parts.push(`--steps ${o.steps}`);
  if (o.tasks !== undefined) parts.push(`--tasks ${o.tasks}`);
  const on = Object.entries(o.rates ?? {}).filter(([, rate]) => rate > 0);
  if (o.rates)
    parts.push(`--faults ${on.map(([name, rate]) => `${name}=${rate}`).join(',') || "''"}`);
  return `${parts.join(' ')} --story`;
}

function ratesOf({ rates }: Outcome): string {
  const on = faultNames.filter((name) => rates[name] > 0);
  return on.map((name) => `${name} ${Number(rates[name].toFixed(4))}`).join(', ') || 'none';
}
