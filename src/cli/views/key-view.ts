import type { KeyView } from '../../contract/index.ts';
import { limitWords } from '../key-words.ts';
import type { Style } from '../style.ts';
import type { Column } from '../table.ts';
import { localTime } from './time-words.ts';

/** Keys as people see them. */
export function keyColumns(style: Style, wallMs: number): readonly Column<KeyView>[] {
  return [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'KIND', cell: ({ kind }) => kind },
    { title: 'MADE', cell: ({ createdAt }) => short(createdAt, wallMs) },
    { title: 'LAST USED', cell: ({ lastUsedAt }) => short(lastUsedAt, wallMs) || '-' },
    { title: 'EXPIRES', cell: ({ expiresAt }) => short(expiresAt, wallMs) || 'never' },
    {
      title: 'STATE',
      cell: ({ state }) => state,
      paint: ({ state }, text) =>
        state === 'usable'
          ? style.good(text)
          : state === 'expired'
            ? style.warn(text)
            : style.faint(text),
    },
    { title: 'LIMITS', cell: ({ limits }) => limitWords(limits) || 'none' },
  ];
}

/** The day, and of one that is near the time too; to the second where that matters. */
function short(at: string | undefined, wallMs: number): string {
  const ms = at === undefined ? Number.NaN : Date.parse(at);
  if (!Number.isFinite(ms)) return '';
  const away = Math.abs(ms - wallMs);
  return localTime(ms).slice(0, away < HOUR_MS ? 19 : away < NEAR_MS ? 16 : 10);
}

const HOUR_MS = 3_600_000;

const NEAR_MS = 2 * 86_400_000;
