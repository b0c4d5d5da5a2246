import { defineCommand } from '../command.ts';
import { connect, connectionSettings, OPERATORS } from '../connect.ts';
import { asTyped } from '../own-name.ts';

export const tasksDrain = defineCommand({
  path: 'tasks drain',
  summary: 'Ask a worker to finish what it has, and end',
  description:
    'Ask a worker to claim nothing more, finish what it has, and end. Concerns the process that has the worker id now; the next one under this id claims as ever.',
  positionals: [{ name: 'worker-id', help: 'Id of the worker, as tasks workers shows it' }],
  settings: connectionSettings,
  examples: [['tasks drain garage', 'before its machine is restarted']],
  async run(call) {
    const { args, io, json, style } = call;
    const workerId = args['worker-id'];
    await using connected = await connect(call, OPERATORS);
    await connected.client.drainWorker(workerId);
    if (json) await io.out.line(JSON.stringify({ workerId, drainRequested: true }));
    else {
      await io.out.line(`${workerId} was asked to drain`);
      await io.err.line(
        style.faint(asTyped('see what it still does: interlock tasks workers', io)),
      );
    }
    return 'ok';
  },
});
