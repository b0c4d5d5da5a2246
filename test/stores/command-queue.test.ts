import { expect, it } from 'vitest';
import { CommandQueue } from '../../src/stores/command-queue.ts';

it('a group ends with the command that makes it full, by what its commands do', async () => {
  const groups: number[] = [];
  const queue = new CommandQueue<string>({
    begin: () => void groups.push(0),
    command: async (work) => {
      groups.push((groups.pop() ?? 0) + 1);
      return { value: await work('tx'), notes: [] };
    },
    commit: () => true,
    rollback() {},
  });
  const some = (count: number, items?: number) =>
    Array.from({ length: count }, () => queue.run(async () => 1, items));
  await Promise.all([...some(8, 100), ...some(3, 1_000), ...some(513)]);
  // Six hundreds are the first to be full; then a thousand alone each, which comes with two hundreds once.
  expect(groups).toEqual([6, 3, 1, 1, 512, 1]);
});
