import { expect, it } from 'vitest';
import { readHandler } from '../../src/handler/declaration.ts';

const run = () => 1;

it('lets pure and idempotent handlers share a host, said beside the function or in a definition', async () => {
  for (const exports of [
    { default: run, effectSafety: 'pure', host: 'shared' },
    { default: { run, effectSafety: 'idempotent', host: 'shared' } },
  ])
    expect(await readHandler(exports)).toMatchObject({
      ok: true,
      handler: { declaration: { host: 'shared' } },
    });
});

it('takes a host of its own as what is so anyway', async () => {
  const read = await readHandler({ default: { run, host: 'own' } });
  expect(read.ok && read.handler.declaration).toEqual({
    effectSafety: 'non-idempotent',
    safetyDeclared: false,
    effectGate: 'start',
  });
});

it.each([
  [{ run, effectSafety: 'non-idempotent', host: 'shared' }, 'its effectSafety is non-idempotent:'],
  [{ run, host: 'shared' }, 'is not declared, which counts as non-idempotent:'],
])('refuses to share a host where a task must not run twice', async (definition, why) => {
  expect(await readHandler({ default: definition })).toMatchObject({
    ok: false,
    problem: {
      code: 'HANDLER_SHARED_UNSAFE',
      message: expect.stringContaining(why),
      hint: expect.stringContaining("Take out host: 'shared'"),
    },
  });
});

it.each([
  [{ host: 'db.example' }, /host is "db.example"; it must be own or shared$/],
  [{ host: 'Shared' }, /host is "Shared"; it must be own or shared\. Did you mean shared\?$/],
  [{ host: true }, /host is true; it must/],
  [{ host: null }, /host is null; it must/],
  [{ timeoutMs: '5s' }, /timeoutMs is "5s"; it must/],
  [{ timeoutMs: {} }, /timeoutMs is of the type object; it must/],
])('names a word that is none: %o', async (exports, message) => {
  expect(await readHandler({ default: run, ...exports })).toMatchObject({
    problem: { message: expect.stringMatching(message) },
  });
});
