import { describe, expect, it } from 'vitest';
import {
  anyId,
  durationMs,
  instant,
  labels,
  parseTypeKey,
  poolName,
  schemaVersion,
  typeKey,
  typeName,
  typeNameProblem,
  workerId,
} from '../../src/contract/names.ts';

const words = (result: { error?: { issues: { message: string }[] } | undefined }) =>
  result.error?.issues.map((issue) => issue.message).join('; ') ?? '';

describe('type names', () => {
  it.each(['demo/hello', 'a', '0', 'A.b_c-d/1', 'x'.repeat(200), 'file/digest'])(
    'takes %s',
    (name) => {
      expect(typeName.safeParse(name).success).toBe(true);
      expect(typeNameProblem(name)).toBeUndefined();
    },
  );

  it.each([
    '',
    '/',
    'demo/',
    '/demo',
    'demo//hello',
    '.demo',
    'demo/.hello',
    '-demo',
    'demo hello',
    'demo:hello',
    'demo/hello\n',
    'café',
    'cafe\u0301',
    'x'.repeat(201),
    `demo\u0000`,
  ])('refuses %j', (name) => {
    expect(typeName.safeParse(name).success).toBe(false);
  });

  it('tells two names apart that differ only in case', () => {
    expect(typeName.parse('demo/Hello')).toBe('demo/Hello');
    expect(typeKey('demo/Hello', 1)).not.toBe(typeKey('demo/hello', 1));
  });

  it('says where a version belongs', () => {
    expect(words(typeName.safeParse('demo/hello@2'))).toBe(
      'must not hold a version: send type "demo/hello" and schemaVersion 2',
    );
    for (const name of ['demo/hello@', 'demo@x', '@1', 'a@1/b'])
      expect(words(typeName.safeParse(name))).toContain('schemaVersion');
  });

  it('reads and writes type@version', () => {
    expect(parseTypeKey('demo/hello@12')).toEqual({ type: 'demo/hello', schemaVersion: 12 });
    for (const text of [
      'demo/hello',
      'demo/hello@',
      'demo/hello@0',
      'demo/hello@01',
      'demo/hello@1.5',
      '@1',
      'a@b@1',
      `${'x'.repeat(201)}@1`,
      '',
    ])
      expect(parseTypeKey(text), text).toBeUndefined();
  });
});

describe('other names', () => {
  it('takes a colon in a pool, not in a worker id', () => {
    for (const name of ['default', 'model/llama3:8b', 'a:b/c:d'])
      expect(poolName.safeParse(name).success, name).toBe(true);
    for (const name of ['', ':a', 'a/', 'a b', 'x'.repeat(201)])
      expect(poolName.safeParse(name).success, name).toBe(false);
    for (const name of ['garage-node', 'a.b_c', '7'])
      expect(workerId.safeParse(name).success).toBe(true);
    for (const name of ['', 'a/b', 'a:b', '-a', 'a b', 'ä'])
      expect(workerId.safeParse(name).success, name).toBe(false);
  });

  it('takes ids of any kind', () => {
    for (const id of ['tsk_01j', 'att_0A9z']) expect(anyId.safeParse(id).success).toBe(true);
    for (const id of ['tsk', 'tsk_', 'TSK_1', 'tsk-1', 'tsk_1-2', 'tsk_1\n'])
      expect(anyId.safeParse(id).success, id).toBe(false);
  });

  it('takes versions from 1', () => {
    for (const version of [1, 2 ** 31]) expect(schemaVersion.safeParse(version).success).toBe(true);
    for (const version of [0, -1, 1.5, '1', null, 2 ** 53])
      expect(schemaVersion.safeParse(version).success).toBe(false);
  });

  it('takes durations as whole milliseconds', () => {
    for (const ms of [0, 1, 86_400_000]) expect(durationMs.safeParse(ms).success).toBe(true);
    for (const ms of [-1, 0.5, '1', 2 ** 53]) expect(durationMs.safeParse(ms).success).toBe(false);
  });

  it('takes instants that are RFC 3339 in UTC', () => {
    for (const at of ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00.123Z', '2024-02-29T00:00:00Z'])
      expect(instant.safeParse(at).success, at).toBe(true);
    for (const at of [
      '2026-01-31',
      '2026-01-31T12:00Z',
      '2026-01-31T12:00:00',
      '2026-01-31T12:00:00+01:00',
      '2026-02-30T00:00:00Z',
      '2026-13-01T00:00:00Z',
      'now',
      0,
    ])
      expect(instant.safeParse(at).success, String(at)).toBe(false);
  });
});

describe('labels', () => {
  it('takes up to 64 keys with texts of up to 4,096 characters', () => {
    const many = (n: number) =>
      Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 'v']));
    expect(labels.safeParse(many(64)).success).toBe(true);
    expect(words(labels.safeParse(many(65)))).toContain('64');
    expect(labels.safeParse({ a: 'x'.repeat(4_096) }).success).toBe(true);
    expect(labels.safeParse({ a: 'x'.repeat(4_097) }).success).toBe(false);
  });

  it('says the path of what is no text', () => {
    const result = labels.safeParse({ a: 'x', b: 1 });
    expect(result.error?.issues[0]?.path).toEqual(['b']);
  });

  it('refuses a name that would be dropped without a word', () => {
    const result = labels.safeParse(JSON.parse('{"a": "x", "__proto__": "y"}'));
    expect(result.error?.issues[0]?.path).toEqual(['__proto__']);
  });

  it.each([null, 'a', [], 1])('refuses %j', (value) => {
    expect(labels.safeParse(value).success).toBe(false);
  });
});
