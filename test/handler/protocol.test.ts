import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeFrame, FrameReader, type ToHost } from '../../src/handler/protocol.ts';

const load = (file: string): ToHost => ({ t: 'load', file });

it('puts frames together again, however they were cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'binary', maxLength: 200 }), { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }),
      (files, cuts) => {
        const frames = files.map((file) => load(file.toWellFormed()));
        const bytes = Buffer.concat(frames.map(encodeFrame));
        const reader = new FrameReader<ToHost>();
        const got: ToHost[] = [];
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const size = cuts[i % cuts.length] as number;
          got.push(...reader.push(bytes.subarray(at, at + size)));
          at += size;
        }
        expect(got).toEqual(frames);
      },
    ),
    { numRuns: 200 },
  );
});

it.each([
  ['a length beyond the bound', Buffer.from('this is no frame')],
  ['no JSON', Buffer.from('\0\0\0\x02no')],
  ['JSON that is no frame', Buffer.from('\0\0\0\x04null')],
])('gives up on what is no frame: %s', (_name, bytes) => {
  expect(() => new FrameReader().push(bytes)).toThrow();
  const reader = new FrameReader();
  expect(reader.push(Buffer.concat([encodeFrame(load('a')), bytes]))).toEqual([load('a')]);
  expect(reader.lost).toBe(true);
  expect(() => reader.push(encodeFrame(load('b')))).toThrow();
});
