import { defineCommand } from '../command.ts';
import { connect, connectionSettings, READERS } from '../connect.ts';
import { asTyped } from '../own-name.ts';

export const tasksCancel = defineCommand({
  path: 'tasks cancel',
  summary: 'Cancel a task',
  description:
    'Cancel a task. A queued one ends at once; a running one is asked to stop, and its handler may still succeed.',
  positionals: [{ name: 'task-id', help: 'Id of the task: tsk_…' }],
  options: { reason: { form: 'text', argument: 'text', help: 'Why; it is kept in the journal' } },
  settings: connectionSettings,
  examples: [['tasks cancel tsk_01k… --reason "ordered twice"', 'with a reason']],
  async run(call) {
    const { args, io, json, style } = call;
    await using connected = await connect(call, READERS);
    const { seq } = await connected.client.getTask(args['task-id']);
    const task = await connected.client.cancel(args['task-id'], {
      ...(args.reason !== undefined && { reason: args.reason }),
      actionId: connected.actionId(),
      ifSeq: seq,
    });
    if (json) await io.out.line(JSON.stringify(task));
    else {
      const words = task.status === 'cancelled' ? 'has ended' : 'was asked to stop';
      await io.out.line(`${style.state(task.status)} ${task.id} ${words}`);
      if (task.status === 'running')
        await io.err.line(
          style.faint(asTyped(`see how it ends: interlock tasks watch ${task.id}`, io)),
        );
    }
    return 'ok';
  },
});
