import { defineCommand } from '../command.ts';
import { connect, connectionSettings, OPERATORS } from '../connect.ts';
import { jsonArgument } from '../json-input.ts';
import { shellWord } from '../own-name.ts';
import { usageError } from '../usage.ts';

const RESOLUTIONS = ['succeeded', 'failed', 'retry', 'late-report'] as const;

export const tasksResolve = defineCommand({
  path: 'tasks resolve',
  summary: 'Decide a task whose outcome is not known',
  description: [
    'Decide a task that ended as outcome-unknown, after a look at the outside world:',
    '  succeeded    the effect took place; with --result, that is recorded',
    '  failed       it did not, and shall not',
    '  retry        it did not: run the task again',
    '  late-report  take the outcome that its worker reported too late',
  ].join('\n'),
  positionals: [{ name: 'task-id', help: 'Id of the task: tsk_…' }],
  options: {
    as: { form: 'text', argument: 'resolution', help: `Required: ${RESOLUTIONS.join(', ')}` },
    result: {
      form: 'text',
      argument: 'json',
      help: 'With --as succeeded: the result, as JSON, @file or -',
    },
    reason: {
      form: 'text',
      argument: 'text',
      help: 'What you found (required); it is kept in the journal',
    },
  },
  settings: connectionSettings,
  examples: [
    [
      `tasks resolve tsk_01k… --as succeeded --result '{"paid":true}' --reason "seen at the bank"`,
      '',
    ],
    ['tasks resolve tsk_01k… --as late-report --reason "worker was cut off"', ''],
  ],
  async run(call) {
    const { args, io, json, style } = call;
    const resolution = RESOLUTIONS.find((word) => word === args.as);
    if (resolution === undefined)
      throw usageError(
        `tasks resolve needs --as ${RESOLUTIONS.join(' | ')}${args.as ? `, not "${args.as}"` : ''}.`,
        'tasks resolve',
      );
    // The value itself is not repeated: it may hold anything.
    const withResult = args.result === undefined ? '' : ' --result …';
    if (!args.reason)
      throw usageError(
        'tasks resolve needs --reason: whoever reads the journal wants to know why.',
        'tasks resolve',
        `Run interlock tasks resolve ${shellWord(args['task-id'])} --as ${resolution}${withResult} --reason "…"`,
      );
    if (args.result !== undefined && resolution !== 'succeeded')
      throw usageError('--result goes with --as succeeded only.', 'tasks resolve');
    const result =
      args.result === undefined ? undefined : await jsonArgument(args.result, '--result', io);
    await using connected = await connect(call, OPERATORS);
    const { seq } = await connected.client.getTask(args['task-id']);
    const task = await connected.client.resolve(args['task-id'], {
      actionId: connected.actionId(),
      ifSeq: seq,
      resolution,
      ...(result !== undefined && { result }),
      reason: args.reason,
    });
    if (json) await io.out.line(JSON.stringify(task));
    else await io.out.line(`${style.state(task.status)} ${task.id} is resolved as ${resolution}`);
    return 'ok';
  },
});
