import { TaskError } from '../../contract/index.ts';
import { defineCommand } from '../command.ts';
import { connect, connectionSettings, OPERATORS } from '../connect.ts';
import { integerArgument } from '../json-input.ts';
import { asTyped } from '../own-name.ts';
import { usageError } from '../usage.ts';

export const tasksRetry = defineCommand({
  path: 'tasks retry',
  summary: 'Run a failed, expired or cancelled task again',
  description:
    'Run a failed, expired or cancelled task again. Where its effect may have taken place already, --accept-repeated-effect says that a second one is fine.',
  positionals: [{ name: 'task-id', help: 'Id of the task: tsk_…' }],
  options: {
    reason: { form: 'text', argument: 'text', help: 'Why (required); it is kept in the journal' },
    attempts: { form: 'text', argument: 'count', help: 'How many more attempts are granted [1]' },
    'accept-repeated-effect': { form: 'switch', help: 'The effect may take place a second time' },
  },
  settings: connectionSettings,
  examples: [
    ['tasks retry tsk_01k… --reason "printer is back"', 'once more'],
    ['tasks retry tsk_01k… --attempts 3 --reason "fixed in 1.2"', 'up to three times'],
  ],
  async run(call) {
    const { args, io, json, style } = call;
    if (!args.reason)
      throw usageError(
        'tasks retry needs --reason: whoever reads the journal wants to know why.',
        'tasks retry',
      );
    await using connected = await connect(call, OPERATORS);
    const { seq } = await connected.client.getTask(args['task-id']);
    const task = await connected.client
      .retry(args['task-id'], {
        actionId: connected.actionId(),
        ifSeq: seq,
        attempts: integerArgument(args.attempts, '--attempts', 1, 1_000, 'tasks retry') ?? 1,
        ...(args['accept-repeated-effect'] && { acceptRepeatedEffect: true }),
        reason: args.reason,
      })
      .catch(asFlags);
    if (json) await io.out.line(JSON.stringify(task));
    else {
      await io.out.line(`${style.state(task.status)} ${task.id} will run again`);
      await io.err.line(style.faint(asTyped(`follow it: interlock tasks watch ${task.id}`, io)));
    }
    return 'ok';
  },
});

/** The control plane names the field that was missing; the next step has it as a flag already. */
function asFlags(error: unknown): never {
  if (!(error instanceof TaskError)) throw error;
  const { code, message, hint, details, retryable } = error;
  throw new TaskError(code, message.replace(' (acceptRepeatedEffect)', ''), {
    hint,
    details,
    retryable,
    cause: error,
  });
}
