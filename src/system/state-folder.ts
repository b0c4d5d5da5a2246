import { homedir } from 'node:os';
import { posix, win32 } from 'node:path';

/** The home folder of this user, '' where nobody knows one: a container's user is often in no list and has no HOME. */
export function homeFolder(env: Readonly<Record<string, string | undefined>>): string {
  if (env.HOME !== undefined) return env.HOME;
  try {
    return homedir();
  } catch {
    return '';
  }
}

/**
 * The folder where a program of this user keeps what must outlive it, by the custom of the system;
 * `undefined` where none can be named (no home), so the caller asks for an option.
 *
 * Linux: `$STATE_DIRECTORY` (set by systemd's `StateDirectory=`, used as it is), `$XDG_STATE_HOME/interlock`, else
 * `~/.local/state/interlock`. macOS: `~/Library/Application Support/interlock`. Windows:
 * `%LOCALAPPDATA%\interlock`.
 */
export function stateFolder(from: {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}): string | undefined {
  const { platform, env } = from;
  if (platform === 'win32') {
    const local = absolute(env.LOCALAPPDATA, win32.isAbsolute);
    if (local) return win32.join(local, NAME);
    const home = absolute(from.home, win32.isAbsolute);
    return home && win32.join(home, 'AppData', 'Local', NAME);
  }
  const home = absolute(from.home, posix.isAbsolute);
  if (platform === 'darwin')
    return home && posix.join(home, 'Library', 'Application Support', NAME);
  // Several are joined by ':'; the first is ours.
  const systemd = absolute(env.STATE_DIRECTORY?.split(':')[0], posix.isAbsolute);
  if (systemd) return systemd;
  const xdg = absolute(env.XDG_STATE_HOME, posix.isAbsolute);
  if (xdg) return posix.join(xdg, NAME);
  return home && posix.join(home, '.local', 'state', NAME);
}

/** A relative path here is a mistake that the custom says to ignore. */
function absolute(path: string | undefined, is: (path: string) => boolean): string | undefined {
  return path && is(path) ? path : undefined;
}

const NAME = 'interlock';
