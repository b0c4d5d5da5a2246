import { policyNames } from '../../client/issue-words.ts';
import { Outbox, type StoredTask, type Submitted } from '../../client/outbox/outbox.ts';
import { refuseSecondUse } from '../../client/outbox/same-key.ts';
import { needsSomebody } from '../../client/outbox/verdict.ts';
import type { ServiceClient } from '../../client/service-client.ts';
import {
  parseTypeKey,
  type SubmitRequest,
  submitRequest,
  typeKey,
  typeNameProblem,
} from '../../contract/index.ts';
import { checkedRequest } from '../checked-request.ts';
import type { Call } from '../command.ts';
import { defineCommand } from '../command.ts';
import { connect, PRODUCERS } from '../connect.ts';
import type { ExitName } from '../exit-codes.ts';
import { integerArgument, jsonArgument, labelArgument, policyArgument } from '../json-input.ts';
import {
  flushCommand,
  namedProject,
  outboxFolder,
  outboxPorts,
  outboxSettings,
} from '../outbox-parts.ts';
import { asTyped } from '../own-name.ts';
import { plain } from '../style.ts';
import { usageError } from '../usage.ts';
import { watchToEnd } from '../watch.ts';

export const tasksSubmit = defineCommand({
  path: 'tasks submit',
  summary: 'Submit a task',
  description: [
    'Submit a task. With --idempotency-key the same command can be repeated: it returns the first task and makes no second one.',
    'With --store-and-forward it is on disk before it is sent, and stays there until a control plane has answered: if none does now, the command ends with 0 and the task is submitted later, once, by the next tasks submit --store-and-forward to the same address or by tasks outbox flush. Where the key is refused it ends with 14: it stays stored until somebody has mended the key. With --json it then tells {stored: true, idempotencyKey, type, schemaVersion, storedAt, outbox, why}.',
  ].join('\n'),
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
    'store-and-forward': {
      form: 'switch',
      help: 'Keep it on disk (--outbox) and submit it later where nobody answers',
    },
    wait: { form: 'switch', help: 'Wait until the task has ended; the exit code tells how' },
  },
  settings: outboxSettings,
  examples: [
    [
      `tasks submit demo/hello --input '{"name":"Ada"}' --idempotency-key hello-ada`,
      'the first task',
    ],
    ['tasks submit file/digest --input @folder.json --wait', 'input from a file, wait for the end'],
    [
      `tasks submit demo/hello --input '{"name":"Ada"}' --store-and-forward`,
      'also while the control plane is away',
    ],
    ['tasks submit demo/hello --policy maxAttempts=3 --policy leaseMs=10000', 'with a policy'],
  ],
  async run(call) {
    const { args, io, json, style, settings } = call;
    const keep = args['store-and-forward'];
    if (settings.from.outbox === '--outbox' && !keep)
      throw usageError('--outbox needs --store-and-forward.', 'tasks submit');
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
    await using connected = await connect(
      call,
      PRODUCERS,
      keep ? namedProject(settings) : undefined,
    );
    const made = keep
      ? await throughOutbox(request, connected.client, call)
      : await connected.client.submit(request);
    if ('stored' in made) return await tellStored(made, call, args.wait);
    const { task, replayed } = made;
    if (!args.wait) {
      if (json) await io.out.line(JSON.stringify(task));
      else {
        const note = replayed ? ', submitted before' : waits(task.waitingFor);
        const what = `${typeKey(task.type, task.schemaVersion)} is ${task.status}${note}`;
        await io.out.line(`${style.strong(task.id)}  ${what}`);
        await io.err.line(style.faint(asTyped(`follow it: interlock tasks watch ${task.id}`, io)));
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

type OutboxCall = Pick<Call, 'io' | 'json' | 'style'> & {
  readonly settings: Parameters<typeof namedProject>[0] & {
    readonly url: string;
    readonly from: { readonly url: string; readonly outbox: string };
  };
};

/** What waits there from before goes first. */
async function throughOutbox(
  request: SubmitRequest,
  client: ServiceClient,
  { io, settings, style }: OutboxCall,
): Promise<Submitted | StoredTask> {
  let earlier = 0;
  const folder = outboxFolder(settings, io);
  const project = namedProject(settings);
  const ports = outboxPorts(io);
  await refuseSecondUse(ports.disk, folder, request, { serviceUrl: client.shown, project });
  const outbox = new Outbox(ports, client, {
    folder,
    project,
    onSubmitted: () => earlier++,
  });
  try {
    return await outbox.submit(request);
  } finally {
    await outbox.stop();
    const what = earlier === 1 ? 'one that was stored before was' : `${earlier} stored before were`;
    if (earlier > 0) await io.err.line(style.faint(`note   ${what} submitted too`));
  }
}

async function tellStored(
  { why, ...stored }: StoredTask,
  { io, json, style, settings }: OutboxCall,
  wanted: boolean,
): Promise<ExitName> {
  const outbox = outboxFolder(settings, io);
  const stuck = needsSomebody(why.code);
  if (json) {
    const { code, message } = why;
    await io.out.line(JSON.stringify({ ...stored, outbox, why: { code, message } }));
  } else {
    const what = typeKey(stored.type, stored.schemaVersion);
    await io.out.line(
      `${style.strong('stored')}  ${what} waits in ${outbox} as ${plain(stored.idempotencyKey)}`,
    );
    await io.err.line(`${style.warn('why')}     ${plain(why.message)}`);
    const flush = flushCommand({
      url: settings.from.url === '--url' ? settings.url : undefined,
      outbox: settings.from.outbox === '--outbox' ? outbox : undefined,
    });
    const next = stuck
      ? `${why.hint ?? 'Mend the key.'} Nothing stored here is submitted before that; then: ${flush}`
      : `it goes out by itself with the next tasks submit --store-and-forward to this address; to send it alone: ${flush}`;
    await io.err.line(`next    ${plain(asTyped(next, io))}`);
  }
  // Whoever waits for its end has not got it; and a key does not mend itself, however often the command is run.
  return wanted || stuck ? 'outbox-left' : 'ok';
}

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
  const at = text.lastIndexOf('@');
  if (at > 0 && typeNameProblem(text.slice(0, at)) === undefined)
    throw usageError(
      `"${text}": its version "${text.slice(at + 1)}" is no whole number from 1.`,
      'tasks submit',
      `Write it as ${text.slice(0, at)}, or ${text.slice(0, at)}@1.`,
    );
  const why = typeNameProblem(type);
  if (why)
    throw usageError(
      `"${type}" is no type of tasks: it ${why}.`,
      'tasks submit',
      'Write it as demo/hello, or demo/hello@1.',
    );
  return { type: text, schemaVersion: given ?? 1 };
}
