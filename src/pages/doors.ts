import { makeProblem } from '../contract/problems.ts';
import { pageDefaults } from '../core/page-defaults.ts';
import type { Frame, Visit } from './frame.ts';
import type { LiveStreams } from './live.ts';
import type { PagesOptions } from './options.ts';
import type { Who } from './page.ts';
import { countedAddress, foreignWords, isOwnForm } from './peer.ts';
import { problemPage } from './problem-page.ts';
import { seeOther } from './respond.ts';
import type { Session } from './session.ts';
import { isWhy, ownAddress, signInPage, type Why } from './sign-in.ts';
import { mayLook } from './who.ts';
import { WrongKeys } from './wrong-keys.ts';

/** In, out, and from one project to another; and what every form has to show before anything is done. */
export class Doors {
  readonly #o: PagesOptions;
  readonly #frame: Frame;
  readonly #live: LiveStreams;
  readonly #wrong = new WrongKeys();

  constructor(options: PagesOptions, frame: Frame, live: LiveStreams) {
    this.#o = options;
    this.#frame = frame;
    this.#live = live;
  }

  signInShown(visit: Visit, who: Who | undefined, why?: Why, to?: string): Response {
    const { searchParams } = visit.url;
    const asked = searchParams.get('why');
    const view = signInPage(
      this.#frame.csrf(visit.session),
      ownAddress(to ?? searchParams.get('to')),
      why ?? (isWhy(asked) ? asked : undefined),
      who !== undefined && !who.local,
    );
    return this.#frame.shown(visit, who, view);
  }

  async signIn(visit: Visit, form: URLSearchParams): Promise<Response> {
    const { nowMs, session, request, peer, cookies } = visit;
    const to = ownAddress(form.get('to'));
    const address = countedAddress(request.headers, peer, this.#o.place);
    const key = await this.#o.keyOf((form.get('key') ?? '').trim());
    if (key === undefined) return this.#wrongKey(visit, address, to);
    if (!mayLook(key)) return this.signInShown(visit, undefined, 'kind', to);
    const keys = [...new Set([...session.keys, key.id])];
    if (keys.length > pageDefaults.keysPerSession)
      return this.signInShown(visit, undefined, 'full', to);
    // A new one: whoever knew the old one knows nothing of this.
    const signedIn: Session = {
      id: Buffer.from(this.#o.random.bytes(16)).toString('base64url'),
      keys,
      project: key.project,
      begunAtMs: session.keys.length > 0 ? session.begunAtMs : nowMs,
      usedAtMs: nowMs,
    };
    this.end(session, nowMs);
    cookies.push(this.#frame.sessions.cookie(signedIn, nowMs));
    this.#o.log.info(
      'pages.signed-in',
      `Somebody signed in to the pages with key ${key.id} ("${key.name}").`,
      { keyId: key.id, project: key.project, address },
    );
    return seeOther(to, cookies);
  }

  /** A right key is never put off: behind some proxies all have one address, and one could shut out the others. */
  #wrongKey(visit: Visit, address: string, to: string): Response {
    const many = this.#wrong.count(address, visit.nowMs) !== undefined;
    if (!many)
      this.#o.log.info('pages.sign-in-refused', 'A sign-in to the pages was refused: wrong key.', {
        address,
      });
    return this.signInShown(visit, undefined, many ? 'many' : 'wrong', to);
  }

  signOut(visit: Visit): Response {
    this.end(visit.session, visit.nowMs);
    return seeOther('/sign-in?why=out', [this.#frame.sessions.noCookie()]);
  }

  end(session: Session, nowMs: number): void {
    this.#frame.sessions.end(session, nowMs);
    this.#live.end(session.id);
  }

  switch(visit: Visit, who: Who, form: URLSearchParams): Response {
    const { session, nowMs, cookies } = visit;
    const project = form.get('project') ?? '';
    if (!who.projects.includes(project))
      return this.#frame.shown(
        visit,
        who,
        problemPage(
          makeProblem('NOT_FOUND', 'You are not signed in to that project.', { kind: 'project' }),
        ),
      );
    cookies.push(this.#frame.sessions.cookie({ ...session, project, usedAtMs: nowMs }, nowMs));
    // The page knows that this one thing is there.
    if (form.get('show') === 'this') return seeOther(ownAddress(form.get('to')), cookies);
    // Else what one thing is called means nothing in another project.
    const [, part = 'tasks'] = ownAddress(form.get('to')).split(/[/?]/);
    return seeOther(`/${part}`, cookies);
  }

  /** Why a form is not taken, as far as its headers tell: nothing of it has been read then. */
  formRefused({ request, isNew }: Visit): Response | undefined {
    if (!isOwnForm(request.headers, this.#o.place))
      return this.#frame.refused(foreignWords(request.headers));
    const type = request.headers.get('content-type') ?? '';
    if (!/^application\/x-www-form-urlencoded(?:;|$)/i.test(type))
      return this.#frame.refused(
        'It is not sent as the forms of these pages are. Nothing was done.',
      );
    // No token fits a session that there was none of.
    return isNew ? this.#frame.refused(OTHER_SESSION) : undefined;
  }

  /** The fields of a form that is one of ours, or the answer that says why it is not taken. */
  async form({ request, session }: Visit, maxBytes: number): Promise<URLSearchParams | Response> {
    const bytes = await this.#o.bytes(request, maxBytes);
    if (bytes === undefined)
      return this.#frame.refused(
        'It is larger than a form may be. Nothing was done.',
        'PAYLOAD_TOO_LARGE',
      );
    if (fieldsIn(bytes, pageDefaults.formFields) > pageDefaults.formFields)
      return this.#frame.refused(
        'It has more fields than a form may have. Nothing was done.',
        'PAYLOAD_TOO_LARGE',
      );
    const form = new URLSearchParams(Buffer.from(bytes).toString());
    return this.#frame.sessions.tokenFits(session, form.get('token'))
      ? form
      : this.#frame.refused(OTHER_SESSION);
  }
}

/** How many fields a form has, counted no further than one beyond `most`. */
function fieldsIn(bytes: Uint8Array, most: number): number {
  let fields = 1;
  for (let at = bytes.indexOf(AMPERSAND); at >= 0 && fields <= most; fields++)
    at = bytes.indexOf(AMPERSAND, at + 1);
  return fields;
}

const AMPERSAND = 0x26;
const OTHER_SESSION =
  'The page it was on is from before you signed in or out, or from another session. Nothing was done. Go back, load the page anew, and send it again.';
