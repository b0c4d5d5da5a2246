/** `tasks top` on a real terminal. Needs `script` (bsdutils on Debian). */
import { expect, it } from 'vitest';
import { until } from './processes.ts';
import { World } from './world.ts';

it('tasks top takes the whole terminal, follows what happens, acts on keys and gives the terminal back', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-operator');
  const submit = () => world.producer.submit('test/top', 1, {});
  const first = await submit();
  const command = `stty rows 20 cols 100; bin/interlock tasks top --url ${world.url}; echo "exit $?"`;
  const terminal = world.processes.start('script', ['-qfec', command, '/dev/null'], {
    env: { INTERLOCK_OPERATOR_KEY: world.key('task-operator'), TERM: 'xterm', SHELL: '/bin/sh' },
    typed: true,
  });
  await terminal.says(/Needs a person \(1\)/);
  await terminal.says(/live/);
  expect(terminal.out).toContain('\u001b[?1049h');
  // Hints tell of another one.
  const second = await submit();
  await terminal.says(/Needs a person \(2\)/);
  terminal.type('\r');
  await terminal.says(/journal/);
  terminal.type('\u001b');
  await terminal.says(/Enter open/);
  terminal.type('G');
  terminal.type('c');
  await terminal.says(/Cancel test\/top@1 …\w{6}\? \[y\/N\]/);
  terminal.type('y');
  const statuses = async () =>
    [(await world.producer.get(first)).status, (await world.producer.get(second)).status].sort();
  await until(async () => (await statuses())[0] === 'cancelled', 'the cancel');
  expect(await statuses()).toEqual(['cancelled', 'queued']);
  terminal.type('\x03');
  await terminal.says(/exit 0/);
  expect(await terminal.ending()).toEqual({ code: 0, signal: null });
  expect(terminal.out).toMatch(/\[\?1049l[\s\S]*exit 0/);
});
