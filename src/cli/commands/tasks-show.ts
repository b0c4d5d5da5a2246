import { defineCommand } from '../command.ts';
import { connect, connectionSettings, READERS } from '../connect.ts';
import { taskLines } from '../views/task-view.ts';

export const tasksShow = defineCommand({
  path: 'tasks show',
  summary: 'Show all of one task',
  positionals: [{ name: 'task-id', help: 'Id of the task: tsk_…' }],
  settings: connectionSettings,
  examples: [
    ['tasks show tsk_01k…', 'status, input, result, error'],
    ['tasks show tsk_01k… --json', 'as the control plane tells it'],
  ],
  async run(call) {
    const { args, io, json, style } = call;
    await using connected = await connect(call, READERS);
    const task = await connected.client.getTask(args['task-id']);
    if (json) await io.out.line(JSON.stringify(task));
    else await io.out.write(`${taskLines(task, style, io.clock.wall()).join('\n')}\n`);
    return 'ok';
  },
});
