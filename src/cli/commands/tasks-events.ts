import { defineCommand } from '../command.ts';
import { connect, connectionSettings, READERS } from '../connect.ts';
import { integerArgument } from '../json-input.ts';
import { eventLine } from '../views/journal-view.ts';

export const tasksEvents = defineCommand({
  path: 'tasks events',
  summary: 'Show the journal of a task',
  description:
    'Show the journal of a task: every change of its state, numbered 1, 2, 3 … without gaps.',
  positionals: [{ name: 'task-id', help: 'Id of the task: tsk_…' }],
  options: { after: { form: 'text', argument: 'number', help: 'Only entries after this one [0]' } },
  settings: connectionSettings,
  examples: [
    ['tasks events tsk_01k…', 'who did what, and when'],
    ['tasks events tsk_01k… --json', 'one entry a line'],
  ],
  async run(call) {
    const { args, io, json, style } = call;
    let after = integerArgument(args.after, '--after', 0, 999_999_999, 'tasks events') ?? 0;
    await using connected = await connect(call, READERS);
    for (;;) {
      const page = await connected.client.events(args['task-id'], { after });
      for (const event of page.events) {
        after = event.seq;
        await io.out.line(json ? JSON.stringify(event) : eventLine(event, style));
      }
      if (page.events.length === 0 || after >= page.seq || io.out.closed) return 'ok';
    }
  },
});
