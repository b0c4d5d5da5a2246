import { terminalStatuses } from '../../contract/index.ts';
import { defineCommand } from '../command.ts';
import { connect, connectionSettings, READERS } from '../connect.ts';
import { logLine } from '../views/journal-view.ts';

export const tasksLogs = defineCommand({
  path: 'tasks logs',
  summary: 'Show what the handlers of a task have logged',
  description:
    'Show what the handlers of a task have logged: ctx.log, and what they print on stdout and stderr.',
  positionals: [{ name: 'task-id', help: 'Id of the task: tsk_…' }],
  options: {
    follow: { form: 'switch', alias: 'f', help: 'Go on until the task has ended' },
  },
  settings: connectionSettings,
  examples: [
    ['tasks logs tsk_01k…', 'all that is kept'],
    ['tasks logs tsk_01k… -f', 'as it grows'],
  ],
  async run(call) {
    const { args, io, json, style } = call;
    const id = args['task-id'];
    await using connected = await connect(call, READERS);
    let after: string | undefined;
    let none = true;
    for (;;) {
      // Asked before the lines: what a handler said last is there once its task has ended.
      const over = args.follow
        ? terminalStatuses.has((await connected.client.getTask(id)).status)
        : true;
      for (let more = true; more && !io.out.closed; ) {
        const page = await connected.client.logs(id, { after });
        for (const line of page.lines) {
          after = line.cursor;
          none = false;
          await io.out.line(json ? JSON.stringify(line) : logLine(line, style));
        }
        more = page.lines.length > 0;
      }
      if (over && none && !json) {
        const { status } = await connected.client.getTask(id);
        await io.err.line(style.faint(`There is no log line of ${id}; it is ${status}.`));
      }
      if (over || io.out.closed) return 'ok';
      await io.clock.sleep(FOLLOW_MS, io.out.gone);
    }
  },
});

/** Lines come to the control plane in batches of half a second. */
const FOLLOW_MS = 500;
