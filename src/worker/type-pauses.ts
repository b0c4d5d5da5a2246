import { cutText } from '../contract/errors.ts';
import type { PausedType, Want } from '../contract/index.ts';
import { bounds } from '../contract/limits.ts';
import { parseTypeKey, typeKey } from '../contract/names.ts';
import { hostReasonOf } from '../core/host-reason.ts';
import { wanted } from '../core/slots.ts';
import {
  begunAgain,
  endedWell,
  everyType,
  everyTypeInWords,
  failedHere,
  type Here,
  type HostFailures,
  nextTrial,
  noPauses,
  type Pauses,
  pausedBy,
  pausedTypes,
  pauseInWords,
  slotsFor,
  type Trouble,
} from '../core/type-pauses.ts';
import type { JobEnd } from '../ports/carrier.ts';
import type { ServedHandler, WorkerContext } from './context.ts';

interface Typed {
  readonly type: string;
  readonly schemaVersion: number;
}

/**
 * Keeps the pauses of types whose handlers cannot be started here, or fail here for reasons of this host, and says in the
 * log when one begins and ends.
 */
export class TypePauses {
  readonly #ctx: WorkerContext;
  #pauses: Pauses = noPauses;
  #failures: HostFailures = new Map();

  constructor(ctx: WorkerContext) {
    this.#ctx = ctx;
  }

  /** A job has ended. */
  ended(attempt: Typed & { readonly taskId: string }, end: JobEnd): void {
    // A carrier that is being closed starts nothing any more: that is no trouble.
    if (this.#ctx.stopped) return;
    const type = typeKey(attempt.type, attempt.schemaVersion);
    if (end.how === 'not-begun') {
      const { code, message } = end.error;
      const whose =
        code === 'HOST_NOT_STARTED'
          ? 'no handler could be started'
          : 'its handler could not be started';
      this.#pause({ type, code, why: `${whose}: ${cut(message)}` });
      return;
    }
    const why = hostReasonOf(end);
    if (why !== undefined) this.#failed(type, attempt.taskId, cut(why));
    // One that was stopped, or whose process just ended, says nothing of the host.
    else if (end.how === 'returned' || end.how === 'threw' || end.how === 'unknown')
      this.#endedWell(type);
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
    this.#resumed(type, `${what}: its handler was started; it is claimed as usual again.`);
  }

  /** What a claim may ask for. @param here the attempts that are here and not over. */
  want(
    claimable: number,
    here: Iterable<Here>,
    handlers: readonly ServedHandler[] = this.#ctx.settings.handlers,
  ): Want[] {
    const all = wanted(claimable, handlers);
    if (this.#pauses.size === 0) return all;
    const now = this.#ctx.ports.clock.now();
    const present = [...here];
    return all.flatMap((want) => {
      const key = typeKey(want.type, want.schemaVersion);
      const slots = slotsFor(this.#pauses, key, claimable, present, now);
      return slots === 0 ? [] : [{ ...want, slots }];
    });
  }

  /** Whether there is any. */
  get some(): boolean {
    return this.#pauses.size > 0;
  }

  /** One at a time while it is not known whether anything can be started. */
  most(claimable: number): number {
    return this.#pauses.has(everyType) ? Math.min(1, claimable) : claimable;
  }

  /** When the next pause runs out that ends after that. */
  nextTrial(after: number): number {
    return nextTrial(this.#pauses, after);
  }

  /** Why nothing at all is claimed, in words. */
  get words(): string | undefined {
    return everyTypeInWords(this.#pauses, this.#ctx.ports.clock.now());
  }

  /** For presence and status. */
  get types(): PausedType[] {
    const now = this.#ctx.ports.clock.now();
    const named = (key: string) => parseTypeKey(key) ?? { type: key, schemaVersion: 1 };
    return pausedTypes(this.#pauses, now, named).slice(0, bounds.pausedTypes);
  }

  /** Changes with what there is to tell; that a pause gets shorter is no news. */
  get news(): string {
    return [...this.#pauses].map(([name, { until }]) => `${name} ${until}`).join();
  }

  /** The code of these types is another: what was held against them is no more. */
  lift(types: readonly string[]): void {
    for (const type of types) {
      if (this.#failures.has(type)) this.#failures = without(this.#failures, type);
      if (!this.#pauses.has(type)) continue;
      this.#pauses = without(this.#pauses, type);
      this.#resumed(type, `${type} is claimed as usual again: its code is another.`);
    }
  }

  #failed(type: string, taskId: string, why: string): void {
    const said = { type, why: `it failed here for reasons of this host: ${why}` };
    const trouble: Trouble = { ...said, endedBy: 'outcome' };
    // A trial: one failure is enough.
    if (this.#pauses.get(type)?.endedBy === 'outcome') {
      this.#pause(trouble);
      return;
    }
    const { rows, pause } = failedHere(this.#failures, type, taskId);
    this.#failures = rows;
    if (pause) this.#pause(trouble);
  }

  #endedWell(type: string): void {
    if (this.#failures.has(type)) this.#failures = without(this.#failures, type);
    if (this.#pauses.size === 0) return;
    const { pauses, over } = endedWell(this.#pauses, type);
    this.#pauses = pauses;
    if (over.length > 0) this.#resumed(type, `${type} works again; it is claimed as usual.`);
  }

  #pause(trouble: Trouble): void {
    const { clock, log, random } = this.#ctx.ports;
    const now = clock.now();
    const { pauses, made } = pausedBy(this.#pauses, trouble, now, random.fraction());
    this.#pauses = pauses;
    for (const one of made) this.#ctx.onTypePaused(one);
    // A host's trouble pauses the type too; that is one thing to tell.
    const [name] = made;
    const pause = name === undefined ? undefined : pauses.get(name);
    if (name === undefined || pause === undefined) return;
    const what = name === everyType ? 'every type' : name;
    log[pause.failures === 1 ? 'warn' : 'debug'](
      'type.paused',
      `${what} ${sentence(pauseInWords(pause))} It is left out of claims until then, and then tried with one task at a time.`,
      {
        type: name === everyType ? 'every' : name,
        failures: pause.failures,
        ms: Math.round(pause.forMs),
        ...(trouble.code === undefined ? {} : { code: trouble.code }),
      },
    );
    this.#changed();
  }

  #resumed(type: string, text: string): void {
    this.#ctx.ports.log.info('type.resumed', text, { type });
    this.#ctx.askForWork();
    this.#changed();
  }

  #changed(): void {
    this.#ctx.wake.claim.wake();
    this.#ctx.wake.presence.wake();
  }
}

function without<V>(map: ReadonlyMap<string, V>, name: string): Map<string, V> {
  const others = new Map(map);
  others.delete(name);
  return others;
}

/** Reasons come from handlers and systems: some end in a full stop. */
function sentence(text: string): string {
  return /[.!?\u2026]$/.test(text) ? text : `${text}.`;
}

function cut(text: string): string {
  return cutText(text.trim(), WHY_CHARS);
}

/** Of a handler's or module's error that is told in presence. */
const WHY_CHARS = 300;
