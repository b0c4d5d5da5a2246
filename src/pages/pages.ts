import { TaskError } from '../contract/errors.ts';
import { operations } from '../contract/operations.ts';
import { makeProblem } from '../contract/problems.ts';
import { pageDefaults } from '../core/page-defaults.ts';
import { called } from './call.ts';
import { Doors } from './doors.ts';
import { failuresPage } from './failures.ts';
import { ABOUT, Frame, type Visit } from './frame.ts';
import { LIVE_PATH, LiveStreams } from './live.ts';
import type { PagesOptions } from './options.ts';
import type { PageAnswer, PageRequest, PageRoute, Who } from './page.ts';
import { isLocal, type Peer } from './peer.ts';
import { problemPage } from './problem-page.ts';
import { assetResponse, isFromElsewhere, noPage, wrongMethod } from './request-kinds.ts';
import { made } from './respond.ts';
import { type Found, findRoute } from './router.ts';
import { routes } from './routes.ts';
import { whoLooks } from './who.ts';

export interface Pages {
  /** `undefined`: it is no request for a page, and is answered as the calls are. Never rejects. */
  answer(request: Request, peer: Peer | undefined): Promise<Response> | undefined;
  /** Ends streams. */
  stop(): void;
}

/** The pages of a control plane: requests become HTML by way of the contract's own calls. */
export function makePages(options: PagesOptions): Pages {
  const site = new Site(options);
  return {
    answer: (request, peer) => site.answer(request, peer),
    stop: () => site.live.stop(),
  };
}

class Site {
  readonly #o: PagesOptions;
  readonly #frame: Frame;
  readonly #doors: Doors;
  readonly live: LiveStreams;

  constructor(options: PagesOptions) {
    this.#o = options;
    this.live = new LiveStreams(options.clock);
    this.#frame = new Frame(options);
    this.#doors = new Doors(options, this.#frame, this.live);
  }

  answer(request: Request, peer: Peer | undefined): Promise<Response> | undefined {
    const url = new URL(request.url);
    const { pathname } = url;
    if (/^\/api(?:\/|$)/.test(pathname)) return undefined;
    if (this.#o.access === 'off' && pathname !== '/failures' && !pathname.startsWith('/assets/'))
      return undefined;
    const found = findRoute(ALL, request.method, pathname);
    const accept = request.headers.get('accept') ?? '*/*';
    const browser = accept.includes('text/html');
    // A program that asks for JSON hears what it always heard; the catalogue was always a page.
    if (!browser && pathname !== '/failures' && (found === undefined || /\bjson\b/.test(accept)))
      return undefined;
    const response = this.#visit(request, url, peer, found).catch((error: unknown) =>
      this.#failed(request, pathname, error),
    );
    return request.method === 'HEAD' ? response.then(headOf) : response;
  }

  #failed({ method }: Request, pathname: string, error: unknown): Response {
    const unavailable = error instanceof TaskError && error.code === 'UNAVAILABLE';
    const what = `${method} ${pathname.slice(0, 200)}`;
    if (unavailable) this.#o.log.warn('pages.unavailable', `${what}: ${error.message}`, { error });
    else this.#o.log.error('pages.failed', `${what} failed.`, { error });
    const problem = unavailable
      ? makeProblem('UNAVAILABLE', 'The control plane cannot read or keep anything now.')
      : makeProblem('INTERNAL', 'This page failed inside the control plane; its log says how.');
    return this.#frame.bare(problemPage(problem));
  }

  async #visit(
    request: Request,
    url: URL,
    peer: Peer | undefined,
    found: Found<PageRoute> | undefined,
  ): Promise<Response> {
    if (found && 'route' in found && found.route.path === '/assets/{file}')
      return assetResponse(url);
    const { place, store, access, random } = this.#o;
    const nowMs = await store.nowMs();
    const local = access === 'open' && (await isLocal(request, peer, place));
    const kept = this.#frame.sessions.read(request.headers, nowMs);
    // A link from elsewhere brings no cookie (SameSite=Strict). Asked again by a page of ours it does.
    if (kept === undefined && isFromElsewhere(request)) return this.#frame.onceMore();
    const session = kept ?? {
      id: Buffer.from(random.bytes(16)).toString('base64url'),
      keys: [],
      begunAtMs: nowMs,
      usedAtMs: nowMs,
    };
    const visit: Visit = {
      request,
      url,
      peer,
      nowMs,
      local,
      session,
      isNew: kept === undefined,
      cookies: [],
    };
    return this.#answered(visit, found);
  }

  async #answered(visit: Visit, found: Found<PageRoute> | undefined): Promise<Response> {
    const { request, session, local, nowMs, url } = visit;
    const who =
      this.#o.access === 'off' ? undefined : await whoLooks(this.#o.store, session, local, nowMs);
    const known = who === 'ended' ? undefined : who;
    if (found === undefined || !('route' in found)) {
      if (known === undefined && this.#o.access !== 'off')
        return this.#frame.toSignIn(visit, who === 'ended');
      return this.#frame.shown(
        visit,
        known,
        problemPage(found ? wrongMethod(request, url, found.methods) : noPage(url)),
        found && { Allow: found.methods.join(', ') },
      );
    }
    const { route, params } = found;
    if (route.path === '/failures') return this.#frame.shown(visit, known, failuresPage());
    if (request.method === 'POST') {
      const refused = this.#doors.formRefused(visit);
      if (refused !== undefined) return refused;
      const open = route.path === '/sign-in' || route.path === '/sign-out';
      if (known === undefined && !open) return this.#frame.toSignIn(visit, who === 'ended');
      const { largeFormBytes, formBytes } = pageDefaults;
      const form = await this.#doors.form(visit, route.large ? largeFormBytes : formBytes);
      if (form instanceof Response) return form;
      if (route.path === '/sign-in') return this.#doors.signIn(visit, form);
      if (route.path === '/sign-out' || known === undefined) return this.#doors.signOut(visit);
      if (route.path === '/project') return this.#doors.switch(visit, known, form);
      const about = form.get(ABOUT);
      if (about !== null && about !== known.key.project)
        return this.#frame.refused(
          `It is about project ${about}, and you have switched to ${known.key.project} since. Nothing was done. Switch back, load the page anew, and send it again.`,
        );
      return this.#routed(visit, known, route, params, form);
    }
    if (route.path === '/sign-in') return this.#doors.signInShown(visit, known);
    if (known === undefined) return this.#frame.toSignIn(visit, who === 'ended');
    this.#o.used(known.key, nowMs);
    if (route.path === '/') return this.#frame.seeOther(visit, '/tasks');
    if (route.path === LIVE_PATH)
      return request.method === 'HEAD' ? made(null, 200, {}) : this.#stream(visit, known);
    return this.#routed(visit, known, route, params, new URLSearchParams());
  }

  async #routed(
    visit: Visit,
    who: Who,
    route: PageRoute,
    params: Readonly<Record<string, string>>,
    form: URLSearchParams,
  ): Promise<Response> {
    const { url, nowMs, session, request } = visit;
    const given: PageRequest = {
      who,
      project: who.key.project,
      may: (call) => MAY.get(call)?.has(who.key.kind) === true,
      params,
      url,
      query: url.searchParams,
      form,
      nowMs,
      csrf: this.#frame.csrf(session, who.key.project),
      once: () => `page-${Buffer.from(this.#o.random.bytes(16)).toString('base64url')}`,
      signal: request.signal,
      call: (id, call = {}) =>
        called(this.#o.callAs, who.key, id, { signal: request.signal, ...call }),
      reads: this.#o.store,
    };
    return this.#given(visit, who, await route.answer(given));
  }

  #given(visit: Visit, who: Who, answer: PageAnswer): Response {
    if ('page' in answer) return this.#frame.shown(visit, who, answer.page);
    if ('problem' in answer) return this.#frame.shown(visit, who, problemPage(answer.problem));
    if ('seeOther' in answer) {
      if (answer.said !== undefined)
        visit.cookies.push(this.#frame.sessions.saidCookie(visit.session, answer.said));
      return this.#frame.seeOther(visit, answer.seeOther);
    }
    const { name, type, text } = answer.file;
    return made(text, 200, {
      'Content-Type': type,
      'Content-Disposition': `attachment; filename="${name.replace(/[^\w.-]/g, '_')}"`,
      'Cache-Control': 'no-store',
      // Shown by nobody, whatever it holds.
      'Content-Security-Policy': "default-src 'none'; sandbox",
    });
  }

  async #stream({ session, request, nowMs }: Visit, { key }: Who): Promise<Response> {
    const { status, body } = await this.#o.callAs(key, 'taskHints', { signal: request.signal });
    if (!(body instanceof ReadableStream))
      return made(null, status, { 'Cache-Control': 'no-store' });
    const leftMs = this.#frame.sessions.leftMs({ ...session, usedAtMs: nowMs }, nowMs);
    return made(this.live.kept(session.id, body, leftMs), 200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    });
  }
}

const own = (method: PageRoute['method'], path: string): PageRoute => ({
  method,
  path,
  // Answered by the site itself.
  answer: async () => ({ seeOther: '/tasks' }),
});

const ALL: readonly PageRoute[] = [
  own('GET', '/'),
  own('GET', '/assets/{file}'),
  own('GET', '/failures'),
  own('GET', LIVE_PATH),
  own('GET', '/sign-in'),
  own('POST', '/sign-in'),
  own('POST', '/sign-out'),
  own('POST', '/project'),
  ...routes,
];

/** Kinds of key by call. */
const MAY: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  operations.map(({ id, keys }) => [id, new Set(keys === 'open' ? [] : keys)]),
);

function headOf({ status, headers }: Response): Response {
  return new Response(null, { status, headers });
}
