import { expect, it } from 'vitest';
import type { Note } from '../../src/ports/store.ts';
import { CommandQueue, GroupSpoilt } from '../../src/stores/command-queue.ts';

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
  const answered: string[] = [];
  queue.subscribe(
    () => {
      heard.at += 'kept ';
    },
    undefined,
    (notes) => {
      heard.at += 'within ';
      told.push(...notes.map((note) => ('workerId' in note ? note.workerId : '')));
      // Whatever it takes until who waited has his answer.
      void queue
        .run(async () => 'asked')
        .then(async (value) => {
          for (let hops = 0; hops < 50; hops++) await undefined;
          answered.push(value);
        });
    },
  );
  const run = (value: string) => queue.run(async () => value).then((one) => answered.push(one));
  await Promise.all([run('a'), run('b')]);
  expect(groups).toEqual([['a', 'b', 'asked']]);
  expect(told).toEqual(['a', 'b']);
  expect(heard.at).toBe('within kept ');
  // Who was woken has work to begin: the others have none.
  expect(answered).toEqual(['asked', 'a', 'b']);
});

it('a group that is full tells within like any other, and what is asked for then begins the next', async () => {
  const groups: number[] = [];
  const queue = new CommandQueue<string>({
    begin: () => void groups.push(0),
    command: async (work) => {
      groups.push((groups.pop() ?? 0) + 1);
      const value = (await work('tx')) as string;
      const note = { kind: 'worker' as const, project: 'default', workerId: value };
      return { value: value as never, notes: value === 'asked' ? [] : [note] };
    },
    commit: () => true,
    rollback() {},
  });
  let asked: Promise<string> | undefined;
  queue.subscribe(
    () => {},
    undefined,
    () => {
      asked ??= queue.run(async () => 'asked');
    },
  );
  await queue.run(async () => 'many', 600);
  expect(await asked).toBe('asked');
  expect(groups).toEqual([1, 1]);
});

it('tells within of all that the last run of a group came to, also where it came to less than the first', async () => {
  let apart = false;
  let durable: Promise<void> | undefined;
  const queue = new CommandQueue<(name: string) => void>({
    begin: () => {
      apart = false;
    },
    again: () => {
      apart = true;
    },
    command: async (work) => {
      const notes: Note[] = [];
      try {
        const value = await work((workerId) =>
          notes.push({ kind: 'worker', project: 'default', workerId }),
        );
        return { value, notes };
      } catch (error) {
        throw apart ? error : new GroupSpoilt();
      }
    },
    commit: () => true,
    rollback() {},
    get durable() {
      return durable;
    },
  });
  const told: string[] = [];
  queue.subscribe(
    () => {},
    undefined,
    (notes) => told.push(...notes.map((note) => ('workerId' in note ? note.workerId : ''))),
  );
  const disk = Promise.withResolvers<void>();
  durable = disk.promise;
  let runs = 0;
  const begun = Promise.withResolvers<void>();
  const first = queue.run((tell) => {
    tell('a');
    if (runs++ === 0) tell('only once');
    begun.resolve();
  });
  await begun.promise;
  // The first is told within before anything joins its group.
  while (told.length < 2) await new Promise(setImmediate);
  const second = queue.run((tell) => tell('b'));
  const fails = queue.run(() => {
    throw new Error('after it has written');
  });
  durable = undefined;
  disk.resolve();
  await Promise.all([first, second, expect(fails).rejects.toThrow('after it has written')]);
  expect(told.slice(2)).toEqual(['a', 'b']);
});

it('what comes while a large group is carried out joins it; a small one is committed at once', async () => {
  const groups: number[] = [];
  const queue = new CommandQueue<string>({
    begin: () => void groups.push(0),
    command: async (work) => {
      groups.push((groups.pop() ?? 0) + 1);
      const note = { kind: 'worker' as const, project: 'default', workerId: 'w' };
      return { value: await work('tx'), notes: [note] };
    },
    commit: () => true,
    rollback() {},
  });
  const withAnotherBehind = async (count: number) => {
    const others: Promise<number>[] = [];
    const first = queue.run(async () => {
      setImmediate(() => others.push(queue.run(async () => 2)));
      return 1;
    });
    await Promise.all([
      first,
      ...Array.from({ length: count - 1 }, () => queue.run(async () => 1)),
    ]);
    await new Promise(setImmediate);
    await Promise.all(others);
    return groups.splice(0);
  };
  expect(await withAnotherBehind(8)).toEqual([9]);
  expect(await withAnotherBehind(7)).toEqual([7, 1]);
});

it('what is made of a command is made while the disk is at its commit, and told after that', async () => {
  const disk = Promise.withResolvers<void>();
  let durable: Promise<void> | undefined;
  const order: string[] = [];
  const queue = new CommandQueue<string>({
    begin() {},
    command: async (work) => ({ value: await work('tx'), notes: [] }),
    commit: () => {
      order.push('commit');
      durable = disk.promise;
      return true;
    },
    get durable() {
      return durable;
    },
    rollback() {},
  });
  const text = (value: number) => {
    order.push(`made ${value}`);
    if (value === 2) throw new Error('it cannot be told');
    setImmediate(() => {
      order.push('disk');
      durable = undefined;
      disk.resolve();
    });
    return `text of ${value}`;
  };
  const first = queue.run(async () => 1, 1, text).then((told) => order.push(told));
  const second = queue.run(() => 2, 1, text);
  await Promise.all([first, expect(second).rejects.toThrow('it cannot be told')]);
  expect(order).toEqual(['commit', 'made 1', 'made 2', 'disk', 'text of 1']);
});

it('of a commit that failed nothing is made', async () => {
  const queue = new CommandQueue<string>({
    begin() {},
    command: async (work) => ({ value: await work('tx'), notes: [] }),
    commit: () => {
      throw new Error('the disk is full');
    },
    rollback() {},
  });
  let made = 0;
  await expect(
    queue.run(
      () => 1,
      1,
      () => ++made,
    ),
  ).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(made).toBe(0);
});
