import { expect, it } from 'vitest';
import { World } from './world.ts';

/** What the machine decided stands in the journal, whatever was told before. */

const before: readonly (readonly [string, Record<string, unknown>])[] = [
  ['start', { sessionId: 'ses-w1' }],
  ['progress', { n: 1, percent: 5 }],
  ['log', { n: 1, lines: [{ at: '2026-01-01T00:00:00.000Z', level: 'info', text: 'hello' }] }],
];

it.each(before)('keeps that the effect began after a %s', async (op, fields) => {
  const world = await World.start();
  const { task, attempt } = await world.running({
    effectSafety: 'non-idempotent',
    effectGate: 'effect',
  });
  expect((await world.report(attempt, op, fields)).status).toBe(200);
  const { seq } = await world.task(task.id);
  expect((await world.gate(attempt, 'effect')).status).toBe(200);
  expect(await world.kinds(task.id)).toEqual(['submitted', 'leased', 'started', 'effect-begun']);
  expect((await world.task(task.id)).seq).toBe(seq + 1);
});

it('refuses an operator who looked before the effect began', async () => {
  const world = await World.start();
  const { task, attempt } = await world.running({
    effectSafety: 'non-idempotent',
    effectGate: 'effect',
  });
  await world.gate(attempt, 'start');
  const { seq } = await world.task(task.id);
  await world.gate(attempt, 'effect');
  await world.report(attempt, 'fail', {
    error: { code: 'BROKE', message: 'it broke', retryable: false },
  });
  const reply = await world.call('POST', `/tasks/${task.id}/retry`, {
    body: { actionId: 'a1', reason: 'r', ifSeq: seq + 1, acceptRepeatedEffect: true },
  });
  expect(reply).toMatchObject({ status: 409, body: { seq: seq + 2 } });
});
