import { readSync, writeSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openRecorder } from '../../src/carriers/host-recorder.ts';
import { encodeFrame } from '../../src/handler/protocol.ts';
import { FORBIDDEN_BYTES, forbids, RECORDER_BYTES, Recorder } from '../../src/handler/recorder.ts';

it.skipIf(process.platform === 'win32')(
  'shares with its host what has begun and what must not, in a file that has its room from the start',
  () => {
    const agents = openRecorder('test-recorder');
    if (agents === undefined) throw new Error('no recorder');
    const { fd } = agents;
    expect(readSync(fd, Buffer.alloc(RECORDER_BYTES))).toBe(RECORDER_BYTES);
    const keep = (record: Buffer, at: number) =>
      writeSync(fd, record, 0, record.length, FORBIDDEN_BYTES + at) === record.length;
    const hosts = new Recorder(keep, () => {});
    expect(agents.read()).toEqual({ begun: 0, frames: [] });
    // More than is read at once.
    const text = 'x'.repeat(3_000);
    for (let n = 1; n <= 10; n++) {
      hosts.begins(n);
      hosts.add(encodeFrame({ t: 'log', n, level: 'info', text }));
    }
    const words = Buffer.alloc(FORBIDDEN_BYTES);
    readSync(fd, words, 0, words.length, 0);
    expect(forbids(words, 1)).toBe(false);
    expect(agents.forbid(12, 10)).toBe(true);
    readSync(fd, words, 0, words.length, 0);
    expect([9, 10, 11, 12, 13].map((n) => forbids(words, n))).toEqual([
      ...[true, false, true, true, false],
    ]);
    expect(agents.read()?.begun).toBe(10);
    agents.close();
    expect(agents.forbid(13, 0)).toBe(false);
  },
);
