import { expect, it } from 'vitest';
import { failure } from '../../src/control-plane/failure.ts';
import type { Log } from '../../src/ports/log.ts';
import type { Store } from '../../src/ports/store.ts';

/** What a caller hears when the store of a control plane keeps nothing more. */

const told: string[] = [];
const say = (event: string) => void told.push(event);
const log = { debug: say, info: say, warn: say, error: say } as Log;
const of = (lost: NonNullable<Store['lost']>) =>
  failure({ log, store: { lost } as Store }, 'req_1', 'GET /tasks', new Error('gone'));

it.each([
  ['files', /^The files of its database were taken away.*Its log says.*before it is started anew/],
  ['disk', /^The disk of the control plane could not keep.*Look at that disk.*start the control/],
] as const)('says what is true and what to do where the cause is: %s', (lost, words) => {
  const refused = of(lost);
  expect(refused).toMatchObject({ code: 'UNAVAILABLE', headers: { 'Retry-After': '5' } });
  expect(refused.detail).toMatch(words);
  // The log has it from where it was found.
  expect(told).toEqual([]);
});
