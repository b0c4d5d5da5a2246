import type { Policy } from '../contract/policy.ts';

/** Pieces of answers that are made by the thousand, written without an object that is read once. */

/** A text as JSON. */
export function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Nothing that JSON writes with an escape. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** `,"name":"text"`, or nothing. */
export function textMember(name: string, text: string | undefined): string {
  return text === undefined ? '' : `,"${name}":${quoted(text)}`;
}

/** `,"name":…` of JSON text, or nothing. */
export function rawMember(name: string, json: string | undefined): string {
  return json === undefined ? '' : `,"${name}":${json}`;
}

/** `,"name":…` of any value, or nothing. */
export function member(name: string, value: unknown): string {
  return value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`;
}

/** Most tasks of a producer share one policy, which is never changed in place. */
export function policyText(policy: Policy): string {
  let text = POLICIES.get(policy);
  if (text === undefined) {
    text = JSON.stringify(policy);
    POLICIES.set(policy, text);
  }
  return text;
}

const POLICIES = new WeakMap<Policy, string>();

export function labelsText(labels: Readonly<Record<string, string>>): string {
  for (const _ in labels) return JSON.stringify(labels);
  return '{}';
}
