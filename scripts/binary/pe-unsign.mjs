/**
 * Injection invalidates the signature of Node's own build: what points to it is cleared, its bytes go, and the checksum is
 * made anew, so that Windows sees a file without a signature and not one whose signature is broken.
 */
import { Trouble } from './trouble.mjs';

const CERTIFICATES = 4;

/** @param {Buffer} pe @returns {Buffer} */
export function unsignPe(pe) {
  const { optional, sections } = readPe(pe);
  const end = Math.max(...sections.map(({ offset, size }) => offset + size));
  const out = Buffer.from(pe.subarray(0, end));
  out.writeBigUInt64LE(0n, optional + 112 + 8 * CERTIFICATES);
  out.writeUInt32LE(0, optional + 64);
  out.writeUInt32LE(checksum(out), optional + 64);
  return out;
}

/** Header, sections and where the certificates are said to be. */
export function readPe(pe) {
  const header = pe.readUInt32LE(0x3c);
  const optional = header + 24;
  if (pe.toString('latin1', header, header + 4) !== 'PE\0\0' || pe.readUInt16LE(optional) !== 0x20b)
    throw new Trouble('The runtime is no 64-bit PE file.');
  const table = optional + pe.readUInt16LE(header + 20);
  const sections = Array.from({ length: pe.readUInt16LE(header + 6) }, (_, i) => {
    const at = table + i * 40;
    return {
      name: pe.toString('latin1', at, at + 8).replace(/\0+$/, ''),
      address: pe.readUInt32LE(at + 12),
      size: pe.readUInt32LE(at + 16),
      offset: pe.readUInt32LE(at + 20),
    };
  });
  const certificates = pe.readBigUInt64LE(optional + 112 + 8 * CERTIFICATES);
  return { optional, sections, certificates, checksum: pe.readUInt32LE(optional + 64) };
}

/** Sum of 16-bit words with the carry added again, plus the length; the field itself counts as 0. */
export function checksum(pe) {
  let sum = 0;
  const even = pe.length & ~1;
  for (let at = 0; at < even; at += 2) {
    sum += pe[at] | (pe[at + 1] << 8);
    if (sum > 0xffff) sum = (sum & 0xffff) + 1;
  }
  if (even < pe.length) sum += pe[even];
  sum = (sum & 0xffff) + (sum >>> 16);
  return (sum + pe.length) >>> 0;
}
