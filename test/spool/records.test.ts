import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groupSize } from '../../src/spool/group-writer.ts';
import {
  groupName,
  groupSeq,
  isTemporary,
  setAsideName,
  setAsideSum,
} from '../../src/spool/layout.ts';
import { readGroup } from '../../src/spool/read-group.ts';
import {
  closingLine,
  decodeLine,
  encodeLine,
  markLine as madeMark,
  type ReportRecord,
  unseal,
} from '../../src/spool/records.ts';
import { runs } from '../property.ts';
import { complete, held, META } from './world.ts';

const ORIGIN = { serviceUrl: 'http://x', workerId: 'w', sessionId: 's' };

function reportLine(attemptId: string, result: unknown = 1) {
  const record: ReportRecord = {
    kind: 'report',
    ...ORIGIN,
    ...META,
    workedAt: {},
    spooledAt: '2026-01-01T00:00:00.000Z',
    followUp: false,
    body: { ...complete(attemptId), result } as ReportRecord['body'],
  };
  return encodeLine(record).text;
}

const runningLine = (attemptId: string) =>
  encodeLine({ kind: 'running', ...ORIGIN, ...held(attemptId) } as { kind: string }).text;
const markLine = (attemptId: string, mark = 'answered') =>
  encodeLine({ kind: 'mark', mark, attemptId, at: 't' } as { kind: string }).text;
const bytes = (...parts: string[]) => Buffer.from(parts.join(''));
const trimmed = (line: string) => Buffer.from(line.trimEnd());

describe('a line', () => {
  it('gives back any JSON value as it was', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (result) => {
        const value = JSON.parse(JSON.stringify(result)) as unknown;
        const read = decodeLine(trimmed(reportLine('att_a', value)));
        expect(read.ok && (read.record as ReportRecord).body).toEqual({
          ...complete('att_a'),
          result: value,
        });
      }),
      { numRuns: runs(200) },
    );
  });

  it('is one line, JSON, with version first and checksum last', () => {
    const line = reportLine('att_a', 'two\nlines\u2028');
    expect(line.match(/\n/g)).toHaveLength(1);
    expect(line).toMatch(/^\{"v":1,"kind":"report",.*,"sum":"[0-9a-f]{64}"\}\n$/s);
    expect(JSON.parse(line).body.result).toBe('two\nlines\u2028');
  });

  it('of a record that was read from another has one version and one checksum', () => {
    const read = decodeLine(trimmed(reportLine('att_a')));
    if (!read.ok) throw new Error(read.why);
    expect(encodeLine(read.record).text).toBe(reportLine('att_a'));
  });

  it('of a mark is the same, made of its parts', () => {
    const at = '2026-01-01T00:00:00.000Z';
    for (const facts of [undefined, {}, { host: 'h' }, { percent: 5, message: '"a"\n' }]) {
      const attemptId = 'att_"a';
      const line = madeMark('begun', attemptId, at, facts);
      const mark = { kind: 'mark', mark: 'begun', attemptId, at, ...facts };
      expect(line).toBe(encodeLine(mark).text);
    }
  });

  it('with any byte changed, added or missing is found out, and the others of its file are not', () => {
    const good = trimmed(reportLine('att_a'));
    fc.assert(
      fc.property(
        fc.nat(good.length - 1),
        fc.integer({ min: 1, max: 255 }),
        fc.constantFrom('change', 'add', 'miss', 'cut'),
        (at, by, how) => {
          // A newline after the line is no change.
          fc.pre(!(how === 'add' && by === 0x0a && at === good.length - 1));
          const byte = (good[at] ?? 0) ^ by;
          const middle = how === 'change' ? [byte] : how === 'add' ? [good[at]!, by] : [];
          const rest = how === 'cut' ? [] : [...good.subarray(at + 1)];
          const bad = Buffer.from([...good.subarray(0, at), ...middle, ...rest]);
          const file = Buffer.concat([
            bytes(reportLine('att_x')),
            bad,
            bytes('\n', reportLine('att_y')),
          ]);
          const read = readGroup(file, 'report');
          const ids = read.lines.map(({ record }) => (record as ReportRecord).body.attemptId);
          expect(ids).toEqual(['att_x', 'att_y']);
        },
      ),
      { numRuns: runs(300) },
    );
  });

  it.each([
    ['an empty object', '{}'],
    ['no JSON', 'hello'],
    ['a record of an unknown kind', encodeLine({ kind: 'poem' }).text],
    ['a report without its token', reportLine('att_a').replace('leaseToken', 'other')],
    ['nothing but a checksum', `,"sum":"${'0'.repeat(64)}"}`],
  ])('that is %s is told to be bad', (_, line) => {
    expect(decodeLine(trimmed(line)).ok).toBe(false);
  });

  it('whose op ends no attempt is bad, though its checksum is right', () => {
    const renew = { ...complete('att_a'), op: 'renew' };
    const line = encodeLine({
      kind: 'report',
      ...ORIGIN,
      ...META,
      workedAt: {},
      spooledAt: 't',
      followUp: false,
      body: renew,
    } as { kind: string }).text;
    expect(decodeLine(trimmed(line))).toMatchObject({ ok: false });
  });

  it('with members that we do not know keeps them', () => {
    const line = reportLine('att_a').trimEnd();
    const more = JSON.parse(line);
    const again = encodeLine({ ...more, extra: { of: 'tomorrow' }, sum: undefined }).text;
    const read = decodeLine(trimmed(again));
    expect(read.ok && read.record).toMatchObject({ extra: { of: 'tomorrow' } });
  });
});

describe('a group file', () => {
  const marks = (file: Buffer, of: 'report' | 'running' = 'report') => {
    const { lines, marks, bad, cut, newer } = readGroup(file, of);
    return { lines: lines.length, marks: marks.length, bad: bad.length, cut, newer };
  };

  it('holds records and marks, and empty lines between', () => {
    const file = bytes(reportLine('att_a'), reportLine('att_b'), '\n', markLine('att_a'), '\n\n');
    expect(marks(file)).toEqual({ lines: 2, marks: 1, bad: 0, cut: 0, newer: 0 });
  });

  it('whose appended end was torn anywhere holds no bad line, also when more was appended after', () => {
    const mark = `\n${markLine('att_a')}`;
    for (let length = 1; length < mark.length; length++) {
      for (const torn of [mark.slice(0, length), '\0'.repeat(length)]) {
        const file = bytes(reportLine('att_a'), reportLine('att_b'), torn);
        expect(marks(file).bad, torn).toBe(0);
        const later = bytes(file.toString(), '\n', markLine('att_b'));
        expect(marks(later), torn).toMatchObject({ lines: 2, bad: 0 });
        expect(marks(later).marks).toBeGreaterThanOrEqual(1);
      }
    }
  });

  it.each([
    ['report', reportLine],
    ['running', runningLine],
  ] as const)('of %s records may end in a torn one, but not have one in its midst', (of, make) => {
    const line = make('att_b');
    for (let length = 1; length < line.length - 1; length += 7) {
      for (const end of ['', '\0'.repeat(20), `\n${markLine('att_a')}`]) {
        const torn = bytes(make('att_a'), line.slice(0, length), end);
        expect(marks(torn, of), `${length}`).toMatchObject({ lines: 1, bad: 0, cut: 1 });
      }
    }
    const midst = bytes(make('att_a'), line.slice(0, 150), '\n', make('att_c'));
    expect(marks(midst, of)).toMatchObject({ lines: 2, bad: 1 });
  });

  it('holds a bad line where the end of its last record was altered: no crash leaves its newline', () => {
    const line = reportLine('att_b');
    for (const back of [2, 3, 10, 66, 68, 74, 75]) {
      const altered = Buffer.from(line);
      altered[altered.length - back] = 0x7a;
      for (const end of ['', '\n', markLine('att_a'), `\n${markLine('att_a')}`])
        expect(marks(bytes(reportLine('att_a'), altered.toString(), end)), `${back}`).toMatchObject(
          { lines: 1, bad: 1, cut: 0 },
        );
    }
  });

  it('that ends in what is no beginning of a record holds a bad line', () => {
    for (const end of ['garbage', '{"v":1,"kind":"other"', reportLine('att_b').slice(1, 200)])
      expect(marks(bytes(reportLine('att_a'), end)), end).toMatchObject({ lines: 1, bad: 1 });
  });

  it('tells records of a later version from bad ones', () => {
    const newer = encodeLine({ kind: 'report', v: 2 } as { kind: string }).text;
    expect(JSON.parse(newer).v).toBe(2);
    expect(marks(bytes(reportLine('att_a'), newer))).toEqual({
      lines: 1,
      marks: 0,
      bad: 0,
      cut: 0,
      newer: 1,
    });
  });

  it('may say of many attempts in one line that they are done with, as by a line for each', () => {
    const at = '2026-01-01T00:00:00.000Z';
    const many = closingLine('answered', ['att_a', 'att_b'], at);
    expect(many).toMatch(/^\{"v":2,"kind":"mark","mark":"answered","attemptIds":.*\}\n$/);
    const each = ['att_a', 'att_b'].map((id) => closingLine('answered', [id], at)).join('');
    const records = [reportLine('att_a'), reportLine('att_b'), reportLine('att_c')].join('');
    const read = (end: string) =>
      readGroup(bytes(records, end), 'report').marks.map(({ mark, attemptId }) => [
        mark,
        attemptId,
      ]);
    expect(read(many)).toEqual([
      ['answered', 'att_a'],
      ['answered', 'att_b'],
    ]);
    expect(read(many)).toEqual(read(each));
    expect(marks(bytes(records, many)).bad).toBe(0);
    // Torn anywhere it says nothing, and is no fault of the disk.
    for (let length = 1; length < many.length - 1; length++)
      for (const end of ['', '\0'.repeat(20), `\n${markLine('att_c')}`])
        expect(marks(bytes(records, many.slice(0, length), end)), `${length}`).toMatchObject({
          ...{ lines: 3, bad: 0, cut: 1 },
          marks: end.startsWith('\n') ? 1 : 0,
        });
  });

  it('with such a line is left alone by a program that does not know it; of one attempt it is a line that all know', () => {
    const read = (line: string) => unseal(trimmed(line));
    expect(read(closingLine('ended', ['att_a', 'att_b'], 't'))).toMatchObject({ newer: true });
    expect(read(closingLine('ended', ['att_a'], 't'))).toMatchObject({ ok: true });
    expect(closingLine('ended', ['att_a'], 't')).toBe(markLine('att_a', 'ended'));
  });

  it('of one folder does not take the records of another', () => {
    expect(marks(bytes(runningLine('att_a')), 'report')).toMatchObject({ lines: 0, bad: 1 });
    expect(marks(bytes(reportLine('att_a')), 'running')).toMatchObject({ lines: 0, bad: 1 });
  });
});

describe('names', () => {
  it('of group files sort by their number', () => {
    const names = [1, 9, 10, 99_999_999_999].map((seq) => groupName(seq, '0123abcd'));
    expect([...names].sort()).toEqual(names);
    expect(names.map(groupSeq)).toEqual([1, 9, 10, 99_999_999_999]);
    for (const name of ['a.jsonl', '1-x.jsonl', `${names[0]}.123`, 'notes.txt', '.jsonl'])
      expect(groupSeq(name)).toBeUndefined();
  });

  it('of temporaries are told from all others', () => {
    expect(isTemporary(`${groupName(1, '0123abcd')}.2889318812`)).toBe(true);
    expect(isTemporary('owner.json.7')).toBe(true);
    expect(isTemporary('doctor-0a1b.probe')).toBe(true);
    for (const name of ['owner.json', 'owner.lock', groupName(1, '0123abcd'), 'README.md', 'my.1'])
      expect(isTemporary(name)).toBe(false);
  });

  it('of set-asides are safe names, and differ if what they hold does', () => {
    for (const id of ['../../x', 'att_A', 'a'.repeat(5_000), 'CON', '', '\u0000', 'é'])
      expect(setAsideName(id, 'complete', 'ab12'.repeat(16))).toMatch(
        /^[a-z0-9_]{0,80}-complete-[0-9a-f]{16}\.jsonl$/,
      );
    expect(setAsideSum(setAsideName('att_a', 'lost', `${'0'.repeat(15)}f`))).toBe(
      `${'0'.repeat(15)}f`,
    );
  });
});

describe('the size of a group', () => {
  it('is all that waits, within its bounds, and never nothing', () => {
    expect(groupSize([])).toBe(0);
    expect(groupSize([10, 10, 10])).toBe(3);
    expect(groupSize(new Array(1_000).fill(10))).toBe(256);
    expect(groupSize([5_000_000, 10])).toBe(1);
    expect(groupSize([10, 5_000_000, 10])).toBe(1);
  });
});
