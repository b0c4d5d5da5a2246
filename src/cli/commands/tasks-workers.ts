import { defineCommand } from '../command.ts';
import { connect, connectionSettings, READERS } from '../connect.ts';
import { asTyped } from '../own-name.ts';
import { tableLines } from '../table.ts';
import { workerColumns, workerNotes } from '../views/worker-view.ts';

export const tasksWorkers = defineCommand({
  path: 'tasks workers',
  summary: 'List the workers and what they do',
  settings: connectionSettings,
  examples: [
    ['tasks workers', 'state, slots, spool, handlers'],
    ['tasks workers --json', 'as the control plane tells it'],
  ],
  async run(call) {
    const { io, json, style } = call;
    await using connected = await connect(call, READERS);
    const answer = await connected.client.workers();
    if (json) await io.out.line(JSON.stringify(answer));
    else if (answer.workers.length === 0)
      await io.err.line(
        asTyped(
          'No worker has come here yet. Start one: interlock worker --handlers ./handlers',
          io,
        ),
      );
    else {
      const wallMs = io.clock.wall();
      const lines = tableLines(answer.workers, workerColumns(style, wallMs), style, io.columns);
      const notes = answer.workers.flatMap((worker) => workerNotes(worker, style, wallMs));
      await io.out.write(`${[...lines, ...(notes.length > 0 ? ['', ...notes] : [])].join('\n')}\n`);
    }
    return 'ok';
  },
});
