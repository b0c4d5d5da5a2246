import { defineCommand } from '../command.ts';

export const devCommand = defineCommand({
  path: 'dev',
  summary: 'Start everything on this machine: control plane, worker, handlers (npm start)',
  description: [
    'Start everything on this machine: a control plane (SQLite) and a worker, each a process of its own, with the handlers of ./handlers, and a profile that lets the other commands find them. State is in .interlock/.',
    'Ctrl-C drains the worker, then ends the control plane. A second Ctrl-C stops the handlers.',
  ].join('\n\n'),
  settings: [
    'listen',
    'behindProxy',
    'pages',
    'handlers',
    'maxConcurrent',
    'pools',
    'drainTimeoutMs',
    'stopGraceMs',
    'logLevel',
  ],
  examples: [
    ['dev', 'on 127.0.0.1:7420, or the next free port'],
    ['dev --handlers ./my-handlers --max-concurrent 4', 'with your own handlers'],
  ],
  async run(call) {
    const { runDev } = await import('../dev/run-dev.ts');
    return runDev(call);
  },
});
