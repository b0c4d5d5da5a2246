import { defineCommand } from '../command.ts';
import { workerSettings } from '../worker-settings.ts';

export const workerServiceInstall = defineCommand({
  path: 'worker service install',
  summary: 'Install the worker as a service that starts with the machine',
  description:
    'Writes a unit of systemd (on macOS a property list for launchd, on Windows a task), enables it, starts it and waits until the worker is ready. The settings are those of the worker: flags, environment, profile; what stands in the config file stays there. The same again changes nothing; other settings are shown and the service is restarted. See docs/service.md.',
  options: {
    name: {
      form: 'text',
      argument: 'name',
      help: 'Of several workers on this machine: interlock-worker-<name>',
    },
    user: { form: 'switch', help: 'A service of this user rather than of the machine' },
    'run-as': { form: 'text', argument: 'user', help: 'User that it runs as [one of its own]' },
    group: {
      form: 'list',
      argument: 'group',
      help: 'Further group of that user; may be given several times',
    },
    gpu: { form: 'switch', help: 'Handlers reach devices: graphics cards, serial ports' },
    'environment-file': {
      form: 'text',
      argument: 'file',
      help: 'Variables for worker and handlers, NAME=value a line (systemd)',
    },
    'copy-key': {
      form: 'switch',
      help: 'Copy the key to a file of the service, for its owner alone',
    },
    'no-start': { form: 'switch', help: 'Start it with the machine only, not now' },
    kind: {
      form: 'text',
      argument: 'kind',
      help: 'systemd, launchd or windows [that of this machine]; another one with --dry-run only',
    },
    'dry-run': { form: 'switch', help: 'Print what would be written and run, and do nothing' },
  },
  settings: workerSettings,
  examples: [
    [
      'worker service install --url https://tasks.example.com --key-file /etc/interlock/key --handlers /srv/handlers',
      'as root',
    ],
    [
      'worker service install --config /etc/interlock/worker.toml --name gpu --gpu',
      'a second one, with graphics cards',
    ],
    ['worker service install --user --key-file ~/.config/interlock/key', 'of this user'],
    ['worker service install --dry-run --kind launchd', 'what a Mac would get'],
  ],
  run: async (call) => (await import('../service/commands.ts')).install(call),
});
