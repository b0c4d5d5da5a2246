import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { pageDefaults } from '../core/page-defaults.ts';

/** A session of a browser. It is kept in its cookie, signed; the control plane remembers only those that were signed out. */
export interface Session {
  /** Its own. Forms are bound to it. */
  readonly id: string;
  /** Ids of the keys that were signed in with; none: nobody did. */
  readonly keys: readonly string[];
  /** The project that is looked at. */
  readonly project?: string | undefined;
  /** By the store's clock. */
  readonly begunAtMs: number;
  readonly usedAtMs: number;
}

export class Sessions {
  readonly #secret: Uint8Array;
  readonly #epoch: string;
  readonly #secure: boolean;
  /** Signed out, and when each would have ended. */
  readonly #ended = new Map<string, number>();

  /**
   * @param epoch of the store: cookies of two control planes on one machine must not meet.
   * @param start a word new at each start: what was signed out is remembered only in memory, so all end with the process.
   */
  constructor(options: {
    readonly secret: Uint8Array;
    readonly epoch: string;
    readonly start: Uint8Array;
    readonly secure: boolean;
  }) {
    this.#secret = createHmac('sha256', options.secret)
      .update('interlock pages, one start\n')
      .update(options.start)
      .digest();
    this.#epoch = hash('sha256', options.epoch, 'hex').slice(0, 8);
    this.#secure = options.secure;
  }

  #name(what: string): string {
    return `${this.#secure ? '__Host-' : ''}interlock_${what}_${this.#epoch}`;
  }

  /** The session of a request's cookie, where it is one of ours and not over. */
  read(headers: Headers, nowMs: number): Session | undefined {
    const text = this.#verified('session', cookie(headers, this.#name('session')));
    if (text === undefined) return undefined;
    const session = JSON.parse(text) as Session;
    return this.over(session, nowMs) ? undefined : session;
  }

  over(session: Session, nowMs: number): boolean {
    return this.#ended.has(session.id) || this.leftMs(session, nowMs) <= 0;
  }

  /** Until it ends by itself. */
  leftMs({ begunAtMs, usedAtMs }: Session, nowMs: number): number {
    return Math.min(begunAtMs + pageDefaults.sessionMs, usedAtMs + pageDefaults.idleMs) - nowMs;
  }

  /** As a `Set-Cookie`. */
  cookie(session: Session, nowMs: number): string {
    const value = this.#signed('session', JSON.stringify(session));
    return this.#set('session', value, this.leftMs(session, nowMs) / 1_000);
  }

  /** Takes it away from the browser. */
  noCookie(): string {
    return this.#set('session', '', 0);
  }

  /** Signs it out: a copy of its cookie is worth nothing any more. One without keys opens nothing, and takes no place here. */
  end(session: Session, nowMs: number): void {
    if (session.keys.length === 0) return;
    for (const [id, endsAtMs] of this.#ended) if (endsAtMs <= nowMs) this.#ended.delete(id);
    if (this.#ended.size >= pageDefaults.endedKept) {
      const [oldest] = this.#ended.keys();
      if (oldest !== undefined) this.#ended.delete(oldest);
    }
    this.#ended.set(session.id, session.begunAtMs + pageDefaults.sessionMs);
  }

  /** What a form of this session carries. */
  token(session: Session): string {
    return this.#mac('form', session.id);
  }

  tokenFits(session: Session, given: string | null): boolean {
    return same(this.token(session), given ?? '');
  }

  /** A sentence for the next page. */
  saidCookie(session: Session, said: string | undefined): string {
    if (said === undefined) return this.#set('said', '', 0);
    const text = JSON.stringify([session.id, said]);
    return this.#set('said', this.#signed('said', text), pageDefaults.saidSeconds);
  }

  said(headers: Headers, session: Session): string | undefined {
    const text = this.#verified('said', cookie(headers, this.#name('said')));
    const [id, said] = text === undefined ? [] : (JSON.parse(text) as [string, string]);
    return id === session.id ? said : undefined;
  }

  #set(what: string, value: string, seconds: number): string {
    const age = Math.max(0, Math.floor(seconds));
    return `${this.#name(what)}=${value}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict${this.#secure ? '; Secure' : ''}`;
  }

  #signed(what: string, text: string): string {
    const payload = Buffer.from(text).toString('base64url');
    return `${payload}.${this.#mac(what, payload)}`;
  }

  #verified(what: string, value: string | undefined): string | undefined {
    const [payload, mac] = value?.split('.') ?? [];
    if (payload === undefined || mac === undefined) return undefined;
    if (!same(this.#mac(what, payload), mac)) return undefined;
    return Buffer.from(payload, 'base64url').toString();
  }

  #mac(what: string, text: string): string {
    return createHmac('sha256', this.#secret)
      .update(`interlock pages ${what}\n${this.#epoch}\n${text}`)
      .digest('base64url');
  }
}

function same(right: string, given: string): boolean {
  const [a, b] = [Buffer.from(right), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function cookie(headers: Headers, name: string): string | undefined {
  for (const part of (headers.get('cookie') ?? '').split(';')) {
    const at = part.indexOf('=');
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return undefined;
}
