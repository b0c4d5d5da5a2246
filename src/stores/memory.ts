import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { Reads, Store, Transaction } from '../ports/store.ts';
import { CommandQueue, type GroupCommit } from './command-queue.ts';
import { memoryReads } from './memory/reads.ts';
import { Tables } from './memory/tables.ts';
import { memoryWrites } from './memory/writes.ts';
import { steadyNow } from './steady-now.ts';

/** Everything in maps, gone with the process: for tests, the simulator and trying things out. */
export function openMemoryStore(options: {
  readonly clock: Clock;
  readonly random: Random;
}): Store {
  const tables = new Tables();
  const now = steadyNow(options.clock);
  const reads = memoryReads(tables);
  let nowMs = now();
  const transaction: Transaction = {
    ...reads,
    ...memoryWrites(tables, () => nowMs),
    get nowMs() {
      return nowMs;
    },
  };
  /** Pending while a command is under way: readers from outside see only what was kept. */
  let command: Promise<unknown> = Promise.resolve();

  const group: GroupCommit<Transaction> = {
    begin: () => {
      nowMs = now();
    },
    async command(work) {
      tables.notes = [];
      const running = (async () => work(transaction))();
      command = running.then(
        () => tables.undo.keep(),
        () => tables.undo.run(),
      );
      await command;
      return { value: await running, notes: tables.notes };
    },
    commit: () => true,
    rollback: () => tables.undo.run(),
  };
  // Nothing is gained by waiting for others: a command takes no turn of the event loop.
  const queue = new CommandQueue(group, queueMicrotask);

  return {
    ...outside(reads, () => command),
    epoch: Buffer.from(options.random.bytes(16)).toString('base64url'),
    nowMs: async () => now(),
    write: (...given) => queue.run(...given),
    subscribe: (...listeners) => queue.subscribe(...listeners),
    get stats() {
      return queue.stats;
    },
    close: () => queue.close(),
  };
}

/** Reading methods that wait for the command under way to be kept or undone. */
function outside(reads: Reads, command: () => Promise<unknown>): Reads {
  const waiting: Record<string, unknown> = {};
  for (const [name, read] of Object.entries(reads)) {
    waiting[name] = async (...args: unknown[]) => {
      await command();
      return (read as (...given: unknown[]) => Promise<unknown>)(...args);
    };
  }
  return waiting as unknown as Reads;
}
