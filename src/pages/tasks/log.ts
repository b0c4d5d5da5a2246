import type { StoredLogLine } from '../../ports/store.ts';
import { type Html, html } from '../html.ts';

/** Log lines of a task, oldest first. Each is its own paragraph in its own direction. */
export function logHtml(lines: readonly StoredLogLine[]): Html {
  return html`<pre class="log" tabindex="0" aria-label="Log">${lines.map(
    ({ n, at, level, text, attempt }) =>
      html`<span class="line ${LEVELS.has(level) ? level : 'info'}" id="log-${n}"><time class="faint" datetime="${at}" title="${at}">${clock(at)}</time> <span class="faint">#${attempt} ${level.toUpperCase().padEnd(5)}</span> <bdi>${text.replace(/\r\n?/g, '\n').replace(/\n+$/, '')}</bdi>
</span>`,
  )}</pre>`;
}

/** The time of day; the whole instant stands in the markup. */
function clock(at: string): string {
  const ms = Date.parse(at);
  return Number.isFinite(ms) ? new Date(ms).toISOString().slice(11, 23) : at;
}

/** One line of a file: `2026-11-29T18:31:02.120Z warn #2 text`. */
export function logText({ at, level, text, attempt }: StoredLogLine): string {
  return `${at} ${level} #${attempt} ${text.replace(/\r\n?/g, '\n').replace(/\n+$/, '')}`;
}

const LEVELS: ReadonlySet<string> = new Set(['debug', 'info', 'warn', 'error']);
