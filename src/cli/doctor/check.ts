import { plain, type Style } from '../style.ts';

/** One line of doctor. Only `fail` makes it exit with another code than 0. */
export interface Check {
  readonly name: string;
  readonly state: 'ok' | 'warn' | 'fail' | 'skip';
  readonly says: string;
  /** What to do; with `fail` and `warn`. */
  readonly fix?: string | undefined;
}

export function ok(name: string, says: string): Check {
  return { name, state: 'ok', says };
}

export function warn(name: string, says: string, fix?: string): Check {
  return { name, state: 'warn', says, fix };
}

export function fail(name: string, says: string, fix: string): Check {
  return { name, state: 'fail', says, fix };
}

/** Not looked at, with why. */
export function skip(name: string, says: string): Check {
  return { name, state: 'skip', says };
}

/** `ok    queue          2 tasks wait, the oldest for 3 min`, and a line with the fix below what needs one. */
export function checkLines(check: Check, style: Style): string[] {
  const paint = { ok: style.good, warn: style.warn, fail: style.bad, skip: style.faint }[
    check.state
  ];
  const lines = [
    `${paint(check.state.padEnd(4))}  ${check.name.padEnd(NAME_CHARS)}  ${plain(check.says)}`,
  ];
  if (check.fix)
    lines.push(`${' '.repeat(NAME_CHARS + 8)}${style.faint('fix:')} ${plain(check.fix)}`);
  return lines;
}

const NAME_CHARS = 14;
