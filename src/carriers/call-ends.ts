import type { Mark, NewProcesses } from './new-processes.ts';

/**
 * What calls wait for at their end, done once for all that end together: what their hosts wrote has been read, and then one
 * look at the order of processes.
 */
export class CallEnds {
  readonly #processes: NewProcesses;
  #joining: Promise<Mark> | undefined;

  constructor(processes: NewProcesses) {
    this.#processes = processes;
  }

  /** The moment after everything was read that was in the pipes at the time of the call. */
  next(): Promise<Mark> {
    this.#joining ??= this.#together();
    return this.#joining;
  }

  async #together(): Promise<Mark> {
    await turn();
    // Who comes from now on needs a turn more than these.
    this.#joining = undefined;
    await turn();
    return this.#processes.look();
  }
}

/**
 * Resolves when what was in the pipes at the time of the call has been read: between two immediates the loop
 * looks at every pipe, and takes all that is there.
 */
export async function drained(): Promise<void> {
  await turn();
  await turn();
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
