import { expect, it } from 'vitest';
import { systemRandom } from '../../src/system/random.ts';

it('gives as many bytes as asked for, never the same ones twice, to be kept by who asked', () => {
  const random = systemRandom();
  const seen = new Set<string>();
  const first = random.bytes(10);
  const before = [...first];
  // More than its pool holds, in lengths that do not fit into it evenly.
  for (let i = 0; i < 2_000; i++) {
    const n = 9 + (i % 8);
    const bytes = random.bytes(n);
    expect(bytes.byteLength).toBe(n);
    expect(bytes.buffer.byteLength).toBe(n);
    seen.add(Buffer.from(bytes).toString('hex'));
  }
  expect(seen.size).toBe(2_000);
  expect([...first]).toEqual(before);
  expect(random.bytes(65_536).byteLength).toBe(65_536);
});
