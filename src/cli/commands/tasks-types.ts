import { defineCommand } from '../command.ts';
import { connect, connectionSettings, READERS } from '../connect.ts';
import { tableLines } from '../table.ts';
import { typeColumns } from '../views/worker-view.ts';

export const tasksTypes = defineCommand({
  path: 'tasks types',
  summary: 'List the types of tasks, who serves them and what waits',
  settings: connectionSettings,
  examples: [['tasks types', 'queued and running, by type']],
  async run(call) {
    const { io, json, style } = call;
    await using connected = await connect(call, READERS);
    const answer = await connected.client.types();
    if (json) await io.out.line(JSON.stringify(answer));
    else if (answer.types.length === 0)
      await io.err.line('No type is known yet: no worker, no task.');
    else {
      const { workers } = await connected.client.workers();
      const columns = typeColumns(style, workers);
      await io.out.write(`${tableLines(answer.types, columns, style, io.columns).join('\n')}\n`);
    }
    return 'ok';
  },
});
