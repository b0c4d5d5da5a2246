/**
 * How values are written in unit files (systemd.syntax, systemd.service): each kind of line reads them in its own way.
 * None of them can hold control characters; `fileText` refuses those.
 */

/** One argument of `ExecStart=`: quoted, with `%` (specifiers) and `$` (variables) taken literally. */
export function execWord(text: string): string {
  const escaped = percent(text).replaceAll('\\', '\\\\').replaceAll('$', '$$$$');
  return /^[\w@%+=:,./$-]+$/.test(escaped) ? escaped : `"${escaped.replaceAll('"', '\\"')}"`;
}

/** The program of `ExecStart=`: no variable is looked for in its path. */
export function execPath(text: string): string {
  const escaped = percent(text).replaceAll('\\', '\\\\');
  return /^[\w@%+=:,./-]+$/.test(escaped) ? escaped : `"${escaped.replaceAll('"', '\\"')}"`;
}

/** A line that holds one value to its end: `Description=`, `User=`, the path of `LoadCredential=`. */
export function wholeLine(text: string): string {
  return percent(text);
}

/** The path of `EnvironmentFile=`, which is a pattern for names of files, and holds a backslash as one that is escaped. */
export function patternPath(path: string): string {
  return percent(path).replace(/[\\*?[\]]/g, '\\$&');
}

/** A path in a list of paths (`ReadWritePaths=`): quoted; backslashes stay as they are. */
export function listedPath(path: string): string {
  return /[\s'"]/.test(path) ? `"${percent(path)}"` : percent(path);
}

/** `90s`, `10min 30s`: seconds are enough, and anybody can read them. */
export function span(ms: number): string {
  return `${Math.ceil(ms / 1_000)}s`;
}

function percent(text: string): string {
  return text.replaceAll('%', '%%');
}
