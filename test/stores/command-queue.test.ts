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

it('what those ask for who are told within a group is carried out in that group', async () => {
  const groups: string[][] = [];
  const queue = new CommandQueue<string>({
    begin: () => void groups.push([]),
    command: async (work) => {
      const value = (await work('tx')) as string;
      groups.at(-1)?.push(value);
      const note = { kind: 'worker' as const, project: 'default', workerId: value };
      return { value: value as never, notes: value === 'asked' ? [] : [note] };
    },
    commit: () => true,
    rollback() {},
  });
  const told: string[] = [];
  const heard = { at: '' };
  queue.subscribe(
    () => {
      heard.at += 'kept ';
    },
    undefined,
    (notes) => {
      heard.at += 'within ';
      told.push(...notes.map((note) => ('workerId' in note ? note.workerId : '')));
      void queue.run(async () => 'asked');
    },
  );
  await Promise.all([queue.run(async () => 'a'), queue.run(async () => 'b')]);
  expect(groups).toEqual([['a', 'b', 'asked']]);
  expect(told).toEqual(['a', 'b']);
  expect(heard.at).toBe('within kept ');
});
