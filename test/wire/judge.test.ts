import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Arrived, judge, judgeItem } from '../../src/wire/judge.ts';
import { boundedWait, retryAfterMs } from '../../src/wire/retry-after.ts';

const AT = 'http://cp.test';
const expected = { statuses: [200], schema: z.looseObject({ name: z.string() }) };

function arrived(status: number, text: string, headers: Record<string, string> = {}): Arrived {
  const body = { kind: 'text', text, bytes: Buffer.byteLength(text) } as const;
  return { status, headers: new Headers(headers), body, maxBytes: 1_000 };
}

const asked = (answer: Arrived) => judge(answer, expected, AT, 5, Date.UTC(2026, 0, 1));
const problemText = (status: number, more = {}) =>
  JSON.stringify({ status, code: 'CONFLICT', detail: 'changed', ...more });

describe('what counts as an answer', () => {
  it('takes the expected status with JSON that fits', () => {
    expect(asked(arrived(200, '{"name":"Ada","new":1}'))).toEqual({
      kind: 'ok',
      status: 200,
      value: { name: 'Ada', new: 1 },
      sentAt: 5,
    });
  });

  it('takes a problem of the same status as a refusal, whatever its content type', () => {
    const answer = asked(
      arrived(409, problemText(409, { recorded: true }), { 'retry-after': '3' }),
    );
    expect(answer).toMatchObject({
      kind: 'refused',
      status: 409,
      retryAfterMs: 3_000,
      problem: { code: 'CONFLICT', recorded: true },
    });
  });

  it('asks whether the path of the address is too much where a control plane has no such path', () => {
    const noRoute = arrived(404, problemText(404, { code: 'NOT_FOUND', kind: 'route' }));
    const at = (address: string) => judge(noRoute, expected, address, 5, 0);
    expect(at(`${AT}/foo/bar`)).toMatchObject({
      kind: 'refused',
      problem: {
        code: 'NOT_FOUND',
        kind: 'route',
        detail: `There is no control plane below /foo/bar at ${AT}: is "/foo/bar" in the address too much?`,
        hint: `Give the address without it: ${AT}.`,
      },
    });
    expect(at(AT)).toMatchObject({ problem: { detail: 'changed' } });
    const noTask = arrived(404, problemText(404, { code: 'NOT_FOUND', kind: 'task' }));
    expect(judge(noTask, expected, `${AT}/foo`, 5, 0)).toMatchObject({
      problem: { detail: 'changed' },
    });
  });

  it('takes retryAfterMs of the problem where no header says it', () => {
    expect(asked(arrived(429, problemText(429, { retryAfterMs: 250 })))).toMatchObject({
      retryAfterMs: 250,
    });
  });

  it('does not believe a problem of another status: a gateway may have wrapped it', () => {
    expect(asked(arrived(502, problemText(404)))).toMatchObject({
      kind: 'no-answer',
      cause: 'not-the-contract',
    });
  });

  it.each([413, 426])('takes %i for a refusal in any shape', (status) => {
    expect(asked(arrived(status, '<html>too much</html>'))).toMatchObject({
      kind: 'refused',
      status,
    });
  });

  it.each([
    ['HTML with 502', arrived(502, '<html><title>502 Bad Gateway</title>'), '502 Bad Gateway'],
    ['HTML with 200', arrived(200, '<!doctype html><h1>Welcome</h1>'), '"Welcome"'],
    ['an empty object', arrived(200, '{}'), '"name": '],
    ['an empty body', arrived(200, ''), 'empty body'],
    ['half a body', arrived(200, '{"name":"A'), 'no JSON'],
    ['a status nobody expects', arrived(204, ''), '204'],
    ['401 without the problem shape', arrived(401, '{"error":"no"}'), '401'],
    [
      'another contract',
      arrived(200, '{"name":"Ada"}', { 'Interlock-Contract': '2' }),
      'version "2"',
    ],
  ])('counts %s as no answer and says what it saw', (_, answer, words) => {
    const judged = asked(answer);
    expect(judged).toMatchObject({ kind: 'no-answer', cause: 'not-the-contract' });
    expect(judged).toHaveProperty('why', expect.stringContaining(words));
    expect(judged).toHaveProperty('why', expect.stringContaining(AT));
  });

  it('ends its words with one stop, also where they are a question', () => {
    for (const strange of [arrived(200, 'hello'), arrived(200, '{}'), arrived(204, '')])
      expect(asked(strange)).toHaveProperty('why', expect.stringMatching(/[^.?][.?]$/));
  });

  it('names the limit of a body that was too large', () => {
    const body = { kind: 'too-large', text: '{', bytes: 1_001 } as const;
    expect(asked({ ...arrived(200, ''), body })).toMatchObject({
      kind: 'no-answer',
      cause: 'too-large',
      why: expect.stringContaining('1000 bytes'),
    });
  });

  it('never repeats a key that a foreign page echoes', () => {
    const judged = asked(arrived(500, '<title>Bearer il_secret_1 and il_secret_2</title>'));
    expect(JSON.stringify(judged)).not.toContain('secret');
  });

  it('keeps the wait of an answer that is none', () => {
    expect(asked(arrived(503, '<html>', { 'retry-after': '7' }))).toMatchObject({
      kind: 'no-answer',
      retryAfterMs: 7_000,
    });
  });
});

describe('one item of a batch', () => {
  const item = (value?: { status: number; body: unknown }) => judgeItem(value, expected, AT, 5);

  it('is judged as the single call would be', () => {
    expect(item({ status: 200, body: { name: 'Ada' } })).toMatchObject({ kind: 'ok', status: 200 });
    expect(item({ status: 409, body: { status: 409, code: 'CONFLICT' } })).toMatchObject({
      kind: 'refused',
      status: 409,
    });
    expect(item({ status: 413, body: null })).toMatchObject({ kind: 'refused', status: 413 });
    expect(
      item({ status: 429, body: { status: 429, code: 'RATE_LIMITED', retryAfterMs: 40 } }),
    ).toMatchObject({ retryAfterMs: 40 });
  });

  it('got no answer where it is missing or strange', () => {
    expect(item(undefined)).toMatchObject({ kind: 'no-answer' });
    expect(item({ status: 200, body: {} })).toMatchObject({ kind: 'no-answer' });
    expect(item({ status: 500, body: 'oops' })).toMatchObject({ kind: 'no-answer' });
  });
});

describe('Retry-After', () => {
  const now = Date.UTC(2026, 0, 1, 12);
  const later = new Date(now + 90_000).toUTCString();

  it.each([
    ['seconds', '5', null, 5_000],
    ['zero', '0', null, 0],
    ['a date', later, null, 90_000],
    ['a date, from the answer’s own clock', later, new Date(now + 60_000).toUTCString(), 30_000],
    ['a date in the past', new Date(now - 1_000).toUTCString(), null, 0],
    ['more than ten minutes', '86400', null, 600_000],
    ['words', 'soon', null, undefined],
    ['a negative number', '-5', null, undefined],
    ['a fraction', '1.5', null, undefined],
    ['a date in another form', '2026-01-01T12:00:00Z', null, undefined],
    ['nothing', null, null, undefined],
    ['an endless number', '9'.repeat(400), null, undefined],
  ])('reads %s', (_, header, date, ms) => {
    expect(retryAfterMs(header, date, now)).toBe(ms);
  });

  it('bounds what a body asks for', () => {
    expect([boundedWait(-1), boundedWait(Number.NaN), boundedWait(1e12), boundedWait(1.2)]).toEqual(
      [0, undefined, 600_000, 2],
    );
  });
});
