/** Workers, their sessions and their keys, as far as FCP keeps them (section 2 of the contract). */
import { type JsonAnswer, problem } from './answers.ts';
import type { Body, LoggedRequest } from './journal.ts';

export interface SeenWorker {
  workerId: string;
  /** The current session. */
  sessionId: string | undefined;
  /** All sessions that became current, in order. */
  sessions: string[];
  superseded: Set<string>;
  /** The last accepted PUT. */
  presence: Body | undefined;
  /** States of all accepted PUTs of the current session, each change once. */
  states: string[];
  /** Whether answers to it say `drain`. */
  drain: boolean;
  handlersHash: string | undefined;
}

export class Sessions {
  readonly workers = new Map<string, SeenWorker>();

  worker(workerId: string): SeenWorker {
    let worker = this.workers.get(workerId);
    if (!worker) {
      worker = {
        workerId,
        sessionId: undefined,
        sessions: [],
        superseded: new Set(),
        presence: undefined,
        states: [],
        drain: false,
        handlersHash: undefined,
      };
      this.workers.set(workerId, worker);
    }
    return worker;
  }

  /** Counts a claim or PUT; the answer is the refusal of a superseded session. */
  see(workerId: string, sessionId: string, earlier: string[] = []): JsonAnswer | undefined {
    const worker = this.worker(workerId);
    if (worker.superseded.has(sessionId)) return superseded(workerId);
    for (const old of earlier) if (old !== sessionId) worker.superseded.add(old);
    if (worker.sessionId === sessionId) return undefined;
    if (worker.sessionId !== undefined) worker.superseded.add(worker.sessionId);
    worker.sessionId = sessionId;
    worker.sessions.push(sessionId);
    worker.states = [];
    worker.presence = undefined;
    worker.drain = false;
    return undefined;
  }
}

export function superseded(workerId: string): JsonAnswer {
  const detail = `a newer session of worker ${workerId} has taken over`;
  return problem(409, 'SESSION_SUPERSEDED', detail);
}

/** Which bearer keys are accepted: every `il_…` at first, or those named; changed while it runs. */
export class Keys {
  #accepted: Set<string> | 'any';
  readonly #rejected = new Set<string>();

  readonly #did: (text: string) => void;

  /** @param did is told what is changed, in words. */
  constructor(accepted: string[] | undefined, did: (text: string) => void = () => {}) {
    this.#did = did;
    this.#accepted = accepted ? new Set(accepted) : 'any';
  }

  /** From now on accepted; the first named key ends "every key". */
  accept(key: string): void {
    if (this.#accepted === 'any') this.#accepted = new Set();
    this.#accepted.add(key);
    if (this.#rejected.delete(key)) this.#did('the key is taken again');
  }

  /** From now on `401 UNAUTHENTICATED`. */
  reject(key: string): void {
    this.#rejected.add(key);
    this.#did('from here on the key is refused, every call is answered 401');
  }

  refusal(request: LoggedRequest): JsonAnswer | undefined {
    const key = bearer(request);
    const known = this.#accepted === 'any' ? key?.startsWith('il_') : this.#accepted.has(key ?? '');
    if (key !== undefined && known && !this.#rejected.has(key)) return undefined;
    return problem(401, 'UNAUTHENTICATED', key ? 'this key is not known' : 'a key is missing');
  }
}

export function bearer(request: LoggedRequest): string | undefined {
  return /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1];
}
