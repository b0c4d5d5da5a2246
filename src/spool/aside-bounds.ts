import { spoolDefaults } from '../core/defaults.ts';

/** Which set-asides of a folder go, and why. Pure. */

export interface KeptAside {
  readonly name: string;
  readonly bytes: number;
  readonly ageMs: number;
}

export type WhyGone = 'age' | 'number' | 'size';

/**
 * Large ones have room of their own, so that one of them never costs an ordinary one. What is larger than the whole room
 * costs nobody anything: it stays beside the others while it is the newest of the large ones, then it goes.
 *
 * @param found the newest first.
 */
export function* pastBounds(
  found: Iterable<KeptAside>,
  agesCount: boolean,
): Generator<{ readonly name: string; readonly why: WhyGone }> {
  const { setAsideKept, setAsideKeptMs } = spoolDefaults;
  const ordinary = new Room();
  const large = new Room();
  let kept = 0;
  for (const { name, bytes, ageMs } of found) {
    if (agesCount && ageMs > setAsideKeptMs) yield { name, why: 'age' };
    else if (kept >= setAsideKept) yield { name, why: 'number' };
    else if (!(isLarge(bytes) ? large : ordinary).takes(bytes)) yield { name, why: 'size' };
    else kept++;
  }
}

function isLarge(bytes: number): boolean {
  return bytes > Math.min(spoolDefaults.setAsideLargeBytes, spoolDefaults.setAsideKeptBytes);
}

class Room {
  #sum = 0;
  #empty = true;

  takes(bytes: number): boolean {
    const { setAsideKeptBytes } = spoolDefaults;
    const isFirst = this.#empty;
    this.#empty = false;
    if (bytes > setAsideKeptBytes) return isFirst;
    this.#sum += bytes;
    return this.#sum <= setAsideKeptBytes;
  }
}

/** Why they went, as the end of a sentence. */
export function goneInWords(why: WhyGone): string {
  const { setAsideKept, setAsideKeptBytes, setAsideKeptMs, setAsideLargeBytes } = spoolDefaults;
  const mb = (bytes: number) => `${Math.round(bytes / 1_048_576)} MB`;
  switch (why) {
    case 'age':
      return `they are kept for ${Math.round(setAsideKeptMs / 86_400_000)} days`;
    case 'number':
      return `at most ${setAsideKept} are kept, and newer ones came`;
    case 'size':
      return `at most ${mb(setAsideKeptBytes)} are kept (and as much again of those above ${mb(setAsideLargeBytes)} each), and newer ones came`;
  }
}
