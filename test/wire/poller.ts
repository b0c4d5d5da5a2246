/** `node --expose-gc poller.ts <url> [polls]`: polls 1,000 times and 2,000 more, two at a time as a worker does, under one signal, and tells how its memory grew. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { systemClock } from '../../src/system/clock.ts';
import { Door } from '../../src/wire/door.ts';
import { constantKey } from '../../src/wire/key.ts';
import { openFetch } from '../../src/wire/open-fetch.ts';

const clock = systemClock();
const own = openFetch({ clock });
const serviceUrl = process.argv[2] ?? '';
const door = new Door({ serviceUrl, key: constantKey('il_poller'), clock, fetch: own.fetch });
const answers: Record<string, number> = {};
// Lives as long as the process, as the stop signal of a worker does.
const { signal } = new AbortController();

async function poll(): Promise<void> {
  const call = { method: 'GET', path: '/thing', statuses: [200], schema: z.unknown() } as const;
  const { kind } = await door.call({ ...call, signal });
  answers[kind] = (answers[kind] ?? 0) + 1;
}

async function polls(count: number): Promise<void> {
  for (let i = 0; i < count; i += 2) await Promise.all([poll(), poll()]);
}

/** What is reachable: pages that the allocator keeps for later, or has not given back yet under load, are not counted. */
async function heldBytes(): Promise<number> {
  await sleep(100);
  globalThis.gc?.();
  await sleep(0);
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

await polls(1_000);
const before = await heldBytes();
await polls(Number(process.argv[3] ?? 2_000));
const grownBytes = (await heldBytes()) - before;
await own.close();
console.log(JSON.stringify({ grownBytes, answers }));
