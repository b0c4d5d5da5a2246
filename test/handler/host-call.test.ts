import { expect, it } from 'vitest';

import { FrameBatch } from '../../src/handler/frame-batch.ts';
import { HostCall } from '../../src/handler/host-call.ts';
import {
  type CallJob,
  type Declaration,
  FrameReader,
  type FromHost,
} from '../../src/handler/protocol.ts';

const job = { input: {}, effectGate: 'start', labels: {} } as unknown as CallJob;

it('says its end in the turn of it, with those of the same moment: the next one may end the process', async () => {
  const reader = new FrameReader<FromHost>();
  const written: string[][] = [];
  const out = new FrameBatch((bytes) => {
    written.push(reader.push(bytes).map((frame) => `${frame.t} ${'n' in frame ? frame.n : ''}`));
  });
  let turns = 0;
  setImmediate(() => turns++);
  const ends = [1, 2].map((n) => {
    const call = new HostCall(n, job, out, () => 0);
    return new Promise<HostCall>((ended) => {
      call.start({ run: async () => n, declaration: {} as Declaration }, (call) => {
        out.soon();
        ended(call);
      });
    });
  });
  await Promise.all(ends);
  for (let i = 0; i < 10; i++) await null;
  expect(turns).toBe(0);
  expect(written).toEqual([['end 1', 'end 2']]);
});
