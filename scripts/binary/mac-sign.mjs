/**
 * Signs a Mach-O executable (64 bit) ad hoc: with hashes of its pages and no name of anybody, as a linker does. Apple Silicon
 * starts nothing without at least that, and injection has taken the signature of Node's own build away.
 */
import { createHash } from 'node:crypto';
import { Trouble } from './trouble.mjs';

export const LC_SEGMENT_64 = 0x19;
export const LC_CODE_SIGNATURE = 0x1d;
const MAGIC_64 = 0xfeedfacf;
const HASH_PAGE = 4096;
const SIGNATURE_ALIGN = 16;
const HEADER = 88;
/** CS_ADHOC and CS_LINKER_SIGNED: whoever has a certificate may sign over it without being asked. */
const FLAGS = 0x20002;

/** @param {Buffer} macho without a signature, or with one at its end. @returns {Buffer} */
export function signMacho(macho, identifier) {
  const { commands, commandsEnd, cpu } = readMacho(macho);
  const segments = commands.filter(({ type }) => type === LC_SEGMENT_64);
  const text = segments.find(({ name }) => name === '__TEXT');
  const linkEdit = segments.find(({ name }) => name === '__LINKEDIT');
  const old = commands.find(({ type }) => type === LC_CODE_SIGNATURE);
  if (text === undefined || linkEdit === undefined || linkEdit !== segments.at(-1))
    throw new Trouble('The runtime has no __TEXT, or its last segment is not __LINKEDIT.');
  const end = old ? macho.readUInt32LE(old.at + 8) : linkEdit.offset + linkEdit.fileSize;
  const limit = Math.ceil(end / SIGNATURE_ALIGN) * SIGNATURE_ALIGN;
  const pages = Math.ceil(limit / HASH_PAGE);
  const ident = Buffer.from(`${identifier}\0`);
  const directorySize = HEADER + ident.length + pages * 32;
  const size = Math.ceil((20 + directorySize) / SIGNATURE_ALIGN) * SIGNATURE_ALIGN;

  const out = Buffer.alloc(limit + size);
  macho.copy(out, 0, 0, end);
  const command = old ? old.at : addCommand(out, commandsEnd, text.firstSection);
  for (const [i, value] of [LC_CODE_SIGNATURE, 16, limit, size].entries())
    out.writeUInt32LE(value, command + 4 * i);
  const memoryPage = cpu === 'arm64' ? 16_384 : 4096;
  const fileSize = limit + size - linkEdit.offset;
  out.writeBigUInt64LE(BigInt(Math.ceil(fileSize / memoryPage) * memoryPage), linkEdit.at + 32);
  out.writeBigUInt64LE(BigInt(fileSize), linkEdit.at + 48);

  const directory = Buffer.alloc(directorySize);
  const words = [0xfade0c02, directorySize, 0x20400, FLAGS, HEADER + ident.length, HEADER];
  for (const [i, value] of [...words, 0, pages, limit].entries())
    directory.writeUInt32BE(value, 4 * i);
  directory.set([32, 2, 0, Math.log2(HASH_PAGE)], 36);
  directory.writeBigUInt64BE(BigInt(text.offset), 64);
  directory.writeBigUInt64BE(BigInt(text.fileSize), 72);
  directory.writeBigUInt64BE(1n, 80); // the main program
  ident.copy(directory, HEADER);
  for (let i = 0; i < pages; i++) {
    const page = out.subarray(i * HASH_PAGE, Math.min((i + 1) * HASH_PAGE, limit));
    createHash('sha256')
      .update(page)
      .digest()
      .copy(directory, HEADER + ident.length + i * 32);
  }
  // The blob around it: one thing in it, the directory, 20 bytes after the start.
  for (const [i, value] of [0xfade0cc0, 20 + directorySize, 1, 0, 20].entries())
    out.writeUInt32BE(value, limit + 4 * i);
  directory.copy(out, limit + 20);
  return out;
}

function addCommand(out, at, firstSection) {
  if (at + 16 > firstSection)
    throw new Trouble('The runtime has no room for one more load command (LC_CODE_SIGNATURE).');
  out.writeUInt32LE(out.readUInt32LE(16) + 1, 16);
  out.writeUInt32LE(out.readUInt32LE(20) + 16, 20);
  return at;
}

/** The load commands of a Mach-O file, segments with name and place. */
export function readMacho(macho) {
  if (macho.readUInt32LE(0) !== MAGIC_64) throw new Trouble('This is no 64-bit Mach-O file.');
  const commands = [];
  let at = 32;
  for (let i = 0; i < macho.readUInt32LE(16); i++) {
    const type = macho.readUInt32LE(at);
    commands.push({ type, at, ...(type === LC_SEGMENT_64 && segment(macho, at)) });
    at += macho.readUInt32LE(at + 4);
  }
  const cpu = macho.readUInt32LE(4) === 0x0100000c ? 'arm64' : 'x64';
  return { commands, commandsEnd: at, cpu };
}

function segment(macho, at) {
  const name = (from) => macho.toString('latin1', from, from + 16).replace(/\0.*$/s, '');
  const sections = Array.from({ length: macho.readUInt32LE(at + 64) }, (_, i) => {
    const from = at + 72 + i * 80;
    return {
      name: name(from),
      offset: macho.readUInt32LE(from + 48),
      size: Number(macho.readBigUInt64LE(from + 40)),
    };
  });
  const placed = sections.map(({ offset }) => offset).filter((offset) => offset > 0);
  return {
    name: name(at + 8),
    address: Number(macho.readBigUInt64LE(at + 24)),
    offset: Number(macho.readBigUInt64LE(at + 40)),
    fileSize: Number(macho.readBigUInt64LE(at + 48)),
    sections,
    firstSection: Math.min(...placed),
  };
}
