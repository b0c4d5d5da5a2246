/**
 * Makes an ELF file (64 bit, little endian) ours: what no process loads goes (symbols, facts for debuggers: what `strip -s`
 * takes), and a note with our data comes, in a segment that is loaded, since Node.js looks for it in memory. The same bytes
 * on every machine, whatever its binutils. docs/adr/0008 says why postject does not do it.
 */
import { Trouble } from './trouble.mjs';

export const PT_LOAD = 1;
export const PT_NOTE = 4;
const PT_PHDR = 6;
const READABLE = 4;
const SHF_ALLOC = 2n;
const SHT_STRTAB = 3;
const SHT_NOTE = 7;
const SHT_NOBITS = 8;
const SEGMENT = 56;
const SECTION = 64;
/** The largest page of any Linux that we build for. */
const PAGE = 65_536;

/** @param {Buffer} elf @param name of the note. @returns {Buffer} */
export function withNote(elf, name, data) {
  if (elf.readUInt32BE(0) !== 0x7f454c46 || elf[4] !== 2 || elf[5] !== 1)
    throw new Trouble('The runtime is no 64-bit little-endian ELF file.');
  const kept = loadedSections(elf);
  const segments = readSegments(elf);
  const loaded = segments.filter(({ type }) => type === PT_LOAD);
  // The table of segments moves to the new one. Kernels before 5.18 tell a process where it is by its place in the file, counted
  // from the first segment: so the new one lies in memory as far from the first as in the file, behind all others in both.
  const base = loaded[0].address - loaded[0].offset;
  const fileEnd = Math.max(
    ...segments.map(({ offset, fileSize }) => offset + fileSize),
    ...kept.map(end),
  );
  const memoryEnd = Math.max(...loaded.map(({ address, memorySize }) => address + memorySize));
  const start = up(Math.max(fileEnd, memoryEnd - base), PAGE);
  const note = start + up((segments.length + 2) * SEGMENT, 16);
  const bytes = noteBytes(name, data);
  const strings = note + bytes.length;
  const names = ['', ...kept.slice(1).map((section) => section.name), `.note.${name}`, '.shstrtab'];
  const text = Buffer.from(`${names.join('\0')}\0`);
  const table = up(strings + text.length, 8);

  const out = Buffer.alloc(table + names.length * SECTION);
  elf.copy(out, 0, 0, fileEnd);
  bytes.copy(out, note);
  text.copy(out, strings);
  const place = { base, start, size: strings - start, note, noteSize: bytes.length };
  segmentTable(segments, place).copy(out, start);
  const sections = [
    ...kept.map(({ header }) => Buffer.from(header)),
    section({
      type: SHT_NOTE,
      flags: SHF_ALLOC,
      address: base + note,
      offset: note,
      size: bytes.length,
      align: 4,
    }),
    section({
      type: SHT_STRTAB,
      flags: 0n,
      address: 0,
      offset: strings,
      size: text.length,
      align: 1,
    }),
  ];
  let nameAt = 0;
  for (const [i, header] of sections.entries()) {
    header.writeUInt32LE(nameAt, 0);
    header.copy(out, table + i * SECTION);
    nameAt += Buffer.byteLength(names[i]) + 1;
  }
  out.writeBigUInt64LE(BigInt(start), 0x20);
  out.writeBigUInt64LE(BigInt(table), 0x28);
  out.writeUInt16LE(segments.length + 2, 0x38);
  out.writeUInt16LE(names.length, 0x3c);
  out.writeUInt16LE(names.length - 1, 0x3e);
  return out;
}

/** Those that a process loads. Symbols and links name sections by their number: those that stay may not get another one. */
function loadedSections(elf) {
  const sections = readSections(elf);
  const first = sections.findIndex(({ flags }, i) => i > 0 && !(flags & SHF_ALLOC));
  if (sections.slice(first).some(({ flags }) => flags & SHF_ALLOC))
    throw new Trouble('The runtime has sections that are loaded behind some that are not.');
  return sections.slice(0, first);
}

function segmentTable(segments, { base, start, size, note, noteSize }) {
  const count = segments.length + 2;
  const entries = segments.map(({ header, type }) =>
    type === PT_PHDR ? segment(PT_PHDR, base, start, count * SEGMENT, 8) : Buffer.from(header),
  );
  // In the order of their addresses, and the table's own entry before all of them.
  const last = segments.findLastIndex(({ type }) => type === PT_LOAD);
  entries.splice(last + 1, 0, segment(PT_LOAD, base, start, size, PAGE));
  entries.push(segment(PT_NOTE, base, note, noteSize, 4));
  return Buffer.concat(entries);
}

function segment(type, base, offset, size, align) {
  const header = Buffer.alloc(SEGMENT);
  header.writeUInt32LE(type, 0);
  header.writeUInt32LE(READABLE, 4);
  for (const [i, value] of [offset, base + offset, base + offset, size, size, align].entries())
    header.writeBigUInt64LE(BigInt(value), 8 + 8 * i);
  return header;
}

function section({ type, flags, address, offset, size, align }) {
  const header = Buffer.alloc(SECTION);
  header.writeUInt32LE(type, 4);
  header.writeBigUInt64LE(flags, 8);
  for (const [i, value] of [address, offset, size].entries())
    header.writeBigUInt64LE(BigInt(value), 16 + 8 * i);
  header.writeBigUInt64LE(BigInt(align), 48);
  return header;
}

function noteBytes(name, data) {
  const head = Buffer.alloc(12 + up(name.length + 1, 4));
  head.writeUInt32LE(name.length + 1, 0);
  head.writeUInt32LE(data.length, 4);
  head.write(name, 12, 'latin1');
  return Buffer.concat([head, data, Buffer.alloc(up(data.length, 4) - data.length)]);
}

export function readSections(elf) {
  const table = Number(elf.readBigUInt64LE(0x28));
  const headers = Array.from({ length: elf.readUInt16LE(0x3c) }, (_, i) =>
    elf.subarray(table + i * SECTION, table + (i + 1) * SECTION),
  );
  const names = Number(headers[elf.readUInt16LE(0x3e)].readBigUInt64LE(24));
  return headers.map((header) => {
    const at = names + header.readUInt32LE(0);
    return {
      header,
      name: elf.toString('latin1', at, elf.indexOf(0, at)),
      type: header.readUInt32LE(4),
      flags: header.readBigUInt64LE(8),
      offset: Number(header.readBigUInt64LE(24)),
      size: Number(header.readBigUInt64LE(32)),
    };
  });
}

/** Program headers: type, place in the file and in memory. */
export function readSegments(elf) {
  const table = Number(elf.readBigUInt64LE(0x20));
  return Array.from({ length: elf.readUInt16LE(0x38) }, (_, i) => {
    const header = elf.subarray(table + i * SEGMENT, table + (i + 1) * SEGMENT);
    const number = (at) => Number(header.readBigUInt64LE(at));
    return {
      header,
      type: header.readUInt32LE(0),
      offset: number(8),
      address: number(16),
      fileSize: number(32),
      memorySize: number(40),
    };
  });
}

function end({ type, offset, size }) {
  return type === SHT_NOBITS ? 0 : offset + size;
}

function up(value, to) {
  return Math.ceil(value / to) * to;
}
