/** What the kit for workers makes of a worker's output: lines for people, and secrets wherever they stand. */
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { hear, type Listener, OutputText } from '../../src/conformance/worker/worker-output.ts';
import { systemClock } from '../../src/system/clock.ts';
import { until } from '../e2e/processes.ts';

const KEY = 'il_0123456789abcdef0123456789abcdef';

function listener(): Listener & { lines: string[]; secrets: string[] } {
  const lines: string[] = [];
  const secrets: string[] = [];
  return {
    lines,
    secrets,
    find(text) {
      const at = text.indexOf(KEY);
      return at < 0 ? undefined : { what: 'its key', at };
    },
    mask: (line) => line.replaceAll(KEY, 'il_'.padEnd(KEY.length, '…')),
    onLine: (line) => lines.push(line),
    onSecret: (what, line) => secrets.push(`${what} in line ${line}`),
  };
}

function heard(...pieces: string[]) {
  const told = listener();
  const text = new OutputText(told);
  for (const piece of pieces) text.feed(piece);
  text.end();
  return told;
}

describe('the lines of a worker', () => {
  it('come whole, whatever pieces they came in', () => {
    expect(heard('a', 'b\nc\n', '\n', 'd').lines).toEqual(['ab', 'c', '', 'd']);
  });

  it('are cut at 4000 characters, once, and the next one begins at its beginning', () => {
    const { lines } = heard('x'.repeat(3_000), 'y'.repeat(3_000), 'z'.repeat(9_000), '\nnext\n');
    expect(lines).toEqual([`${'x'.repeat(3_000)}${'y'.repeat(1_000)}`, 'next']);
  });

  it('show no part of a key, also where it stands across the cut', () => {
    for (let before = 3_960; before <= 4_000; before++) {
      const [line = ''] = heard(`${' '.repeat(before)}${KEY}${' '.repeat(100)}\n`).lines;
      expect(line).toHaveLength(4_000);
      expect(line).not.toMatch(/il_\w|0123|abcdef/);
    }
  });
});

describe('a key in the output', () => {
  it('is found beyond the cut of a line, with the number of the line', () => {
    expect(heard('one\ntwo\n', `${' '.repeat(5_000)} key is ${KEY}\n`).secrets).toEqual([
      'its key in line 3',
    ]);
  });

  it('is found across the edge of two pieces, or of many', () => {
    const text = `one\n${'x'.repeat(300)}${KEY}\n`;
    for (let at = 300; at < text.length; at++)
      expect(heard(text.slice(0, at), text.slice(at)).secrets).toEqual(['its key in line 2']);
    expect(heard(...text).secrets).toEqual(['its key in line 2']);
  });

  it('stays found however much comes after it, and is told once', () => {
    const chatter = Array.from({ length: 5_000 }, (_, n) => `chatter ${n}\n`);
    const { secrets } = heard(`early ${KEY}\n`, ...chatter, `late ${KEY}\n`);
    expect(secrets).toEqual(['its key in line 1']);
  });

  it('is told with its line also far into the output', () => {
    const chatter = Array.from({ length: 5_000 }, (_, n) => `chatter ${n}\n`);
    expect(heard(...chatter, `late ${KEY}\n`).secrets).toEqual(['its key in line 5001']);
  });
});

describe('a worker that prints without end', () => {
  it('is made to wait by its pipe: the kit takes some megabytes a second, and keeps none of it', async () => {
    const stream = new PassThrough();
    const told = listener();
    let lines = 0;
    hear(stream, { ...told, onLine: () => lines++ }, systemClock());
    const piece = Buffer.from(`${'x'.repeat(1_023)}\n`.repeat(64));
    let taken = 0;
    const began = performance.now();
    // As a process does: what the pipe takes, until it takes no more.
    while (taken < 4 * 1_048_576) {
      if (!stream.write(piece))
        await new Promise<void>((resolve) => stream.once('drain', () => resolve()));
      taken += piece.length;
    }
    expect(performance.now() - began).toBeGreaterThan(500);
    stream.end(`the last word ${KEY}\n`);
    await until(() => told.secrets.length > 0, 'the last word');
    expect(lines).toBe(4 * 1_024 + 1);
  });
});
