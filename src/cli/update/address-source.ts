import { TaskError } from '../../contract/index.ts';
import type { Clock } from '../../ports/clock.ts';
import { dropBody } from '../../wire/body.ts';
import { explain, WireFault } from '../../wire/fault.ts';
import type { WireFetch, WireResponse } from '../../wire/fetch.ts';
import { Limit } from '../../wire/limit.ts';
import { isLoopback } from '../../wire/service-url.ts';
import { updateError } from './codes.ts';
import { releaseBytes, SUMS } from './release.ts';
import { isSmall, type ReleaseSource, tooLong } from './source.ts';

/** Whether `--from` is an address and no path. `C:\release` is a path. */
export function isAddress(from: string): boolean {
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(from);
}

/**
 * A release behind https (or http on this machine), the folder or a file in it. What comes is believed for its signature
 * alone; TLS keeps to itself who installs what. No key is ever sent, so redirects may lead to other hosts, by https; but none
 * makes this machine call what it has for itself.
 */
export function addressSource(
  from: string,
  { fetch, clock }: { readonly fetch: WireFetch; readonly clock: Clock },
): ReleaseSource {
  const url = checkedAddress(from);
  const last = decoded(url.pathname.split('/').at(-1) ?? '');
  // The folder may be written without a slash at its end; files of a release have these names.
  const isFile = isSmall(last) || last.startsWith('interlock-worker-');
  const folder = new URL(url);
  folder.pathname = isFile
    ? url.pathname.replace(/[^/]*$/, '')
    : `${url.pathname.replace(/\/*$/, '')}/`;
  const shown = folder.origin + folder.pathname;

  const open = async (name: string): Promise<Opened | undefined> => {
    const target = new URL(folder);
    target.pathname = folder.pathname + encodeURIComponent(name);
    const at = shown + name;
    const limit = new Limit(clock, SILENCE_MS, folder.origin);
    try {
      const response = await follow(target, limit, fetch);
      if (response.status === 200) return { at, limit, response };
      dropBody(response);
      limit.end();
      if (response.status === 404 || response.status === 410) return undefined;
      throw new TaskError('UNREACHABLE', `${at} was answered with ${response.status}.`, {
        hint: 'Check the address and whether this machine may read it; then run it again.',
      });
    } catch (error) {
      limit.end();
      throw told(error, folder.origin);
    }
  };

  return {
    shown,
    file: isFile && !isSmall(last) ? last : undefined,
    async read(name) {
      const opened = await open(name);
      if (!opened) return undefined;
      const pieces: Uint8Array[] = [];
      let length = 0;
      for await (const piece of body(opened, clock, folder.origin)) {
        length += piece.byteLength;
        if (length > releaseBytes[name]) throw tooLong(opened.at, releaseBytes[name]);
        pieces.push(piece);
      }
      return Buffer.concat(pieces);
    },
    async *pieces(name, bytes) {
      const opened = await open(name);
      if (!opened)
        throw updateError('UPDATE_DAMAGED', `${shown}${name} is not there, but ${SUMS} names it.`);
      let length = 0;
      for await (const piece of body(opened, clock, folder.origin)) {
        length += piece.byteLength;
        yield piece;
        // Whoever counts has been told; the rest is not wanted.
        if (length > bytes) return;
      }
    },
  };
}

interface Opened {
  readonly at: string;
  readonly limit: Limit;
  readonly response: WireResponse;
}

function checkedAddress(from: string): URL {
  const refuse = (why: string): never => {
    throw new TaskError('INVALID_ADDRESS', `The address of the release ${why}.`, {
      hint: 'Write it as https://downloads.example.com/interlock/0.2.0/, or give a folder on this machine.',
    });
  };
  let url: URL;
  try {
    url = new URL(from);
  } catch {
    return refuse('is none');
  }
  if (url.username || url.password) return refuse('holds a user or a password');
  // `https://user:12/34@host`: the slash of a password has ended the host before its time.
  if (url.pathname.includes('@'))
    return refuse('holds an "@"; users and passwords have no place in it (in a path, write %40)');
  if (url.hash) return refuse('must have no "#"');
  const why = notAllowed(url);
  return why ? refuse(why) : url;
}

function notAllowed(url: URL): string | undefined {
  if (url.protocol === 'https:') return undefined;
  if (url.protocol !== 'http:') return `must begin with https://, not ${url.protocol}`;
  return isLoopback(url.hostname) ? undefined : 'is plain http beyond this machine';
}

/** Why a redirect is not followed: a host could have this machine ask what answers only to itself. */
function notLedTo(next: URL, from: URL): string | undefined {
  if (next.username || next.password) return 'holds a user or a password';
  if (next.origin === from.origin) return undefined;
  if (next.protocol !== 'https:') return 'is another host without https';
  if (isThisMachine(next) && !isThisMachine(from)) return 'is this machine itself';
  return undefined;
}

/** The addresses of no host lead to this one too. */
function isThisMachine({ hostname }: URL): boolean {
  return isLoopback(hostname) || hostname === '0.0.0.0' || hostname === '[::]';
}

/** As it stands where it is no encoding (`%zz`): no file of a release is called so. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

async function follow(start: URL, limit: Limit, fetch: WireFetch): Promise<WireResponse> {
  let url = start;
  for (let followed = 0; ; followed++) {
    const sent = fetch(url.href, {
      method: 'GET',
      // Not compressed on the way: the bytes are counted.
      headers: { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'interlock-worker' },
      signal: limit.signal,
      redirect: 'manual',
    });
    const response = await limit.bounded(sent, dropBody);
    const location = response.headers.get('location');
    if (response.status < 300 || response.status > 399 || location === null) return response;
    dropBody(response);
    const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
    const why = next ? notLedTo(next, url) : 'is no address';
    if (why || !next || followed >= REDIRECTS_MAX)
      throw new WireFault(
        'redirect',
        `${start.origin} leads on to an address that ${why ?? 'is one too many'}.`,
      );
    url = next;
  }
}

/** The pieces of a body; a peer that falls silent is given up, a slow one is not. */
async function* body(opened: Opened, clock: Clock, origin: string): AsyncIterable<Uint8Array> {
  const { limit, response } = opened;
  limit.stopTimer();
  if (!response.body) return limit.end();
  const reader = response.body.getReader();
  let whole = false;
  try {
    for (;;) {
      const silence = new Limit(clock, SILENCE_MS, origin);
      const { done, value } = await silence.bounded(reader.read()).finally(() => silence.end());
      if (done) break;
      if (value) yield value;
    }
    whole = true;
  } catch (error) {
    throw told(error, origin);
  } finally {
    if (!whole) reader.cancel().catch(() => {});
    limit.end();
  }
}

function told(error: unknown, origin: string): unknown {
  if (error instanceof TaskError) return error;
  const { cause, why } = explain(error, origin);
  return new TaskError('UNREACHABLE', why, {
    hint: 'Nothing was changed. Check address, network and proxy, and run it again; or copy the release here and name its folder.',
    details: { cause },
  });
}

/** No byte for so long, and it is given up: longer than a connection over a bad line stalls. */
const SILENCE_MS = 60_000;
/** A mirror leads to a host, that to a signed address of a store. */
const REDIRECTS_MAX = 5;
