import { describe, expect, it } from 'vitest';
import { readHandler } from '../../src/handler/declaration.ts';
import { defineHandler } from '../../src/handler/define.ts';

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

it('names all that is wrong with a declaration at once', async () => {
  const exports = {
    default: run,
    effectSafety: 'maybe',
    host: 'Shared',
    timeoutMs: '5s',
    input: 7,
  };
  expect(await readHandler(exports)).toMatchObject({
    problem: {
      code: 'HANDLER_BAD_DECLARATION',
      message: expect.stringMatching(
        /effectSafety is "maybe".*; host is "Shared".*; timeoutMs is "5s".*; input must be/,
      ),
    },
  });
});

describe('what a module says that is not heard', () => {
  const told = async (exports: object) => {
    const read = await readHandler(exports);
    if (!read.ok) throw new Error(read.problem.message);
    return (read.warnings ?? []).map(({ message }) => message);
  };
  const nothing = (name: string, meant: string) =>
    `It declares "${name}", which means nothing here. Did you mean ${meant}?`;

  it.each([
    ['Host', 'shared', 'host'],
    ['hosts', 'Shared', 'host'],
    ['timeoutms', 5, 'timeoutMs'],
    ['effectSaftey', 'pure', 'effectSafety'],
    ['Input', { type: 'object' }, 'input'],
  ])('tells an export %s that is nearly a word', async (name, value, meant) => {
    expect(await told({ default: run, [name]: value })).toEqual([nothing(name, meant)]);
    expect(await told({ default: { run, [name]: value } })).toEqual([nothing(name, meant)]);
  });

  it('leaves exports alone that mean something else', async () => {
    const input = { type: 'object' };
    const others = { Input: input, post: () => 1, hosts: ['a'], timeouts: {}, note: 'pure' };
    expect(await told({ default: run, input, ...others })).toEqual([]);
  });

  it('tells every unknown member of a definition', async () => {
    const definition = defineHandler({ run, hosts: ['a'], colour: 'red' } as { run: typeof run });
    expect(await told({ default: definition })).toEqual([
      nothing('hosts', 'host'),
      'It declares "colour", which means nothing here.',
    ]);
  });

  it('says where a word of the policy belongs', async () => {
    const read = await readHandler({ default: run, maxAttempts: 3 });
    expect(read).toMatchObject({
      ok: true,
      warnings: [
        {
          code: 'HANDLER_WORD_UNKNOWN',
          message: expect.stringContaining("part of a task's policy"),
          hint: expect.stringContaining('tasks submit --policy maxAttempts='),
        },
      ],
    });
  });
});
