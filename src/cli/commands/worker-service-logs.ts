import { defineCommand } from '../command.ts';

export const workerServiceLogs = defineCommand({
  path: 'worker service logs',
  summary: 'Show the log of the service',
  options: {
    name: {
      form: 'text',
      argument: 'name',
      help: 'Of several workers on this machine: interlock-worker-<name>',
    },
    user: { form: 'switch', help: 'A service of this user rather than of the machine' },
    lines: { form: 'text', argument: 'count', help: 'How many of its last lines [50]', alias: 'n' },
    follow: { form: 'switch', help: 'Go on with what comes', alias: 'f' },
  },
  examples: [
    ['worker service logs', 'the last lines'],
    ['worker service logs -f -n 200', 'and what comes'],
  ],
  run: async (call) => (await import('../service/commands.ts')).logs(call),
});
