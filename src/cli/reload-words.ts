import type { NextHandlers } from '../handler/generations.ts';
import { durationWords } from './duration.ts';
import { handlerKey } from './handlers.ts';
import { settingTable } from './setting-table.ts';
import type { workerSettings } from './worker-settings.ts';

/** As it is typed. */
export function named(name: (typeof workerSettings)[number]): string {
  return settingTable[name].flag;
}

export function shown(name: string, value: unknown): string {
  if (name.endsWith('Ms')) return durationWords(value as number);
  return Array.isArray(value) ? value.join(', ') : String(value);
}

/** What a look at the folder came to. */
export function inWords({ added, changed, kept, removed, same }: NextHandlers): string[] {
  const of = (what: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`${what} ${names.join(', ')}`];
  return [
    ...of('new code of', changed),
    ...of('new', added),
    ...of('no longer there', removed),
    ...of(
      'older code served of',
      kept.map(({ handler }) => handlerKey(handler)),
    ),
    ...(same > 0 ? [`${same} ${same === 1 ? 'handler' : 'handlers'} unchanged`] : []),
  ];
}
