/** One step of an operation: where a fault can strike, time can pass and a crash can happen before it. */
export type DiskStep =
  | 'makeFolder'
  | 'open'
  | 'write'
  | 'append'
  | 'writeOver'
  | 'syncFile'
  | 'rename'
  | 'syncFolder'
  | 'read'
  | 'list'
  | 'stat'
  | 'look'
  | 'restrict'
  | 'remove';

export interface DiskFault {
  /** Which steps; default all. */
  readonly step?: DiskStep | readonly DiskStep[];
  /** Which files or folders; default all. */
  readonly path?: RegExp;
  /** The error (`ENOSPC`, `EIO`, `EROFS`, `EMFILE` …); without one the step only takes `ms`. */
  readonly code?: string;
  /** How long the step takes before it works or fails; needs a clock. */
  readonly ms?: number;
  /** How often; default always. */
  readonly times?: number;
}

export function systemError(code: string, step: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${step} '${path}' (simulated)`), { code, path });
}
