import { constants, fstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { DescriptorLines } from './descriptor-lines.ts';
import { StreamLines } from './stream-lines.ts';

/**
 * Writes lines where nobody knows who reads them. Never throws and never blocks the event loop: while a reader takes
 * nothing, lines wait up to `WAITING_BYTES` and then are dropped and counted; once nobody can read any more (EPIPE),
 * all are. What can be written at once is, so the last words before an exit are there.
 */
export interface LineWriter {
  /** @param line with its newline. */
  write(line: string): void;
  /** Resolves when nothing waits, when nobody reads any more, or after `FLUSH_MS`. */
  flush(): Promise<void>;
}

/** @param lostLine makes the line that tells how many were dropped. */
export function lineWriter(fd: number, lostLine: (lines: number) => string): LineWriter {
  try {
    const kind = fstatSync(fd);
    if (kind.isFile()) return new DescriptorLines(fd, lostLine);
    if (process.platform === 'linux' && (kind.isFIFO() || kind.isCharacterDevice())) {
      // A twin that does not block. The descriptor itself is shared with children and stays as it is.
      const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
      return new DescriptorLines(openSync(`/proc/self/fd/${fd}`, flags), lostLine);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EBADF') return NOBODY;
  }
  // Sockets, and pipes of other systems: Node's own streams write at once what fits, the rest later.
  return new StreamLines(fd === 2 ? process.stderr : new Socket({ fd, readable: false }), lostLine);
}

/** The process was started without it. */
const NOBODY: LineWriter = { write: () => {}, flush: async () => {} };
