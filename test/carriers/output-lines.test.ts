import { describe, expect, it } from 'vitest';
import { cutBytes, JobLog } from '../../src/carriers/job-log.ts';
import { OutputLines, Tail } from '../../src/carriers/output-lines.ts';
import type { LogLine } from '../../src/ports/carrier.ts';
import type { Clock } from '../../src/ports/clock.ts';

const clock = { wall: () => Date.UTC(2026, 0, 31) } as Clock;

function lines(...chunks: (string | number[])[]): string[] {
  const got: LogLine[] = [];
  const log = new JobLog(clock, (more) => got.push(...more));
  const out = new OutputLines(log, 'info');
  for (const chunk of chunks) out.push(Buffer.from(chunk as string));
  out.end();
  log.end();
  return got.map(({ text }) => text);
}

describe('output of a handler', () => {
  it('is cut at newlines, wherever the chunks end', () => {
    expect(lines('a\nb', 'c\r', '\n\nlast')).toEqual(['a', 'bc', '', 'last']);
  });

  it('keeps a character together that is split between chunks', () => {
    const [first = 0, second = 0, third = 0] = Buffer.from('€');
    expect(lines([first], [second], [third, 0x0a])).toEqual(['€']);
  });

  it('shows bytes that are no UTF-8 as U+FFFD', () => {
    expect(lines([0x61, 0xff, 0x0a], [0xe2, 0x82])).toEqual(['a\ufffd', '\ufffd']);
  });

  it('cuts a long line once, drops its rest, and goes on with the next', () => {
    const long = 'x'.repeat(5_000);
    const got = lines(long, long, long, `${long}\nnext\n`);
    expect(got).toHaveLength(3);
    expect(Buffer.byteLength(got[0] as string)).toBe(8_192);
    expect(got[0]).toMatch(/^x+ … \(line cut\)$/);
    expect(got[1]).toBe('next');
    expect(got[2]).toMatch(/^… output truncated: \d+ bytes were not kept/);
  });

  it('is bounded altogether, counts what is too much, and costs nothing more', () => {
    const got = lines(...Array.from({ length: 300 }, () => `${'y'.repeat(7_999)}\n`));
    expect(got.length).toBeLessThan(135);
    expect(got.at(-2)).toMatch(/^… output truncated: at most 1048576 bytes/);
    const dropped = Number(got.at(-1)?.match(/: (\d+) bytes/)?.[1]);
    expect(dropped + (got.length - 2) * 8_000).toBeGreaterThan(300 * 7_990);
  });

  it('bounds empty lines too', () => {
    expect(lines('\n'.repeat(1_000_000)).length).toBeLessThan(33_000);
  });

  it('stamps lines and delivers those of a chunk together', () => {
    const batches: (readonly LogLine[])[] = [];
    const log = new JobLog(clock, (more) => batches.push(more));
    new OutputLines(log, 'warn').push(Buffer.from('a\nb\nc'));
    expect(batches).toEqual([
      [
        { at: '2026-01-31T00:00:00.000Z', level: 'warn', text: 'a' },
        { at: '2026-01-31T00:00:00.000Z', level: 'warn', text: 'b' },
      ],
    ]);
  });
});

it('cuts to bytes without half a character', () => {
  expect(cutBytes('short', 8_192)).toBe('short');
  const cut = cutBytes('😀'.repeat(10_000), 8_192);
  expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(8_192);
  expect(cut.isWellFormed()).toBe(true);
  expect(cutBytes('a\ud800', 100)).toBe('a\ufffd');
});

it('keeps the tail of a stream', () => {
  const tail = new Tail(8);
  for (const chunk of ['abc', 'defgh', 'ij']) tail.push(Buffer.from(chunk));
  expect(tail.text).toBe('cdefghij');
  tail.push(Buffer.from('0123456789abc'));
  expect(tail.text).toBe('56789abc');
  tail.clear();
  expect(tail.text).toBe('');
});
