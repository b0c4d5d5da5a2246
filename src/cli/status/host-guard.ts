import { isIP } from 'node:net';
import { bare, isLocalName } from '../../wire/service-url.ts';

/**
 * Whether a request may be answered by what its `Host` says. A page of a foreign site whose name was made to lead to this
 * machine (DNS rebinding) comes with that name: where only this machine is meant, only addresses, localhost and the name
 * that is listened on are taken. A program that sends no `Host` (HTTP/1.0) is no browser.
 */
export function hostAllowed(
  header: string | undefined,
  listens: { readonly host: string; readonly loopback: boolean },
): boolean {
  if (header === undefined || !listens.loopback) return true;
  const match = /^(\[[\da-fA-F:.%]+\]|[^:[\]\s]+)(?::\d{1,5})?$/.exec(header.trim());
  const host = match?.[1];
  if (host === undefined) return false;
  return isIP(bare(host)) !== 0 || isLocalName(host) || same(host, listens.host);
}

function same(a: string, b: string): boolean {
  return bare(a).toLowerCase() === bare(b).toLowerCase();
}
