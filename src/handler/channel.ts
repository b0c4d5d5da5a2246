import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { CHANNEL_FD, encodeFrame, FrameReader, type FromHost, type ToHost } from './protocol.ts';

/** The host's end of its channel to the agent. */
export interface Channel {
  /** In order; goes out at once as far as the pipe takes it. */
  send(frame: FromHost): void;
  /** Goes on when the frame is out: mostly at once. Never, where it cannot be sent. */
  sendThen(frame: FromHost, then: () => void): void;
  /** A frame that is encoded already. */
  write(frame: Buffer): void;
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
  const write = (frame: Buffer) => {
    const rest = outgoing.writableLength === 0 ? unwritten(frame) : frame;
    if (rest.length > 0) outgoing.write(rest);
  };
  return {
    send: (frame) => write(encodeFrame(frame)),
    sendThen: (frame, then) => {
      const bytes = encodeFrame(frame);
      const rest = outgoing.writableLength === 0 ? unwritten(bytes) : bytes;
      if (rest.length === 0) then();
      else outgoing.write(rest, (error) => error || then());
    },
    write,
    onFrame: (heard) => {
      listener = heard;
    },
  };
}

/**
 * Writes what the pipe takes now, past the stream and its ticks: that is a third of what a short call costs a host. What is
 * left goes through the stream, which waits, and which tells what is wrong with the pipe.
 */
function unwritten(bytes: Buffer): Buffer {
  // Not on Windows, where only the stream can write to such a pipe.
  if (process.platform === 'win32') return bytes;
  try {
    return bytes.subarray(writeSync(CHANNEL_FD.toAgent, bytes));
  } catch {
    return bytes;
  }
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
