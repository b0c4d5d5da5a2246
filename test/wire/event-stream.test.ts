import { describe, expect, it } from 'vitest';
import { wireDefaults } from '../../src/core/defaults.ts';
import { readEventStream } from '../../src/wire/event-stream.ts';

const never = new AbortController().signal;

/** Reads these pieces as a stream; tells events, bytes and the end. */
async function read(pieces: Iterable<Uint8Array>) {
  const events: string[] = [];
  let chunks = 0;
  const body = ReadableStream.from(pieces) as ReadableStream<Uint8Array>;
  const listener = {
    event: (name: string, data: string) => events.push(`${name} ${data}`),
    bytes: () => chunks++,
  };
  const end = await readEventStream(body, listener, never);
  return { events, chunks, end };
}

const bytes = (text: string) => Buffer.from(text);
const oneByOne = (text: string) => Array.from(bytes(text), (byte) => Uint8Array.of(byte));

describe('an event stream, one byte at a time', () => {
  it.each([
    ['LF', '\n'],
    ['CR LF', '\r\n'],
    ['CR', '\r'],
  ])('with %s gives each event once and whole', async (_, eol) => {
    const lines = [
      '\uFEFFevent: wake',
      'data: {"types":["démo/😀@1"]}',
      '',
      ': a comment',
      'event:drain',
      'data',
      '',
      'id: 7',
      'retry: soon',
      'nonsense',
      'data: one',
      'data: two',
      '',
      'event: never finished',
    ];
    const { events, end } = await read(oneByOne(lines.join(eol)));
    expect(events).toEqual(['wake {"types":["démo/😀@1"]}', 'drain ', 'message one\ntwo']);
    expect(end).toEqual({ kind: 'ended' });
  });

  it('does not hold an event back until the next byte where lines end in CR', async () => {
    const events: string[] = [];
    let more: (value: Uint8Array) => void = () => {};
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        more = (value) => controller.enqueue(value);
      },
    });
    const seen = new Promise<void>((resolve) => {
      const event = (name: string) => {
        events.push(name);
        resolve();
      };
      void readEventStream(body, { event, bytes: () => {} }, never);
    });
    more(bytes('event: wake\rdata: 1\r\r'));
    await seen;
    expect(events).toEqual(['wake']);
  });

  it('counts every sign of life', async () => {
    expect((await read(oneByOne(': hi\n'))).chunks).toBe(5);
  });
});

describe('an event stream that grows', () => {
  function* fill(piece: Uint8Array, total: number): Generator<Uint8Array> {
    for (let sent = 0; sent < total; sent += piece.length) yield piece;
  }

  it('without a line end is left at the bound', async () => {
    const { chunks, end } = await read(fill(Buffer.alloc(16_384, 'x'), 50 * 1_048_576));
    expect(end).toEqual({ kind: 'oversize' });
    expect(chunks).toBeLessThanOrEqual(wireDefaults.streamFrameChars / 16_384 + 1);
  });

  it('in an event that never ends is left at the bound', async () => {
    const { end, events } = await read(fill(bytes(`data: ${'y'.repeat(1_000)}\n`), 50 * 1_048_576));
    expect(end).toEqual({ kind: 'oversize' });
    expect(events).toEqual([]);
  });

  it('by comments only is left alone', async () => {
    const { end } = await read(fill(bytes(': ping\n'), 1_048_576));
    expect(end).toEqual({ kind: 'ended' });
  });
});

it('tells how a stream failed', async () => {
  const error = new Error('cut');
  const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(error) });
  const end = await readEventStream(body, { event: () => {}, bytes: () => {} }, never);
  expect(end).toEqual({ kind: 'failed', error });
});

it('leaves a stream that goes on for ever when its signal aborts', async () => {
  let left = false;
  const body = new ReadableStream<Uint8Array>({
    cancel: () => {
      left = true;
    },
  });
  const stop = new AbortController();
  const end = readEventStream(body, { event: () => {}, bytes: () => {} }, stop.signal);
  stop.abort();
  await end;
  expect(left).toBe(true);
});
