import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ResumableSha256 } from '../../handlers/file/resumable-sha256.ts';

const expected = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');

it('gives the digest of Node’s own, with its state written down between any two parts', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 8 }), (parts) => {
      let hash = new ResumableSha256();
      for (const part of parts) {
        hash.update(part);
        hash = new ResumableSha256(JSON.parse(JSON.stringify(hash.state)));
      }
      expect(hash.hex()).toBe(expected(Buffer.concat(parts)));
    }),
    { numRuns: 300 },
  );
});

it('gives it at every length around the ends of blocks, and for a megabyte', () => {
  for (const length of [0, 1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 128, 1_048_576]) {
    const data = Buffer.alloc(length, length);
    const hash = new ResumableSha256();
    hash.update(data);
    expect(hash.hex()).toBe(expected(data));
    expect(hash.hex()).toBe(expected(data));
  }
});
