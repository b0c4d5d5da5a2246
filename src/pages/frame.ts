import { makeProblem } from '../contract/problems.ts';
import { pageDefaults } from '../core/page-defaults.ts';
import { address } from './address.ts';
import { type Html, html } from './html.ts';
import { layout } from './layout.ts';
import { LIVE_PATH } from './live.ts';
import type { PagesOptions } from './options.ts';
import type { View, Who } from './page.ts';
import type { Peer } from './peer.ts';
import { problemPage } from './problem-page.ts';
import { AGAIN, isUpdate } from './request-kinds.ts';
import { made, pageResponse, seeOther } from './respond.ts';
import { type Session, Sessions } from './session.ts';
import { ownAddress } from './sign-in.ts';

/** One request under way. */
export interface Visit {
  readonly request: Request;
  readonly url: URL;
  readonly peer: Peer | undefined;
  readonly nowMs: number;
  readonly local: boolean;
  /** Of the cookie; a new one where there is none. */
  readonly session: Session;
  readonly isNew: boolean;
  readonly cookies: string[];
}

/** What is around every page: the layout, the session's cookie, refusals that show nothing of anybody. */
export class Frame {
  readonly #o: PagesOptions;
  readonly sessions: Sessions;

  constructor(options: PagesOptions) {
    this.#o = options;
    const { secret, store, place, random } = options;
    const start = random.bytes(16);
    this.sessions = new Sessions({ secret, epoch: store.epoch, start, secure: place.secure });
  }

  shown(
    visit: Visit,
    who: Who | undefined,
    view: View,
    more?: Readonly<Record<string, string>>,
  ): Response {
    const { session, request, url, cookies } = visit;
    const said = this.sessions.said(request.headers, session);
    if (said !== undefined) cookies.push(this.sessions.saidCookie(session, undefined));
    const csrf = this.#o.access === 'off' ? undefined : this.csrf(session);
    const here = url.pathname + url.search;
    this.touch(visit);
    return pageResponse(layout(view, { who, csrf, here, said }), view.status ?? 200, cookies, more);
  }

  /** Nothing is known of who looks. */
  bare(view: View): Response {
    const text = layout(view, { who: undefined, csrf: undefined, here: '/' });
    return pageResponse(text, view.status ?? 200);
  }

  seeOther(visit: Visit, location: string): Response {
    this.touch(visit);
    return seeOther(location, visit.cookies);
  }

  /** Live updates are no sign that anybody is there. */
  touch({ session, isNew, nowMs, request, cookies }: Visit): void {
    if (this.#o.access === 'off') return;
    const due = nowMs - session.usedAtMs >= pageDefaults.touchMs && !isUpdate(request);
    if (isNew || due) cookies.unshift(this.sessions.cookie({ ...session, usedAtMs: nowMs }, nowMs));
  }

  /** @param project what the form is about: another tab may have switched to another one before it is sent. */
  csrf(session: Session, project?: string): Html {
    const about =
      project !== undefined && html`<input type="hidden" name="${ABOUT}" value="${project}">`;
    return html`<input type="hidden" name="token" value="${this.sessions.token(session)}">${about}`;
  }

  toSignIn(visit: Visit, ended: boolean): Response {
    const { request, url, cookies, session, nowMs } = visit;
    if (ended) {
      this.sessions.end(session, nowMs);
      cookies.push(this.sessions.noCookie());
    }
    // A script cannot follow to another page without taking it for this one.
    if (isUpdate(request) || url.pathname === LIVE_PATH)
      return made(null, 401, { 'Cache-Control': 'no-store' }, cookies);
    const to = request.method === 'GET' ? ownAddress(url.pathname + url.search) : '/tasks';
    return seeOther(address('/sign-in', {}, { to, why: ended ? 'ended' : undefined }), cookies);
  }

  refused(why: string, code: 'SCOPE_DENIED' | 'PAYLOAD_TOO_LARGE' = 'SCOPE_DENIED'): Response {
    const { hint: _, ...problem } = makeProblem(code, why);
    // What the catalogue says of this code is about keys.
    const explained = code !== 'SCOPE_DENIED' && problem.code;
    return this.bare(problemPage({ ...problem, title: 'This form was not taken' }, explained));
  }

  /** Asks the browser to ask again, from here. */
  onceMore(): Response {
    const page = html`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0"><title>Interlock Tasks</title></head><body><p><a href="">Go on to the page</a></p></body></html>`;
    return pageResponse(page.toString(), 200, [AGAIN_COOKIE]);
  }
}

/** The field of a form that names the project it is about. */
export const ABOUT = 'about-project';

/** Unlike the session's it is sent with the first request too: it holds nothing but that we have asked. */
const AGAIN_COOKIE = `${AGAIN}=1; Path=/; Max-Age=10; HttpOnly; SameSite=Lax`;
