import { expect, it } from 'vitest';
import { HostProcess } from '../../src/carriers/host-process.ts';
import type { FromHost } from '../../src/handler/protocol.ts';
import { encodeFrame } from '../../src/handler/protocol.ts';
import { systemClock } from '../../src/system/clock.ts';
import { memoryLog } from './memory-log.ts';

const END: FromHost = {
  t: 'end',
  n: 1,
  outcome: { how: 'returned', result: 1 },
  logBytesDropped: 0,
  tookUs: 0,
};

/** A process that says this in one piece, and then nothing. `hears`: with each frame, which may be to its end. */
async function saying(
  words: readonly Buffer[],
  hears: (host: HostProcess, frame: FromHost) => void,
) {
  const octal = [...Buffer.concat(words)].map((byte) => `\\0${byte.toString(8).padStart(3, '0')}`);
  const command = {
    execPath: '/bin/sh',
    args: ['-c', `printf '%b' '${octal.join('')}' >&4; exec sleep 60`],
  };
  const marks = { marker: `test-host-process-${process.pid}`, id: `hst_${process.pid}` };
  const host = new HostProcess(
    { command, role: 'host', env: process.env, ...marks },
    systemClock(),
    memoryLog(),
  );
  const heard: FromHost[] = [];
  host.listener = {
    frame: (frame) => {
      heard.push(frame);
      hears(host, frame);
    },
    output: () => {},
  };
  return { gone: await host.gone, heard: heard.map(({ t }) => t) };
}

it.skipIf(process.platform === 'win32')(
  'is heard to its end when it is killed, and no more after what is none of its words',
  async () => {
    const killed = await saying(
      [encodeFrame({ t: 'begun', n: 1 }), encodeFrame(END)],
      (host, frame) => frame.t === 'begun' && host.kill('It did not take the task in time.'),
    );
    // It began all the same, in the moment of the kill: no other host is to begin it.
    expect(killed).toEqual({
      gone: { signal: 'SIGKILL', killReason: 'It did not take the task in time.' },
      heard: ['begun', 'end'],
    });
    const strange = { ...END, outcome: { how: 'whatever' } } as unknown as FromHost;
    const meddled = await saying(
      [encodeFrame({ t: 'begun', n: 1 }), encodeFrame(strange), encodeFrame(END)],
      () => {},
    );
    expect(meddled.heard).toEqual(['begun']);
    expect(meddled.gone.killReason).toMatch(/^It wrote to the channel/);
    const broken = await saying([encodeFrame(END), Buffer.alloc(5, 255)], () => {});
    expect(broken.heard).toEqual(['end']);
    expect(broken.gone.killReason).toMatch(/^It wrote to the channel/);
  },
);
