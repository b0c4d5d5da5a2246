import { readFile } from 'node:fs/promises';
import { endianness } from 'node:os';
import type { SocketEnd, SocketEnds, SocketOwners } from '../ports/socket-owners.ts';

/** Linux tells the user of each socket in /proc/net. Elsewhere nothing is told. */
export function systemSocketOwners(platform: NodeJS.Platform = process.platform): SocketOwners {
  const uid = process.getuid?.();
  if (platform !== 'linux' || uid === undefined) return { ours: async () => undefined };
  return {
    ours: async (ends) => {
      const read = (name: string) => readFile(`/proc/net/${name}`, 'latin1').catch(() => '');
      return oursIn(`${await read('tcp')}\n${await read('tcp6')}`, ends, uid);
    },
  };
}

/** @param text `/proc/net/tcp` and `/proc/net/tcp6`. @param order of the bytes that addresses there are written in. */
export function oursIn(
  text: string,
  { here, there }: SocketEnds,
  uid: number,
  order: 'LE' | 'BE' = endianness(),
): boolean | undefined {
  const [mine, theirs] = [endWords(here), endWords(there)];
  let seen = false;
  for (const line of text.split('\n')) {
    const [, local = '', remote = '', , , , , owner, , inode] = line.trim().split(/\s+/);
    const [from, to] = [rowWords(local, order), rowWords(remote, order)];
    // One that nobody holds any more is said to be root's.
    if (from === theirs && to === mine && inode !== '0')
      return Number(owner) === uid || owner === '0';
    seen ||= from === mine && to === theirs;
  }
  // Where our own end is told of, the other would be too, if somebody still held it.
  return seen ? false : undefined;
}

/** `0100007F:1CFC` (of IPv6 four such words) → `7f000001:7420`. */
function rowWords(text: string, order: 'LE' | 'BE'): string {
  const [address = '', port = ''] = text.split(':');
  const words = (address.match(/.{8}/g) ?? []).map((word) =>
    order === 'BE' ? word : (word.match(/../g) ?? []).reverse().join(''),
  );
  const hex = words.join('').toLowerCase().replace(MAPPED, '');
  return `${hex}:${Number.parseInt(port, 16)}`;
}

function endWords({ address, port }: SocketEnd): string {
  if (address === '::1') return `${'1'.padStart(32, '0')}:${port}`;
  const bytes = address.replace(/^::ffff:/i, '').split('.');
  return `${bytes.map((byte) => Number(byte).toString(16).padStart(2, '0')).join('')}:${port}`;
}

/** An IPv4 address that an IPv6 socket speaks of. */
const MAPPED = /^0{20}f{4}(?=.{8}$)/;
