import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { ChannelQueue } from './channel-queue.ts';
import { CHANNEL_FD, encodeFrame, FrameReader, type FromHost, type ToHost } from './protocol.ts';

/** The host's end of its channel to the agent. */
export interface Channel {
  /** In order; goes out at once as far as the pipe takes it. */
  send(frame: FromHost): void;
  /** Goes on when the frame is out: mostly at once. Never, where it cannot be sent. */
  sendThen(frame: FromHost, then: () => void): void;
  /** Frames that are encoded already. */
  write(frames: Buffer): void;
  /** The same; goes on as `sendThen`. */
  writeThen(frames: Buffer, then: () => void): void;
  /** The process ends now: writes what is left, and waits for the agent a while where the pipe is full. */
  last(): void;
  onFrame(listener: (frame: ToHost) => void): void;
}

/** Opens it. When the agent is gone, so is this process and everything in its group. */
export function openChannel(): Channel {
  const incoming = new Socket({ fd: CHANNEL_FD.fromAgent, readable: true, writable: false });
  const outgoing = new Socket({ fd: CHANNEL_FD.toAgent, readable: false, writable: true });
  const reader = new FrameReader<ToHost>();
  let listener = (_frame: ToHost) => {};
  incoming.on('data', (chunk: Buffer) => {
    for (const frame of reader.push(chunk)) listener(frame);
  });
  for (const socket of [incoming, outgoing]) {
    // An error is followed by the close; a handler may have closed the descriptor itself.
    socket.on('error', () => {});
    socket.on('close', endGroup);
  }
  // On Windows only the stream can write to such a pipe.
  const whole = process.platform === 'win32';
  const queue = new ChannelQueue({
    now: (bytes) => (whole ? 0 : writeSync(CHANNEL_FD.toAgent, bytes)),
    later: (bytes, then) => void outgoing.write(bytes, (error) => error || then()),
    get waiting() {
      return outgoing.writableLength > 0;
    },
    laterBytes: whole ? Number.POSITIVE_INFINITY : 1,
  });
  return {
    send: (frame) => queue.write(encodeFrame(frame)),
    sendThen: (frame, then) => queue.write(encodeFrame(frame), then),
    write: (frames) => queue.write(frames),
    writeThen: (frames, then) => queue.write(frames, then),
    last: () => whole || queue.last(pause),
    onFrame: (heard) => {
      listener = heard;
    },
  };
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** A host leads its own process group; where it does not (Windows, started by hand) it ends alone. */
function endGroup(): void {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    // No such group.
  }
  process.exit(1);
}
