import { TaskError } from '../../contract/index.ts';
import { defineCommand } from '../command.ts';
import { askStatus } from '../status/ask.ts';
import { findStatus } from '../status/find.ts';
import { statusLines } from '../views/status-view.ts';

export const workerStatus = defineCommand({
  path: 'worker status',
  summary: 'Show how a worker on this machine is: ready or why not, what runs, what it owes',
  description: [
    'Show how a worker on this machine is. It is asked where --status-listen says; without it, where the worker that has the',
    'spool wrote that it listens. Exits with 0 while the worker is ready, and with not-ready while it is not.',
    'With --json: what GET /status answers.',
  ].join('\n'),
  settings: ['statusListen', 'spool', 'workerId'],
  examples: [
    ['worker status', 'of the worker that is named as this host'],
    ['worker status --worker-id garage --json', 'for a program'],
    ['worker status --status-listen 127.0.0.1:7421', 'where it listens'],
  ],
  async run(call) {
    const { io, json, style } = call;
    const { where, pid } = await findStatus(call);
    const status = await askStatus(where, io.clock);
    if (pid !== undefined && status.pid !== pid)
      throw new TaskError(
        'STATUS_UNREACHABLE',
        `Worker ${status.workerId} (process ${status.pid}) answers where process ${pid} was to.`,
        { hint: 'Name the one that is meant with --worker-id or --spool.' },
      );
    if (json) await io.out.line(JSON.stringify(status));
    else await io.out.write(`${statusLines(status, style).join('\n')}\n`);
    return status.ready ? 'ok' : 'not-ready';
  },
});
