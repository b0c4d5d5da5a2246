/** How pages leave: headers that keep a browser from doing anything but showing them. */

/** Nothing but what we serve ourselves; nothing inline. */
const POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const SAFE: Readonly<Record<string, string>> = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  // Not "no-referrer": with that a browser says `Origin: null` for our own forms.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

const NO_STORE = { 'Cache-Control': 'no-store', Vary: 'Accept, Cookie' };

export function pageResponse(
  text: string,
  status: number,
  cookies: readonly string[] = [],
  more: Readonly<Record<string, string>> = {},
): Response {
  return made(
    text,
    status,
    { 'Content-Type': 'text/html; charset=utf-8', ...NO_STORE, ...more },
    cookies,
  );
}

export function seeOther(location: string, cookies: readonly string[] = []): Response {
  return made(null, 303, { Location: location, ...NO_STORE }, cookies);
}

export function made(
  body: string | ReadableStream<Uint8Array> | null,
  status: number,
  headers: Readonly<Record<string, string>>,
  cookies: readonly string[] = [],
): Response {
  const all = new Headers({ ...SAFE, ...headers });
  for (const cookie of cookies) all.append('Set-Cookie', cookie);
  return new Response(body, { status, headers: all });
}
