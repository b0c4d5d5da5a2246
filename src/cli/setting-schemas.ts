import * as z from 'zod';
import { bounds } from '../contract/index.ts';
import { parseDuration } from './duration.ts';

/** How values of settings are written. A message follows the name of the place that holds the value. */

export const text = z.string().min(1, 'is empty').max(4_096, 'is too long');

export const duration = text.transform((value, ctx) => {
  const ms = parseDuration(value);
  if (ms !== undefined && ms <= bounds.durationMs) return ms;
  ctx.addIssue({
    code: 'custom',
    message: 'is no duration: write 90s, 10m or 2h (a bare number is seconds)',
  });
  return z.NEVER;
});

export const positiveDuration = duration.refine((ms) => ms > 0, 'must be longer than nothing');

export function integer(min: number, max: number) {
  const says = `must be a whole number from ${min} to ${max}`;
  return text
    .regex(/^\d{1,9}$/, says)
    .transform(Number)
    .pipe(z.number().min(min, says).max(max, says));
}

export function choice<const T extends string>(...words: readonly T[]) {
  return z.enum(words, { error: () => `must be ${words.join(' or ')}` });
}

export const yes = z.union([z.literal(true), z.literal(false), text]).transform((value, ctx) => {
  if (value === true || value === 'true' || value === '1' || value === 'yes') return true;
  if (value === false || value === 'false' || value === '0' || value === 'no') return false;
  ctx.addIssue({ code: 'custom', message: 'must be true or false' });
  return z.NEVER;
});

/** `127.0.0.1:7420`, `[::1]:7420`, `localhost:0`, `7420`. */
export const listen = text.transform((value, ctx) => {
  const match = /^(?:\[([\da-fA-F:.%\w]+)\]|([^\s:[\]]+)):(\d{1,5})$|^(\d{1,5})$/.exec(value);
  const port = Number(match?.[3] ?? match?.[4]);
  if (match && port <= 65_535) return { host: match[1] ?? match[2] ?? '127.0.0.1', port };
  ctx.addIssue({
    code: 'custom',
    message: 'is no address to listen on: write 127.0.0.1:7420, [::1]:7420, or a port',
  });
  return z.NEVER;
});
export type Listen = z.output<typeof listen>;
