import * as z from 'zod';
import type { Clock } from '../ports/clock.ts';
import type { Disk } from '../ports/disk.ts';
import type { Log } from '../ports/log.ts';
import { encodeLine, unseal } from './records.ts';

/** That the control plane refuses the worker (its key, its address), for whoever looks at the spool. */
export interface Refusal {
  /** RFC 3339, by the worker's wall clock: since when it is refused so. */
  readonly at: string;
  readonly why: string;
}

const refusalRecord = z.object({ kind: z.literal('refusal'), at: z.string(), why: z.string() });

/**
 * `refusal.json`: the refusal that lasts, written when it begins or reads otherwise, removed when the worker is heard
 * again. For people only, so neither durable nor tried again: the log has it too.
 */
export class RefusalNote {
  readonly #ports: { readonly disk: Disk; readonly clock: Clock; readonly log: Log };
  readonly #file: string;
  readonly #may: () => boolean;
  /** What is to stand there, `null` for nothing; `undefined`: nobody has said it yet. */
  #wanted: string | null | undefined;
  #stands: string | null | undefined;
  #stopped = false;
  #work: Promise<void> = Promise.resolve();

  /** @param may whether the spool is still ours. */
  constructor(
    ports: { readonly disk: Disk; readonly clock: Clock; readonly log: Log },
    file: string,
    may: () => boolean,
  ) {
    this.#ports = ports;
    this.#file = file;
    this.#may = may;
  }

  /** @param why `undefined`: the worker is heard. */
  tell(why: string | undefined): void {
    if (this.#stopped || this.#wanted === (why ?? null)) return;
    this.#wanted = why ?? null;
    this.#work = this.#work.then(() => this.#put());
  }

  /** What was told is still written; what is told from now on is not. */
  stop(): void {
    this.#stopped = true;
  }

  /** Resolves when the last that was told stands there. */
  idle(): Promise<void> {
    return this.#work;
  }

  async #put(): Promise<void> {
    const { disk, clock, log } = this.#ports;
    const why = this.#wanted;
    if (why === undefined || why === this.#stands || !this.#may()) return;
    this.#stands = why;
    try {
      if (why === null) await disk.remove(this.#file);
      else {
        const at = new Date(clock.wall()).toISOString();
        await disk.writeFile(this.#file, encodeLine(note(at, why)).text);
      }
    } catch (error) {
      this.#stands = undefined;
      log.debug('spool.refusal-not-kept', 'A refusal could not be noted in the spool.', { error });
    }
  }
}

/** What stands there; `undefined` for none, and for what is no such note. */
export async function readRefusal(disk: Disk, file: string): Promise<Refusal | undefined> {
  // What cannot be opened is no reason to tell nothing of the rest.
  const content = await disk.readPart(file, 0, NOTE_BYTES_MAX).catch(() => undefined);
  if (content === undefined) return undefined;
  const whole = unseal(content.subarray(0, content.at(-1) === 0x0a ? -1 : undefined));
  const read = whole.ok ? refusalRecord.safeParse(whole.record) : undefined;
  return read?.success ? { at: read.data.at, why: read.data.why } : undefined;
}

function note(at: string, why: string) {
  return { kind: 'refusal', at, why } as { kind: string };
}

/** A sentence, with room. */
const NOTE_BYTES_MAX = 65_536;
