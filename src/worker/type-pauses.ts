import { cutText } from '../contract/errors.ts';
import type { Want } from '../contract/index.ts';
import { typeKey } from '../contract/names.ts';
import { wanted } from '../core/slots.ts';
import {
  begunAgain,
  everyType,
  nextTrial,
  noPauses,
  type Pauses,
  pausedBy,
  pauseInWords,
  pausesInWords,
  slotsFor,
} from '../core/type-pauses.ts';
import type { JobEnd } from '../ports/carrier.ts';
import type { WorkerContext } from './context.ts';

interface Typed {
  readonly type: string;
  readonly schemaVersion: number;
}

/** Keeps the pauses of types whose handlers cannot be started here, and says in the log when one begins and ends. */
export class TypePauses {
  readonly #ctx: WorkerContext;
  #pauses: Pauses = noPauses;

  constructor(ctx: WorkerContext) {
    this.#ctx = ctx;
  }

  /** A job has ended. Only one that never began says something. */
  ended(attempt: Typed, end: JobEnd): void {
    // A carrier that is being closed starts nothing any more: that is no trouble.
    if (end.how !== 'not-begun' || this.#ctx.stopped) return;
    const { clock, log, random } = this.#ctx.ports;
    const type = typeKey(attempt.type, attempt.schemaVersion);
    const { code } = end.error;
    const why = cutText(end.error.message.trim(), WHY_CHARS);
    const now = clock.now();
    const { pauses, made } = pausedBy(this.#pauses, { type, code, why }, now, random.fraction());
    this.#pauses = pauses;
    // A host's trouble pauses the type too; that is one thing to tell.
    const [name] = made;
    const pause = name === undefined ? undefined : pauses.get(name);
    if (name === undefined || pause === undefined) return;
    log[pause.failures === 1 ? 'warn' : 'debug'](
      'type.paused',
      `${pauseInWords(name, pause, now)} It is left out of claims until then, and then tried with one task at a time.`,
      {
        type: name === everyType ? 'every' : name,
        failures: pause.failures,
        ms: Math.round(pause.forMs),
        code,
      },
    );
    this.#changed();
  }

  /** A handler got its input. */
  begun(attempt: Typed): void {
    if (this.#pauses.size === 0) return;
    const type = typeKey(attempt.type, attempt.schemaVersion);
    const { pauses, over } = begunAgain(this.#pauses, type, this.#ctx.ports.clock.now());
    this.#pauses = pauses;
    // Also where no pause is over: an attempt that has begun no longer holds back a trial.
    this.#ctx.askForWork();
    if (over.length === 0) return;
    const what = over.includes(everyType) ? `Handlers can be started again (${type})` : type;
    this.#ctx.ports.log.info(
      'type.resumed',
      `${what}: its handler was started; it is claimed as usual again.`,
      { type },
    );
    this.#changed();
  }

  /** What a claim may ask for. @param unbegun of the attempts that are here. */
  want(claimable: number, unbegun: Iterable<Typed>): Want[] {
    const { settings } = this.#ctx;
    const all = wanted(claimable, settings.handlers);
    if (this.#pauses.size === 0) return all;
    const now = this.#ctx.ports.clock.now();
    const waiting = Array.from(unbegun, (one) => typeKey(one.type, one.schemaVersion));
    return all.flatMap((want) => {
      const key = typeKey(want.type, want.schemaVersion);
      const slots = slotsFor(this.#pauses, key, claimable, waiting, now);
      return slots === 0 ? [] : [{ ...want, slots }];
    });
  }

  /** One at a time while it is not known whether anything can be started. */
  most(claimable: number): number {
    return this.#pauses.has(everyType) ? Math.min(1, claimable) : claimable;
  }

  /** When the next pause runs out that ends after that. */
  nextTrial(after: number): number {
    return nextTrial(this.#pauses, after);
  }

  get words(): string | undefined {
    return pausesInWords(this.#pauses, this.#ctx.ports.clock.now());
  }

  #changed(): void {
    this.#ctx.wake.claim.wake();
    this.#ctx.wake.presence.wake();
  }
}

/** Of a module's error that is told in presence, beside other reasons. */
const WHY_CHARS = 300;
