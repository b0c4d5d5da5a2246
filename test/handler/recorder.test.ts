import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeRecord, Recorder, readRecords } from '../../src/handler/recorder.ts';
import { runs } from '../property.ts';

/** A file, and a channel that takes what it is sent at once. */
function recorder() {
  const file = Buffer.alloc(65_536);
  const sent: string[] = [];
  const one = new Recorder(
    (record, at) => record.copy(file, at),
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
  expect(readRecords(whole)).toEqual({ begun: 8, ends: Buffer.from('firstsecond') });
  for (let cut = first.length; cut < whole.length - 4; cut++)
    expect(readRecords(whole.subarray(0, cut)).begun).toBe(7);
  const old = Buffer.concat([encodeRecord(9, []), encodeRecord(10, ends)]);
  expect(readRecords(old)).toEqual({ begun: 9, ends: Buffer.alloc(0) });
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
