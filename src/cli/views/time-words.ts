import { durationWords } from '../duration.ts';
import { plain } from '../style.ts';

export { age } from '../../core/duration-words.ts';

/** Instants for people; what is no instant is shown as it is. */

/** `2026-11-29 18:31:02 (3 min ago)`, local time. */
export function moment(at: string, wallMs: number): string {
  const ms = Date.parse(at);
  if (!Number.isFinite(ms)) return plain(at);
  const away = wallMs - ms;
  const words = durationWords(Math.floor(Math.abs(away) / 1_000) * 1_000);
  return `${localTime(ms)} (${away < 0 ? `in ${words}` : `${words} ago`})`;
}

/** `UTC+01:00`: of local times. @param ms when. */
export function zoneWords(ms: number): string {
  const minutes = -new Date(ms).getTimezoneOffset();
  if (minutes === 0) return 'UTC';
  const two = (value: number) => String(value).padStart(2, '0');
  const away = Math.abs(minutes);
  return `UTC${minutes < 0 ? '-' : '+'}${two(Math.floor(away / 60))}:${two(away % 60)}`;
}

/** `2026-11-29 18:31:02`. */
export function localTime(ms: number): string {
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')}`;
}
