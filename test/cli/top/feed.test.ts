import { expect, it } from 'vitest';
import { startPlane } from '../plane.ts';
import { interlock } from '../run.ts';

it('tasks top is a table where there is no terminal, and JSON for programs', async () => {
  const plane = await startPlane();
  const env = plane.env('task-producer', 'task-operator');
  const none = await interlock(['tasks', 'top'], { env });
  expect(none).toMatchObject({ code: 0, out: '', err: 'There is no task yet.\n' });
  const submitted = await interlock(
    ['tasks', 'submit', 'demo/hello@1', '--input', '{}', '--json'],
    { env },
  );
  const { id } = JSON.parse(submitted.out);
  const { code, out } = await interlock(['tasks', 'top'], { env });
  expect(code).toBe(0);
  expect(out).toMatch(/^Needs a person \(1\)\nTASK +TYPE /);
  expect(out).toContain(`${id}  demo/hello@1`);
  const json = JSON.parse((await interlock(['tasks', 'top', '--json'], { env })).out);
  expect(json.sections).toMatchObject([{ title: 'Needs a person', tasks: [{ id }] }]);
  const filtered = await interlock(['tasks', 'top', '--filter', 'mail'], { env });
  expect(filtered).toMatchObject({ code: 0, out: '', err: 'No task fits.\n' });
});
