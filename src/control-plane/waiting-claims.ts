import { typeKey } from '../contract/type-key.ts';
import type { ClaimRequest } from '../contract/worker-calls.ts';
import type { Note, Spot } from '../ports/store.ts';
import { availableIn } from './wake.ts';

/** Why a claim waits no longer, though nothing came for it. */
export type WaitEnd = 'time' | 'key' | 'gone' | 'replaced' | 'stopped';

interface Speaker {
  readonly project: string;
  readonly workerId: string;
  readonly sessionId: string;
}

/**
 * A claim that found nothing and waits. `look` asks once more; what that comes to, or why it waits no longer, ends it. A
 * look that is called for while another is under way comes after it.
 */
export class WaitingClaim<Found = unknown> implements Speaker {
  readonly project: string;
  readonly workerId: string;
  readonly sessionId: string;
  /** Resolves once. */
  readonly over: Promise<void>;
  found: Found | undefined;
  error: unknown;
  end: WaitEnd | undefined;
  readonly #pools: ReadonlySet<string>;
  readonly #types: ReadonlySet<string>;
  readonly #look: () => Promise<Found | undefined>;
  #settle: () => void = () => {};
  /** The first look is that of whoever makes it. */
  #looking = true;
  #again = false;
  #over = false;
  /** What its present look was asked for, and has not given it so far. */
  #askedFor: Spot | undefined;
  /** Told of what it was asked for where it ends without having been given that, though it may be there. */
  onPassedOn: (spot: Spot) => void = () => {};

  /** @param look `undefined`: there is still nothing. */
  constructor(project: string, request: ClaimRequest, look: () => Promise<Found | undefined>) {
    this.project = project;
    this.workerId = request.workerId;
    this.sessionId = request.sessionId;
    this.#pools = new Set(request.pools);
    // What it has no room for would be for others.
    const want = request.max > 0 ? request.want.filter(({ slots }) => slots > 0) : [];
    this.#types = new Set(want.map((w) => typeKey(w.type, w.schemaVersion)));
    this.#look = look;
    this.over = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  wants({ project, pool, type, schemaVersion }: Spot): boolean {
    return (
      project === this.project &&
      this.#pools.has(pool) &&
      this.#types.has(typeKey(type, schemaVersion))
    );
  }

  /**
   * Something that it may have waited for is there. What it asks for is asked before this returns.
   * @param spot what came. @returns whether a look begins with this: what one under way finds may be something else.
   */
  look(spot?: Spot): boolean {
    const begins = !this.#looking && !this.#over && this.end === undefined;
    if (begins) this.#askedFor = spot;
    this.#again = true;
    this.#next();
    return begins;
  }

  /** A look gives it such a task. */
  gave({ pool, type, schemaVersion }: Pick<Spot, 'pool' | 'type' | 'schemaVersion'>): void {
    const asked = this.#askedFor;
    if (asked?.pool !== pool || asked.type !== type || asked.schemaVersion !== schemaVersion)
      return;
    this.#askedFor = undefined;
  }

  /** Twice is once; what a look under way finds comes first. */
  stop(end: WaitEnd): void {
    this.end ??= end;
    this.#next();
  }

  /** A look has found nothing. */
  foundNothing(): void {
    this.#looking = false;
    // Others have taken it; behind the end of the wait nobody has looked.
    if (this.end === undefined) this.#askedFor = undefined;
    this.#next();
  }

  #next(): void {
    if (this.#looking || this.#over) return;
    if (this.end !== undefined) this.#ended();
    else if (this.#again) {
      this.#looking = true;
      this.#again = false;
      this.#look().then(
        (found) => {
          if (found === undefined) return this.foundNothing();
          this.found = found;
          this.#ended();
        },
        (error: unknown) => {
          this.error = error ?? new Error('The look failed.');
          this.#ended();
        },
      );
    }
  }

  #ended(): void {
    this.#over = true;
    if (this.#askedFor && this.error === undefined) this.onPassedOn(this.#askedFor);
    this.#settle();
  }
}

/** All that wait on this node, at most one for each session, in the order in which they came. */
export class WaitingClaims {
  readonly #bySession = new Map<string, WaitingClaim>();
  #stopped = false;

  get size(): number {
    return this.#bySession.size;
  }

  has(speaker: Speaker): boolean {
    return this.#bySession.size > 0 && this.#bySession.has(nameOf(speaker));
  }

  /** In the transaction that found nothing for it: nothing can come between. Twice is once. */
  add(claim: WaitingClaim): void {
    this.#bySession.set(nameOf(claim), claim);
    claim.onPassedOn = (spot) => this.#lookFor(spot, 1);
    if (this.#stopped) claim.stop('stopped');
  }

  remove(claim: WaitingClaim): void {
    const name = nameOf(claim);
    if (this.#bySession.get(name) === claim) this.#bySession.delete(name);
  }

  /** Its session asks anew: what it had asked before is over. */
  replace(speaker: Speaker, by: WaitingClaim | undefined): void {
    if (this.#bySession.size === 0) return;
    const claim = this.#bySession.get(nameOf(speaker));
    if (claim === undefined || claim === by) return;
    this.remove(claim);
    claim.stop('replaced');
  }

  /** Notes of commands that are not committed yet: who looks now is carried out in the same commit. */
  take(notes: readonly Note[]): void {
    if (this.#bySession.size === 0) return;
    for (const { spot, tasks } of availableIn(notes)) this.#lookFor(spot, tasks * 2);
    for (const note of notes) {
      // Drained, or no session any more: the look says so.
      if (note.kind === 'drain' || note.kind === 'session')
        for (const claim of this.#bySession.values())
          if (claim.project === note.project && claim.workerId === note.workerId) claim.look();
    }
  }

  /** All look: something may have become available of which nobody was told. */
  lookAll(): void {
    for (const claim of this.#bySession.values()) claim.look();
  }

  /** Ends every wait. Twice is fine. */
  stop(): void {
    this.#stopped = true;
    for (const claim of [...this.#bySession.values()]) claim.stop('stopped');
  }

  /** Two for each task, the longest waiting first: one may have to leave it to others. */
  #lookFor(spot: Spot, most: number): void {
    let left = most;
    for (const claim of this.#bySession.values()) {
      if (left <= 0) return;
      if (claim.wants(spot) && claim.look(spot)) left--;
    }
  }
}

/** None of the names can hold a line break. */
const nameOf = ({ project, workerId, sessionId }: Speaker) =>
  `${project}\n${workerId}\n${sessionId}`;
