import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DiscoveredHandler, HandlerProblem } from '../../src/handler/discovery.ts';
import { nextHandlers } from '../../src/handler/generations.ts';

const FOLDER = '/srv/handlers';

function handler(type: string, code?: string): DiscoveredHandler {
  return {
    type,
    schemaVersion: 1,
    file: join(FOLDER, `${type}@1.mjs`),
    effectSafety: 'pure',
    safetyDeclared: true,
    effectGate: 'start',
    ...(code !== undefined && { code: { id: code, hash: code } }),
  };
}

function problem(of: Partial<HandlerProblem>): HandlerProblem {
  return {
    severity: 'error',
    file: '',
    code: 'HANDLER_NOT_LOADED',
    message: 'It does not load.',
    hint: 'Correct it.',
    ...of,
  };
}

const next = (
  now: readonly DiscoveredHandler[],
  handlers: readonly DiscoveredHandler[],
  ...problems: HandlerProblem[]
) => nextHandlers(now, { handlers, problems }, FOLDER);

describe('handlers after a look at the folder', () => {
  it('are the very same where code and declaration are', () => {
    const old = handler('a', 'one');
    const found = next([old], [handler('a', 'one')]);
    expect(found.handlers[0]).toBe(old);
    expect(found).toMatchObject({ same: 1, changed: [], added: [], removed: [], kept: [] });
  });

  it('are new ones where the code, the declaration or the place is another', () => {
    const old = handler('a', 'one');
    for (const fresh of [
      handler('a', 'two'),
      { ...handler('a', 'one'), timeoutMs: 5 },
      { ...handler('a', 'one'), file: '/elsewhere/a@1.mjs' },
    ])
      expect(next([old], [fresh])).toMatchObject({ handlers: [fresh], changed: ['a@1'], same: 0 });
  });

  it('count as changed where nobody can tell the code', () => {
    const found = next([handler('a')], [handler('a')]);
    expect(found).toMatchObject({ changed: ['a@1'], same: 0 });
  });

  it('come and go in the order of the folder', () => {
    const found = next(
      [handler('b', '1'), handler('d', '1')],
      [handler('a', '1'), handler('d', '2')],
    );
    expect(found.handlers.map(({ type }) => type)).toEqual(['a', 'd']);
    expect(found).toMatchObject({ added: ['a@1'], changed: ['d@1'], removed: ['b@1'] });
  });

  it('stay as they were where their file is broken, whatever is wrong with it', () => {
    const old = handler('a', 'one');
    for (const code of ['HANDLER_NOT_LOADED', 'HANDLER_DUPLICATE', 'HOST_NOT_STARTED']) {
      const why = problem({ type: 'a@1', file: 'a@1.mjs', code });
      const found = next([old], [], why);
      expect(found.handlers).toEqual([old]);
      expect(found).toMatchObject({ kept: [{ handler: old, problem: why }], removed: [] });
    }
  });

  it('all stay where the folder cannot be read, those below where a part of it cannot', () => {
    const now = [handler('a', '1'), handler('sub/b', '1'), handler('subway/c', '1')];
    const unreadable = (file: string) => problem({ file, code: 'HANDLERS_UNREADABLE' });
    expect(next(now, [], unreadable(FOLDER)).kept).toHaveLength(3);
    const part = next(now, [], unreadable('sub'));
    expect(part.kept.map((one) => one.handler.type)).toEqual(['sub/b']);
    expect(part.removed).toEqual(['a@1', 'subway/c@1']);
    // A link whose target is being replaced.
    expect(next(now, [], unreadable('a@1.mjs')).removed).toEqual(['sub/b@1', 'subway/c@1']);
  });

  it('go where only a warning, or what is wrong with another, is left', () => {
    const warning = problem({ severity: 'warning', type: 'a@1' });
    const other = problem({ type: 'b@1' });
    expect(next([handler('a', '1')], [], warning, other).removed).toEqual(['a@1']);
  });
});
