/** A real terminal: Ctrl-C goes to the whole foreground group. Needs `script` (bsdutils on Debian). */
import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { until } from './processes.ts';
import { World } from './world.ts';

it('drains on Ctrl-C in a terminal while its handlers go on', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const args = ['--url', world.url, '--spool', world.spool(), '--worker-id', 'worker'];
  const command = ['bin/interlock-worker', '--handlers', 'test/e2e/handlers', ...args].join(' ');
  const terminal = world.processes.start('script', ['-qfec', `exec ${command}`, '/dev/null'], {
    env: { INTERLOCK_WORKER_KEY: world.key('task-worker'), TERM: 'xterm', SHELL: '/bin/sh' },
    typed: true,
  });
  await terminal.says(/Worker worker .* serves/);
  const input = { began: world.path('began'), until: world.path('go on'), obeys: true };
  const task = await world.producer.submit('test/wait', 1, input);
  await until(() => world.lines('began').length === 1, 'handler');
  terminal.type('\x03');
  await terminal.says(/Draining: nothing more is claimed, 1 running/);
  expect(world.processes.left()).toContain(Number(world.lines('began')[0]));
  writeFileSync(input.until, '');
  expect(await terminal.ending()).toEqual({ code: 0, signal: null });
  expect(terminal.out).toContain('Drained in order. Nothing is left in the spool.');
  expect(await world.producer.get(task)).toMatchObject({
    status: 'succeeded',
    result: { waited: true },
    attempts: 1,
  });
});
