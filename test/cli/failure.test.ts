import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { failureJson, failureText, toFailure } from '../../src/cli/failure.ts';
import { settingTable } from '../../src/cli/setting-table.ts';
import { makeStyle } from '../../src/cli/style.ts';
import { problemCodes, TaskError } from '../../src/contract/index.ts';
import { VERSION } from '../../src/contract/version.ts';
import { spoolErrorCodes } from '../../src/spool/errors.ts';

const root = join(import.meta.dirname, '../..');
const operations = readFileSync(join(root, 'docs/operations.md'), 'utf8');
const style = makeStyle(false);

describe('exit codes', () => {
  it('are all distinct, and fit into what a shell can tell', () => {
    const codes = Object.values(exitCodes).map(({ code }) => code);
    expect(new Set(codes).size).toBe(codes.length);
    expect(codes.every((code) => code >= 0 && code < 126)).toBe(true);
  });

  it('have their page', () => {
    for (const [name, { code }] of Object.entries(exitCodes))
      expect(operations, `docs/operations.md tells of ${name}`).toMatch(
        new RegExp(`\\| ${code} \\| \`${name}\``),
      );
  });

  it('are decided for every code of the contract and of the spool', () => {
    for (const code of [...Object.keys(problemCodes), ...Object.keys(spoolErrorCodes)]) {
      if (/NOT_RELEASABLE|NOT_CANCELLING|NO_ELIGIBLE|SPOOL_WRITE_FAILED|SPOOL_CLOSED/.test(code))
        continue;
      expect(toFailure(new TaskError(code, 'x')).exit, code).not.toBe('bug');
    }
  });
});

describe('settings', () => {
  it('have their page: flag, variable and default', () => {
    for (const { flag, env } of Object.values(settingTable)) {
      expect(operations, flag).toContain(`\`--${flag}\``);
      expect(operations, env).toContain(`\`${env}\``);
    }
  });
});

describe('an error', () => {
  it('says in seconds how long a key above its rate has to wait, not by a header that nobody sees', () => {
    const limited = (details: object) =>
      new TaskError('RATE_LIMITED', 'Too many.', { hint: 'Retry-After', details: { ...details } });
    expect(toFailure(limited({ retryAfterMs: 4_200 })).hint).toMatch(/^Wait 5 s, /);
    expect(toFailure(limited({})).hint).toBe('Retry-After');
  });

  it('says what, the next step, and its code, without a stack', () => {
    const error = new TaskError('NOT_FOUND', 'There is no task tsk_1 in project "default".', {
      hint: 'Check the id.',
      details: { requestId: 'req_7' },
    });
    expect(failureText(toFailure(error), style, false)).toBe(
      [
        'error  There is no task tsk_1 in project "default".',
        'next   Check the id.',
        'code   NOT_FOUND, req_7 (exit 66, not-found)',
        '',
      ].join('\n'),
    );
    expect(failureText(toFailure(error), style, true)).toContain('failure.test.ts');
  });

  it('is one object in JSON, with its exit code', () => {
    const error = new TaskError('CONFLICT', 'It changed.', { details: { seq: 4 } });
    expect(JSON.parse(failureJson(toFailure(error), false))).toEqual({
      error: {
        code: 'CONFLICT',
        message: 'It changed.',
        details: { seq: 4 },
        exit: 'conflict',
        exitCode: 79,
      },
    });
  });

  it('of an unknown kind is a bug that asks to be told', () => {
    const failure = toFailure(new RangeError('Maximum call stack size exceeded'));
    expect(failure).toMatchObject({
      code: 'BUG',
      exit: 'bug',
      hint: expect.stringContaining('--debug'),
    });
    expect(toFailure(undefined).exit).toBe('bug');
    expect(toFailure('text').message).toContain('text');
  });

  it('of the system is told with the path and in words', () => {
    const error = Object.assign(new Error('EACCES: permission denied'), {
      code: 'EACCES',
      syscall: 'open',
      path: '/etc/shadow',
    });
    expect(toFailure(error)).toMatchObject({
      exit: 'input-output',
      message: '/etc/shadow may not be used by this user (EACCES).',
    });
  });

  it('never shows a key', () => {
    const failure = toFailure(new TaskError('X', 'refused il_abcdefgh', { hint: 'il_zzzzzzzz' }));
    expect(failureText(failure, style, true)).not.toMatch(/il_[a-z]/);
  });
});

it('has the version of the package', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect(VERSION).toBe(version);
});
