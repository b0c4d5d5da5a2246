import { parseTypeKey, submitRequest, typeKey, typeNameProblem } from '../../contract/index.ts';
import { checkedRequest, policyNames } from '../checked-request.ts';
import { defineCommand } from '../command.ts';
import { connect, connectionSettings, PRODUCERS } from '../connect.ts';
import { integerArgument, jsonArgument, labelArgument, policyArgument } from '../json-input.ts';
import { plain } from '../style.ts';
import { usageError } from '../usage.ts';
import { watchToEnd } from '../watch.ts';

export const tasksSubmit = defineCommand({
  path: 'tasks submit',
  summary: 'Submit a task',
  description:
    'Submit a task. With --idempotency-key the same command can be repeated: it returns the first task and makes no second one.',
  positionals: [
    { name: 'type', help: 'Type of the task, also with its version: demo/hello, demo/hello@2' },
  ],
  options: {
    input: {
      form: 'text',
      argument: 'json',
      help: 'Input as JSON, @file, or - for stdin [{}]',
    },
    'schema-version': { form: 'text', argument: 'number', help: 'Version of the type [1]' },
    'idempotency-key': {
      form: 'text',
      argument: 'text',
      help: 'One task for all requests with this key',
    },
    'effect-key': {
      form: 'text',
      argument: 'text',
      help: 'What the handler passes on as idempotency key [the task id]',
    },
    pool: { form: 'text', argument: 'name', help: 'Pool of workers [default]' },
    priority: { form: 'text', argument: 'number', help: 'From -100 to 100, higher first [0]' },
    'not-before': {
      form: 'text',
      argument: 'instant',
      help: 'Not before, RFC 3339: 2026-12-01T08:00:00Z',
    },
    label: { form: 'list', argument: 'name=value', help: 'Label; may be given several times' },
    policy: {
      form: 'list',
      argument: 'policy',
      help: `JSON, @file, or name=value several times: maxAttempts=3, backoff.initialMs=100. Names: ${policyNames.join(', ')}`,
    },
    wait: { form: 'switch', help: 'Wait until the task has ended; the exit code tells how' },
  },
  settings: connectionSettings,
  examples: [
    [
      `tasks submit demo/hello --input '{"name":"Ada"}' --idempotency-key hello-ada`,
      'the first task',
    ],
    ['tasks submit file/digest --input @folder.json --wait', 'input from a file, wait for the end'],
    ['tasks submit demo/hello --policy maxAttempts=3 --policy leaseMs=10000', 'with a policy'],
  ],
  async run(call) {
    const { args, io, json, style } = call;
    const request = checkedRequest(submitRequest, {
      ...typeOf(args.type, args['schema-version']),
      input: args.input === undefined ? {} : await jsonArgument(args.input, '--input', io),
      idempotencyKey: args['idempotency-key'],
      effectKey: args['effect-key'],
      pool: args.pool,
      priority: integerArgument(args.priority, '--priority', -100, 100, 'tasks submit'),
      notBeforeAt: args['not-before'],
      labels: labelArgument(args.label),
      policy: await policyArgument(args.policy, io),
    });
    await using connected = await connect(call, PRODUCERS);
    const { task, replayed } = await connected.client.submit(request);
    if (!args.wait) {
      if (json) await io.out.line(JSON.stringify(task));
      else {
        const note = replayed ? ', submitted before' : waits(task.waitingFor);
        const what = `${typeKey(task.type, task.schemaVersion)} is ${task.status}${note}`;
        await io.out.line(`${style.strong(task.id)}  ${what}`);
        await io.err.line(style.faint(`follow it: interlock tasks watch ${task.id}`));
      }
      return 'ok';
    }
    if (json) return await watchToEnd(connected.client, task.id, call, { show: 'end' });
    // At once: whoever interrupts the wait keeps the id.
    const note = waits(task.waitingFor);
    await io.err.line(
      style.faint(`${task.id}  ${typeKey(task.type, task.schemaVersion)} is ${task.status}${note}`),
    );
    return await watchToEnd(connected.client, task.id, call, {
      show: 'notes',
      told: task.waitingFor,
    });
  },
});

function waits(why: string | undefined): string {
  return why ? `: ${plain(why)}` : '';
}

/** `demo/hello@2`, or the type and `--schema-version`; both only where they agree. */
function typeOf(text: string, version: string | undefined) {
  const given = integerArgument(version, '--schema-version', 1, 999_999_999, 'tasks submit');
  const both = parseTypeKey(text);
  if (both && given !== undefined && given !== both.schemaVersion)
    throw usageError(`${text} and --schema-version ${given} name two versions.`, 'tasks submit');
  if (both) return both;
  // With a version or without: it is the type before it that is no type.
  const [, type = text] = /^(.+)@\d+$/.exec(text) ?? [];
  const why = typeNameProblem(type);
  if (why)
    throw usageError(
      `"${type}" is no type of tasks: it ${why}.`,
      'tasks submit',
      'Write it as demo/hello, or demo/hello@1.',
    );
  return { type: text, schemaVersion: given ?? 1 };
}
