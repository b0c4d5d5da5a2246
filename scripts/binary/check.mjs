/**
 * Reads an executable as its operating system and its Node.js will: our data is where they look for it, byte for byte, the
 * fuse is set, and nothing lies about a signature. For targets that cannot run here, that is all there is.
 */
import { createHash } from 'node:crypto';
import { PT_LOAD, PT_NOTE, readSegments } from './elf.mjs';
import { FUSE, RESOURCE } from './inject.mjs';
import { LC_CODE_SIGNATURE, LC_SEGMENT_64, readMacho } from './mac-sign.mjs';
import { checksum, readPe } from './pe-unsign.mjs';
import { Trouble } from './trouble.mjs';

/** @param {Buffer} bytes @param {Buffer} blob what was put in. @param version of Node.js. @returns {string} what was seen */
export function checkExecutable(bytes, format, blob, target, version) {
  const claim = (holds, what) => {
    if (!holds) throw new Trouble(`${target} is not as it should be: ${what}.`);
  };
  const at = bytes.indexOf(`${FUSE}:`);
  claim(at > 0, 'it has no fuse');
  claim(bytes[at + FUSE.length + 1] === 0x31, 'its fuse is not set');
  claim(bytes.indexOf(`${FUSE}:`, at + 1) === -1, 'it has two fuses');
  // The address of its source stands in every release.
  claim(bytes.includes(`/v${version}/node-v${version}.tar`), `it is not Node.js ${version}`);
  const { data, said } = { elf, macho, pe }[format](bytes, claim);
  claim(data.subarray(0, blob.length).equals(blob), 'our data in it is not what was put in');
  return said;
}

function elf(bytes, claim) {
  const [load, notes] = [PT_LOAD, PT_NOTE].map((type) =>
    readSegments(bytes).filter((s) => s.type === type),
  );
  for (const { offset, address, fileSize } of notes) {
    // Node.js looks for it in memory: the note has to be loaded where its header says.
    const home = load.find((s) => s.offset <= offset && offset + fileSize <= s.offset + s.fileSize);
    for (let at = offset; at + 12 <= offset + fileSize; ) {
      const nameSize = bytes.readUInt32LE(at);
      const size = bytes.readUInt32LE(at + 4);
      const name = bytes.toString('latin1', at + 12, at + 12 + nameSize).replace(/\0+$/, '');
      const data = at + 12 + align(nameSize, 4);
      if (name === RESOURCE) {
        claim(home && home.address - home.offset === address - offset, 'its note is not loaded');
        return { data: bytes.subarray(data, data + size), said: 'note of our data loaded' };
      }
      at = data + align(size, 4);
    }
  }
  return claim(false, `no note ${RESOURCE}`);
}

function macho(bytes, claim) {
  const { commands, commandsEnd } = readMacho(bytes);
  const segments = commands.filter(({ type }) => type === LC_SEGMENT_64);
  const [ours] = segments.flatMap(({ name, sections }) => (name === 'NODE_SEA' ? sections : []));
  claim(ours, 'no segment NODE_SEA');
  claim(
    commandsEnd <= segments.find(({ name }) => name === '__TEXT').firstSection,
    'its load commands run into its code',
  );
  const signature = commands.find(({ type }) => type === LC_CODE_SIGNATURE);
  claim(signature, 'it is not signed');
  const [from, size] = [8, 12].map((k) => bytes.readUInt32LE(signature.at + k));
  claim(from + size === bytes.length, 'its signature is not its end');
  const last = segments.at(-1);
  claim(last.offset + last.fileSize === bytes.length, '__LINKEDIT does not end with the file');
  const directory = bytes.subarray(from + bytes.readUInt32BE(from + 16));
  const field = (k) => directory.readUInt32BE(k);
  const [hashes, pages, limit] = [field(16), field(28), field(32)];
  claim(field(0) === 0xfade0c02 && limit === from, 'its code directory covers something else');
  claim((field(12) & 2) === 2, 'its signature is not ad hoc');
  const page = 2 ** directory[39];
  claim(pages === Math.ceil(limit / page), 'its code directory has too few pages');
  for (let i = 0; i < pages; i++) {
    const hash = createHash('sha256')
      .update(bytes.subarray(i * page, Math.min((i + 1) * page, limit)))
      .digest();
    claim(
      hash.equals(directory.subarray(hashes + i * 32, hashes + i * 32 + 32)),
      `page ${i} has another hash`,
    );
  }
  return {
    data: bytes.subarray(ours.offset, ours.offset + ours.size),
    said: `signed ad hoc, ${pages} page hashes right`,
  };
}

function pe(bytes, claim) {
  const { optional, sections, certificates, checksum: said } = readPe(bytes);
  claim(certificates === 0n, 'it points to a signature');
  const end = Math.max(...sections.map(({ offset, size }) => offset + size));
  claim(end === bytes.length, 'something lies behind its last section');
  const plain = Buffer.from(bytes);
  plain.writeUInt32LE(0, optional + 64);
  claim(checksum(plain) === said, 'its checksum is wrong');
  const data = peResource(bytes, optional, sections);
  claim(data, `no resource ${RESOURCE}`);
  return { data, said: 'unsigned, checksum right' };
}

/** Resource of type RCDATA (10) with our name, in any language. */
function peResource(bytes, optional, sections) {
  const fromAddress = (address) => {
    const home = sections.find((s) => s.address <= address && address < s.address + s.size);
    return home && home.offset + address - home.address;
  };
  const base = fromAddress(bytes.readUInt32LE(optional + 112 + 16));
  const entries = (at) => {
    const count = bytes.readUInt16LE(at + 12) + bytes.readUInt16LE(at + 14);
    return Array.from({ length: count }, (_, i) => {
      const [id, place] = [0, 4].map((k) => bytes.readUInt32LE(at + 16 + i * 8 + k));
      const nameAt = base + (id & 0x7fffffff);
      const name =
        id >= 0x80000000
          ? bytes.toString('utf16le', nameAt + 2, nameAt + 2 + 2 * bytes.readUInt16LE(nameAt))
          : id;
      return { name, at: base + (place & 0x7fffffff) };
    });
  };
  const [type] = entries(base).filter(({ name }) => name === 10);
  const [ours] = type ? entries(type.at).filter(({ name }) => name === RESOURCE) : [];
  if (!ours) return undefined;
  const [{ at }] = entries(ours.at);
  const from = fromAddress(bytes.readUInt32LE(at));
  return bytes.subarray(from, from + bytes.readUInt32LE(at + 4));
}

function align(size, to) {
  return Math.ceil(size / to) * to;
}
