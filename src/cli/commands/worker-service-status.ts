import { defineCommand } from '../command.ts';

export const workerServiceStatus = defineCommand({
  path: 'worker service status',
  summary: 'Tell whether the service runs, what its worker says, and what it owes',
  description:
    'What the service manager knows, what the worker last told it, and what lies in its spool. Ends with 0 while it runs, with 89 while it does not, with 66 where there is none.',
  options: {
    name: {
      form: 'text',
      argument: 'name',
      help: 'Of several workers on this machine: interlock-worker-<name>',
    },
    user: { form: 'switch', help: 'A service of this user rather than of the machine' },
  },
  examples: [
    ['worker service status', 'for people'],
    ['worker service status --name gpu --json', 'for a program'],
  ],
  run: async (call) => (await import('../service/commands.ts')).status(call),
});
