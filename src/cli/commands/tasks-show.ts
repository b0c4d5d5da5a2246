import { defineCommand } from '../command.ts';
import { connect, connectionSettings, READERS } from '../connect.ts';
import { asTyped } from '../own-name.ts';
import { lastTrouble, tailOfJournal } from '../views/attempt-view.ts';
import { taskLines } from '../views/task-view.ts';

export const tasksShow = defineCommand({
  path: 'tasks show',
  summary: 'Show all of one task',
  positionals: [{ name: 'task-id', help: 'Id of the task: tsk_…' }],
  settings: connectionSettings,
  examples: [
    ['tasks show tsk_01k…', 'status, input, result, error, how the last attempt went'],
    ['tasks show tsk_01k… --json', 'as the control plane tells it'],
  ],
  async run(call) {
    const { args, io, json, style } = call;
    await using connected = await connect(call, READERS);
    const task = await connected.client.getTask(args['task-id']);
    if (json) await io.out.line(JSON.stringify(task));
    else {
      // The view tells how things are; how the last attempt went stands in the journal only.
      const { events } =
        task.attempts + task.undelivered === 0
          ? { events: [] }
          : await connected.client.events(task.id, { after: tailOfJournal(task) });
      const lines = taskLines(task, style, io.clock.wall(), lastTrouble(events), (text) =>
        asTyped(text, io),
      );
      await io.out.write(`${lines.join('\n')}\n`);
    }
    return 'ok';
  },
});
