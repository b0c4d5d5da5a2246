import { expect, it } from 'vitest';
import { createInlineCarrier } from '../../src/carriers/inline.ts';
import { TaskError } from '../../src/contract/errors.ts';
import { hostDefaults } from '../../src/core/defaults.ts';
import { defineHandler } from '../../src/handler/index.ts';
import { systemClock } from '../../src/system/clock.ts';
import { carrierCases, fixtures } from './carrier.cases.ts';
import { startJob } from './collected.ts';
import { memoryLog } from './memory-log.ts';

carrierCases(
  'inline',
  async () => {
    const carrier = createInlineCarrier({ clock: systemClock(), log: memoryLog() });
    for (const fixture of fixtures) {
      const module = await import(`./fixtures/${fixture}.mjs`);
      const { default: run, ...named } = module;
      const definition = typeof run === 'function' ? { run, ...named } : run;
      await carrier.handle(`test/${fixture}`, 1, definition);
    }
    return {
      carrier,
      job: (fixture) => ({ type: `test/${fixture}` }),
      close: () => carrier.close(),
    };
  },
  { kill: 'a handler inside this program cannot be killed' },
);

it('keeps the slot of a handler that ignores its stop, and says so', async () => {
  const log = memoryLog();
  const carrier = createInlineCarrier({ clock: systemClock(), log });
  let release = (_value: string) => {};
  await carrier.handle('test/deaf', 1, () => new Promise<string>((resolve) => (release = resolve)));
  const running = startJob(carrier, { type: 'test/deaf' });
  await running.until((told) => told.begun === 1);
  running.stop('cancel', 5);
  await running.until((told) => told.lines.length > 0);
  expect(running.text()).toContain('cannot be killed');
  expect(log.events).toEqual(['carrier.stop-ignored']);
  const first = await Promise.race([running.ended, Promise.resolve('pending')]);
  expect(first).toBe('pending');
  release('done after all');
  expect(await running.ended).toEqual({ how: 'returned', result: 'done after all' });
});

it('gives each job its own copy of the input', async () => {
  const carrier = createInlineCarrier({ clock: systemClock(), log: memoryLog() });
  await carrier.handle('test/greedy', 1, (input: { list: number[] }) => input.list.pop());
  const input = { list: [1, 2] };
  expect(await startJob(carrier, { type: 'test/greedy', input }).ended).toMatchObject({
    result: 2,
  });
  expect(input).toEqual({ list: [1, 2] });
});

it('tells what is declared, and refuses a wrong declaration and a second handler', async () => {
  const carrier = createInlineCarrier({ clock: systemClock(), log: memoryLog() });
  const run = () => 1;
  const declaration = await carrier.handle(
    'a/b',
    1,
    defineHandler({ run, effectSafety: 'pure', timeoutMs: 5_000 }),
  );
  expect(declaration).toEqual({
    effectSafety: 'pure',
    safetyDeclared: true,
    effectGate: 'start',
    timeoutMs: 5_000,
  });
  await expect(carrier.handle('a/b', 1, run)).rejects.toThrow('a/b@1 has a handler already');
  await expect(
    carrier.handle('a/c', 1, { run, effectSafety: 'safe' as 'pure' }),
  ).rejects.toBeInstanceOf(TaskError);
});

it('refuses a result above the bound in the words of a host: it has to be written, kept and sent', async () => {
  const carrier = createInlineCarrier({ clock: systemClock(), log: memoryLog() });
  await carrier.handle('test/huge', 1, () => 'x'.repeat(hostDefaults.resultBytes));
  const end = await startJob(carrier, { type: 'test/huge' }).ended;
  expect(end).toEqual({
    how: 'threw',
    error: {
      code: 'RESULT_INVALID',
      message:
        'The result has 67108866 bytes as JSON; at most 67108864 can be handed over. Put it into a file and return where it is.',
      retryable: false,
    },
  });
});
