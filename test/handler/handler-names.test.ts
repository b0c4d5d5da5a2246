import { describe, expect, it } from 'vitest';
import { caseClashes, readName } from '../../src/handler/handler-names.ts';

describe('names of handler files', () => {
  it.each([
    ['hello@1.ts', 'hello', 1],
    ['demo/hello@12.mjs', 'demo/hello', 12],
    ['a/b.c/d_e-f@3.cjs', 'a/b.c/d_e-f', 3],
    ['Resize@1.js', 'Resize', 1],
  ])('%s is a handler', (path, type, schemaVersion) => {
    expect(readName(path)).toEqual({ is: 'handler', type, schemaVersion });
  });

  it.each([
    'lib.js',
    'demo/helpers.ts',
    'hello@1.d.ts',
    'hello@1.test.ts',
    'hello@1.js.map',
    'hello@1.md',
    '@scope/lib.js',
    'README.md',
  ])('%s is none, and nothing to complain about', (path) => {
    expect(readName(path)).toEqual({ is: 'other' });
  });

  it.each([
    ['hello@0.js', 'version "0"'],
    ['hello@01.js', 'version "01"'],
    ['hello@v1.js', 'version "v1"'],
    ['hello@latest.mjs', 'version "latest"'],
    ['@1.js', '"" is no type'],
    ['@acme/x@1.js', '"@acme/x" is no type'],
    ['a b@1.js', '"a b" is no type'],
    ['.hidden/x@1.js', 'is no type'],
    ['hello@1.mts', 'its ending is not one of'],
    [`${'x'.repeat(201)}@1.js`, 'more than 200 characters'],
  ])('%s is named as no handler', (path, message) => {
    expect(readName(path)).toMatchObject({ is: 'bad', message: expect.stringContaining(message) });
  });

  it('F39 names café in both forms of Unicode as no type, and shows which is which', () => {
    const composed = readName('caf\u00e9@1.js');
    const decomposed = readName('cafe\u0301@1.js');
    expect(composed).toMatchObject({ is: 'bad' });
    expect(decomposed).toMatchObject({ is: 'bad' });
    if (composed.is !== 'bad' || decomposed.is !== 'bad') return;
    expect(composed.message).toContain('"caf\\u00e9"');
    expect(decomposed.message).toContain('"cafe\\u0301"');
  });

  it('F39 groups names that differ in case only', () => {
    expect(caseClashes(['Resize@1', 'resize@1', 'resize@2', 'a/B@1', 'A/b@1', 'other@1'])).toEqual([
      ['Resize@1', 'resize@1'],
      ['A/b@1', 'a/B@1'],
    ]);
  });
});
