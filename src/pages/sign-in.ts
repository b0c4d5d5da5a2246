import { type Html, html } from './html.ts';
import type { View } from './page.ts';
import { notice } from './parts.ts';

/** Why the sign-in page is shown, where it was not asked for. */
export type Why = 'ended' | 'wrong' | 'kind' | 'many' | 'out' | 'full';

/** @param to where to go after it. @param again the page's own words about what went wrong. */
export function signInPage(csrf: Html, to: string, why: Why | undefined, added: boolean): View {
  return {
    title: 'Sign in',
    nav: 'sign-in',
    status: why === 'wrong' || why === 'kind' ? 403 : why === 'many' ? 429 : 200,
    main: html`<h1>${added ? 'Add a project' : 'Sign in'}</h1>
${why !== undefined && notice(why === 'out' ? 'good' : 'warn', WORDS[why])}
<form method="post" action="/sign-in" class="narrow">
${csrf}<input type="hidden" name="to" value="${to}">
<p><label for="key">Key</label>
<input id="key" name="key" type="password" required autocomplete="current-password" autocapitalize="none" spellcheck="false" aria-describedby="key-help"></p>
<p id="key-help" class="faint">It begins with <code>il_</code> and is of kind <code>admin</code>, <code>task-operator</code> or <code>task-producer</code>. The admin key was printed at the first start of the control plane; <code>npm start</code> keeps its own in <code>.interlock/profile.json</code>. A key belongs to one project: sign in with one of each project you want to see. Make one with <code>interlock keys new "my browser" --kind task-operator</code>.</p>
<p><button class="main">${added ? 'Add' : 'Sign in'}</button></p>
</form>`,
  };
}

const WORDS: Readonly<Record<Why, string>> = {
  ended:
    'You were signed out: the key you signed in with was revoked or has expired, or may not look at tasks. Sign in with another one.',
  wrong: 'This key is not taken: it is not one of this control plane, was revoked, or has expired.',
  kind: 'This key is none for people: pages need one of kind admin, task-operator or task-producer. Workers have theirs for themselves.',
  many: 'Too many keys were tried from your address. Wait a minute, then try again.',
  out: 'You are signed out.',
  full: 'You are signed in to as many projects as fit. Sign out first.',
};

export function isWhy(text: string | null): text is Why {
  return text !== null && Object.hasOwn(WORDS, text);
}

/** Only an address of ours: what stands in a link must not send anybody elsewhere after signing in. */
export function ownAddress(text: string | null): string {
  if (text === null || !text.startsWith('/') || /[\\\p{Cc}]/u.test(text)) return '/tasks';
  try {
    const url = new URL(text, BASE);
    if (url.origin !== BASE || url.pathname.startsWith('//')) return '/tasks';
    if (/^\/(?:sign-(?:in|out)|project|live|assets)(?:\/|$)/.test(url.pathname)) return '/tasks';
    return url.pathname + url.search;
  } catch {
    return '/tasks';
  }
}

const BASE = 'http://pages.invalid';
