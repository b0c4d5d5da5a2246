import { expect, it } from 'vitest';
import { routed } from '../../src/carriers/hosts.ts';
import type { ProcessCarrier } from '../../src/carriers/process-carrier.ts';
import { Suspects } from '../../src/carriers/suspects.ts';
import { hostDefaults } from '../../src/core/defaults.ts';
import type { JobEnd } from '../../src/ports/carrier.ts';
import { startJob } from './collected.ts';

function fake(name: string, seen: string[], end: () => JobEnd): ProcessCarrier {
  const note = (what: string) => seen.push(`${name} ${what}`);
  return {
    start: ({ taskId }) => {
      note(taskId);
      return { openGate() {}, refuseGate() {}, stop() {}, ended: Promise.resolve(end()) };
    },
    prepare: () => note('prepare'),
    warm: async () => void note('warm'),
    keepOnly: () => note('keepOnly'),
    resize: () => note('resize'),
    close: async () => void note('close'),
  };
}

it('gives each job to the carrier that its handler asks for, and suspects to one of their own', async () => {
  const seen: string[] = [];
  const suspects = new Suspects();
  let end: JobEnd = { how: 'died' };
  const own = fake('own', seen, () => end);
  const carrier = routed(
    own,
    fake('shared', seen, () => end),
    suspects,
  );
  const run = (taskId: string, shares: boolean) =>
    startJob(carrier, { taskId, ...(shares && { sharesHost: true }) }).ended;
  await run('a', false);
  await run('b', true);
  suspects.add('b');
  // Died once more: still not among others. Then it is cleared.
  await run('b', true);
  end = { how: 'returned', result: 1 };
  await run('b', true);
  await run('b', true);
  expect(seen).toEqual(['own a', 'shared b', 'own b', 'own b', 'shared b']);
  seen.length = 0;
  carrier.keepOnly(new Set());
  carrier.resize(3);
  await carrier.close();
  expect(seen).toEqual(
    ['keepOnly', 'resize', 'close'].flatMap((what) => [`own ${what}`, `shared ${what}`]),
  );
});

it('remembers so many and no more', () => {
  const suspects = new Suspects();
  for (let i = 0; i <= hostDefaults.suspectsMax; i++) suspects.add(`tsk_${i}`);
  expect([suspects.has('tsk_0'), suspects.has('tsk_1')]).toEqual([false, true]);
  suspects.clear('tsk_1');
  expect(suspects.has('tsk_1')).toBe(false);
});
