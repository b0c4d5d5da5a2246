import { defineCommand } from '../command.ts';
import { connect, connectionSettings, READERS } from '../connect.ts';
import { watchToEnd } from '../watch.ts';

export const tasksWatch = defineCommand({
  path: 'tasks watch',
  summary: 'Follow a task until it has ended',
  description:
    'Follow a task until it has ended: its journal as it grows, and its progress. Survives a restart of the control plane. The exit code tells how the task ended: 0 succeeded, 10 failed, 11 outcome-unknown, 12 cancelled, 13 expired.',
  positionals: [{ name: 'task-id', help: 'Id of the task: tsk_…' }],
  settings: connectionSettings,
  examples: [
    ['tasks watch tsk_01k…', 'until it has ended'],
    ['tasks watch tsk_01k… --json', 'one journal entry a line, the task last'],
  ],
  async run(call) {
    await using connected = await connect(call, READERS);
    return await watchToEnd(connected.client, call.args['task-id'], call);
  },
});
