import { join } from 'node:path';
import { expect, it } from 'vitest';
import { devListens, takeDevLock } from '../../src/cli/dev/dev-lock.ts';
import type { ProcessInfo } from '../../src/ports/process-info.ts';
import { temporaryFolder } from './world.ts';

it('tells another program that it is dev of this folder which has its port, while that lives', async () => {
  const file = join(temporaryFolder(), 'dev.json');
  const living = new Set([7]);
  const seenBy = (pid: number): ProcessInfo =>
    ({
      self: { pid, startTime: `start of ${pid}` },
      look: async (one: number) => ({ alive: living.has(one), startTime: `start of ${one}` }),
    }) as unknown as ProcessInfo;
  const other = seenBy(8);
  expect(await devListens(file, 7420, other)).toBeUndefined();
  const lock = await takeDevLock(file, seenBy(7));
  // It does not listen yet.
  expect(await devListens(file, 7420, other)).toBeUndefined();
  lock.note('http://127.0.0.1:7420');
  expect(await devListens(file, 7420, other)).toBe(7);
  expect(await devListens(file, 7421, other)).toBeUndefined();
  living.clear();
  expect(await devListens(file, 7420, other)).toBeUndefined();
});
