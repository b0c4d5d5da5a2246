import { defineCommand } from '../command.ts';

export const workerServiceUninstall = defineCommand({
  path: 'worker service uninstall',
  summary: 'Drain the worker, and remove its service',
  description:
    'Stops the service, which drains its worker, and removes what install has written. Its spool stays: what is owed in it is sent by the next worker that has it. With --purge it goes too, once all in it was delivered.',
  options: {
    name: {
      form: 'text',
      argument: 'name',
      help: 'Of several workers on this machine: interlock-worker-<name>',
    },
    user: { form: 'switch', help: 'A service of this user rather than of the machine' },
    purge: { form: 'switch', help: 'Remove its spool too, after asking' },
    yes: { form: 'switch', help: 'Do not ask', alias: 'y' },
    'dry-run': { form: 'switch', help: 'Print what would be removed and run, and do nothing' },
  },
  examples: [
    ['worker service uninstall', 'as root'],
    ['worker service uninstall --name gpu --purge', 'with all that it kept'],
  ],
  run: async (call) => (await import('../service/commands.ts')).uninstall(call),
});
