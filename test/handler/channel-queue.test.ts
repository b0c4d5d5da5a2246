import { expect, it } from 'vitest';
import { ChannelQueue } from '../../src/handler/channel-queue.ts';

/** A pipe with room for so many bytes, and what its reader has got. */
function pipe(room: number) {
  let got = '';
  let asked: { bytes: Buffer; then: () => void } | undefined;
  const take = (bytes: Buffer): number => {
    const taken = bytes.subarray(0, room);
    if (taken.length === 0) throw Object.assign(new Error('full'), { code: 'EAGAIN' });
    room -= taken.length;
    got += taken.toString();
    return taken.length;
  };
  const queue = new ChannelQueue({
    now: take,
    later: (bytes, then) => {
      asked = { bytes, then };
    },
    get waiting() {
      return asked !== undefined;
    },
    laterBytes: 1,
  });
  return {
    queue,
    got: () => got,
    read: (bytes: number) => {
      room += bytes;
    },
    /** The stream writes what it has; what it then says comes a moment later. */
    stream: () => {
      const { bytes, then } = asked as { bytes: Buffer; then: () => void };
      asked = undefined;
      take(bytes);
      return then;
    },
  };
}

it('goes on where a full pipe takes more, in order, and says when each is out', () => {
  const { queue, got, read, stream } = pipe(3);
  const out: string[] = [];
  for (const text of ['ab', 'cdef', 'g']) queue.write(Buffer.from(text), () => out.push(text));
  expect([got(), out]).toEqual(['abc', ['ab']]);
  read(2);
  stream()();
  expect([got(), out]).toEqual(['abcde', ['ab']]);
  read(9);
  stream()();
  expect([got(), out]).toEqual(['abcdefg', ['ab', 'cdef', 'g']]);
});

it.each(['nothing', 'its byte', 'its byte, and said so'])(
  'writes all that is left before the process ends, each byte once, when the stream has written %s',
  (written) => {
    const { queue, got, read, stream } = pipe(1);
    for (const text of ['abcd', 'efgh']) queue.write(Buffer.from(text));
    if (written !== 'nothing') {
      read(1);
      const said = stream();
      if (written.endsWith('so')) said();
    }
    let pauses = 0;
    queue.last(() => {
      pauses++;
      read(2);
    });
    expect(got()).toBe('abcdefgh');
    expect(pauses).toBeGreaterThan(2);
  },
);

it('does not wait for ever for a reader that has hung', () => {
  const { queue, got } = pipe(1);
  queue.write(Buffer.from('abcd'));
  let pauses = 0;
  queue.last(() => pauses++);
  expect(got()).toBe('a');
  expect(pauses).toBeGreaterThan(10);
});
