import type { World } from '../simulation.ts';
import { drain } from './drain.ts';
import { effects } from './effects.ts';
import { fleet } from './fleet.ts';
import { fullDisk } from './full-disk.ts';
import { garage } from './garage.ts';
import { longTasks } from './long-tasks.ts';
import { operator } from './operator.ts';
import { outbox } from './outbox.ts';
import { quiet } from './quiet.ts';
import { restarts } from './restarts.ts';

/** One line for each world; its file says what it is. */
export const worlds: readonly World[] = [
  garage,
  effects,
  drain,
  longTasks,
  fullDisk,
  restarts,
  operator,
  outbox,
  fleet,
  quiet,
];

export function worldNamed(name: string): World {
  const world = worlds.find((one) => one.name === name);
  if (world) return world;
  throw new RangeError(
    `There is no world "${name}". Worlds: ${worlds.map((one) => one.name).join(', ')}.`,
  );
}
