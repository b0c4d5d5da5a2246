import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { sha256 } from '../../src/handler/sha256.ts';

test('is what node:crypto says, for every length around its blocks and for any character', () => {
  const texts = ['', 'abc', 'ä€😀', '\ud800', 'x'.repeat(100_003)];
  for (let length = 50; length < 140; length++)
    texts.push('kept code '.repeat(14).slice(0, length));
  for (const text of texts)
    expect(sha256(text)).toBe(createHash('sha256').update(text).digest('hex'));
});
