import { defineCommand } from '../command.ts';
import { workerSettings } from '../worker-settings.ts';

export const workerCommand = defineCommand({
  path: 'worker',
  summary: 'Run a worker: it claims tasks and runs handlers (the same as interlock-worker)',
  description:
    'Run a worker: it claims tasks and runs handlers. The first SIGTERM or Ctrl-C drains, a second one stops the handlers, a third leaves at once. It is also the program interlock-worker, which takes every other command too: status, service, update, config, spool, tasks and so on (interlock --help lists them).',
  options: {
    check: {
      form: 'switch',
      help: 'Only load the handlers, tell what is wrong with them, and end',
    },
  },
  settings: workerSettings,
  examples: [
    [
      'worker --handlers ./handlers --max-concurrent 4',
      'with the key in INTERLOCK_WORKER_KEY or the profile',
    ],
    [
      'worker --url https://tasks.example.com --key-file /etc/interlock/key --worker-id garage --pool gpu',
      'somewhere else',
    ],
    ['worker --check --handlers ./handlers', 'do all handlers load?'],
  ],
  async run(call) {
    if (call.args.check) return (await import('../check-handlers.ts')).checkHandlersOnly(call);
    return (await import('../worker-agent.ts')).runWorker(call);
  },
});
