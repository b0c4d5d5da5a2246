import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  encodeForbidden,
  encodeRecord,
  forbids,
  RECORDER_BYTES,
  Recorder,
  readRecords,
} from '../../src/handler/recorder.ts';
import { runs } from '../property.ts';

/** A file, and a channel that takes what it is sent at once. */
function recorder() {
  const file = Buffer.alloc(65_536);
  const sent: string[] = [];
  const one = new Recorder(
    (record, at) => record.copy(file, at) === record.length,
    (frames, out) => {
      sent.push(frames.toString());
      out();
    },
  );
  return { one, file, sent };
}

it('has each end in the file or on the channel before the next job begins, whatever is sent when', () => {
  const steps = fc.array(fc.record({ end: fc.string({ maxLength: 300 }), flush: fc.boolean() }), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(steps, (all) => {
      const { one, file, sent } = recorder();
      for (const [i, { end, flush }] of all.entries()) {
        one.begins(i + 1);
        const read = readRecords(file);
        expect(read.begun).toBe(i + 1);
        const before = all
          .slice(0, i)
          .map((step) => step.end)
          .join('');
        // What was sent may stand there still; all that was not does.
        expect(before.startsWith(sent.join(''))).toBe(true);
        expect(read.ends.toString().endsWith(before.slice(sent.join('').length))).toBe(true);
        one.add(Buffer.from(end));
        if (flush) one.flush();
      }
    }),
    { numRuns: runs(200) },
  );
});

it('takes no record that was written in part, and none of before', () => {
  const ends = [Buffer.from('first'), Buffer.from('second')];
  const first = encodeRecord(7, []).subarray(0, -4);
  const whole = Buffer.concat([first, encodeRecord(8, ends)]);
  expect(readRecords(whole)).toMatchObject({ begun: 8, ends: Buffer.from('firstsecond') });
  for (let cut = first.length; cut < whole.length - 4; cut++)
    expect(readRecords(whole.subarray(0, cut)).begun).toBe(7);
  const old = Buffer.concat([encodeRecord(9, []), encodeRecord(10, ends)]);
  expect(readRecords(old)).toMatchObject({ begun: 9, ends: Buffer.alloc(0) });
  expect(readRecords(Buffer.alloc(0)).begun).toBe(0);
});

it('reads nothing that makes no sense, whatever a handler writes there', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(readRecords(Buffer.from(bytes)).ends.length).toBeLessThanOrEqual(bytes.length);
    }),
    { numRuns: runs(200) },
  );
});

it('tells that a begin was not kept where the file takes none, and where it has no room for it', () => {
  const kept: number[] = [];
  let takes = true;
  const one = new Recorder(
    (_, at) => takes && kept.push(at) > 0,
    () => {},
  );
  expect(one.begins(1)).toBe(true);
  takes = false;
  expect(one.begins(2)).toBe(false);
  takes = true;
  // Where the other was not kept.
  expect(one.begins(3)).toBe(true);
  expect(kept).toEqual([0, 12]);
  one.add(Buffer.alloc(RECORDER_BYTES));
  expect(one.begins(4)).toBe(false);
});

it('forbids all up to a job but the one that may be at work, and nothing at first', () => {
  const words = encodeForbidden({ last: 9, kept: 6 });
  expect([2, 6, 7, 9, 10].map((n) => forbids(words, n))).toEqual([true, false, true, true, false]);
  expect(forbids(Buffer.alloc(12), 1)).toBe(false);
  // A handler wrote there.
  expect(forbids(Buffer.from('some line of'), 1)).toBe(undefined);
});
