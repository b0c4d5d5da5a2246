import { describe, expect, it } from 'vitest';
import { TaskError } from '../../src/contract/index.ts';
import { redact, redactText } from '../../src/system/redact.ts';

const KEY = 'il_AbC123_xyz-890AbC123';

describe('what a log never writes', () => {
  it('hides by name, however it is spelled and however deep', () => {
    const logged = JSON.stringify(
      redact({
        leaseToken: 'tok-1',
        report: { lease_token: 'tok-2', list: [{ LeaseToken: 'tok-3' }] },
        headers: { Authorization: 'Bearer tok-4', 'proxy-authorization': 'tok-5', cookie: 'tok-6' },
        key: 'tok-7',
        apiKey: 'tok-8',
        INTERLOCK_WORKER_KEY: 'tok-9',
        password: 'tok-10',
      }),
    );
    expect(logged).not.toContain('tok-');
  });

  it('keeps what only sounds alike', () => {
    const fields = { idempotencyKey: 'a', effectKey: 'b', keyKind: 'task-worker', tokens: 12 };
    expect(redact(fields)).toEqual(fields);
  });

  it('hides keys by their form in any text: sentences, errors, stacks, causes, arrays', () => {
    const error = new TaskError('X', `refused ${KEY}`, {
      cause: new Error(`header was Bearer ${KEY}`),
      details: { seen: [`?key=${KEY}`] },
    });
    const logged = JSON.stringify(redact({ error, text: KEY, map: new Map([['a', KEY]]) }));
    expect(logged).not.toContain('AbC123');
    expect(logged).toContain('refused il_…');
    expect(redactText(`curl -H "Authorization: Bearer ${KEY}" x`)).not.toContain('AbC123');
  });

  it('hides passwords in addresses', () => {
    expect(redactText('proxy http://ada:pass@proxy:8080/ refused')).toBe(
      'proxy http://…@proxy:8080/ refused',
    );
    expect(redactText('{"a":"ftp://u:sek/r@t@h.test/x","b":"ada@b.test"}')).toBe(
      '{"a":"ftp://…@h.test/x","b":"ada@b.test"}',
    );
    expect(redactText('no folder /srv/https:/u:sek/ret@h.test')).toBe(
      'no folder /srv/https:/…@h.test',
    );
    const cut = `${'x '.repeat(4_090)}http://u:${'s3cret'.repeat(5)}@h.test`;
    expect(redactText(cut)).not.toContain('s3');
  });

  it('keeps what is no password though an "@" stands in it', () => {
    for (const text of [
      'at run (file:///srv/node_modules/@scope/name/index.js:3:1)',
      'C:/box/ada@host is no folder',
      'ada@h.test asked http://h.test/x',
      'anvil_of_a_blacksmith_in_town/a',
    ])
      expect(redactText(text)).toBe(text);
  });

  it('hides a key behind a line break as JSON writes it', () => {
    expect(redactText(JSON.stringify(`a\n${KEY}`))).toBe('"a\\nil_…"');
  });

  it('takes cycles, throwing getters, functions, big integers, dates, bytes and depth', () => {
    const cycle: Record<string, unknown> = { big: 12n, at: new Date(0), bytes: new Uint8Array(3) };
    cycle.self = cycle;
    cycle.run = () => {};
    const thrower = {
      get bad() {
        throw new Error('no');
      },
    };
    let deep: unknown = 1;
    for (let i = 0; i < 50; i++) deep = { deep };
    expect(redact({ ...cycle, thrower, deep })).toMatchObject({
      big: '12',
      at: '1970-01-01T00:00:00.000Z',
      bytes: '(3 bytes)',
      self: { self: '(itself)' },
      thrower: '(unreadable)',
    });
  });

  it('cuts long texts and wide objects', () => {
    expect(redactText('x'.repeat(1_000_000)).length).toBeLessThan(10_000);
    expect((redact(Array.from({ length: 1_000 }, (_, i) => i)) as unknown[]).length).toBe(65);
  });
});
