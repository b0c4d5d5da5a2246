import { resolve } from 'node:path';
import { type KeyKind, type KeyView, keyKinds, type NewKeyRequest } from '../../contract/index.ts';
import { defineCommand } from '../command.ts';
import { ADMINS, connect, connectionSettings } from '../connect.ts';
import { dataOption, inData, keyRequest, limitWords, usedFolder } from '../key-words.ts';
import { KEY_VARIABLES } from '../keys.ts';
import { notShown } from '../show-once.ts';
import type { Style } from '../style.ts';
import { didYouMean } from '../suggest.ts';
import { factLines } from '../table.ts';
import { usageError } from '../usage.ts';

export const keysNew = defineCommand({
  path: 'keys new',
  summary: 'Make a key',
  description:
    'Make a key. It is shown once; the control plane keeps only its hash. Needs an admin key, or --data on the machine of the control plane, which may be running. Keys of another project are made with --data.',
  positionals: [{ name: 'name', help: 'What it is for, in your words' }],
  options: {
    kind: {
      form: 'text',
      argument: 'kind',
      help: 'task-producer submits, task-worker works, task-operator decides, admin makes keys; also metrics, inference, sdk',
    },
    expires: {
      form: 'text',
      argument: 'when',
      help: 'When it ends: a duration (90d) or an instant (2027-01-31) [never]',
    },
    rate: {
      form: 'text',
      argument: 'calls',
      help: 'Calls it may make: 600/min, 10/s; reports and presence do not count [unlimited]',
    },
    pool: {
      form: 'list',
      argument: 'name',
      help: 'Pool that it is for; may be given several times [all]',
    },
    type: {
      form: 'list',
      argument: 'type',
      help: 'Type that it is for, with or without @version; may be given several times [all]',
    },
    'worker-prefix': {
      form: 'text',
      argument: 'text',
      help: 'How ids of workers begin that it is for [any]',
    },
    data: dataOption,
    'create-data': {
      form: 'switch',
      help: 'Make the folder of --data where no control plane has used it yet',
    },
  },
  settings: [...connectionSettings, 'project'],
  examples: [
    [
      'keys new "garage worker" --kind task-worker',
      'with the admin key of the profile or INTERLOCK_ADMIN_KEY',
    ],
    [
      'keys new "garage worker" --kind task-worker --expires 90d --pool garage --worker-prefix garage-',
      'for 90 days, one pool, and workers named garage-…',
    ],
    [
      'keys new "admin" --kind admin --data /var/lib/interlock --create-data',
      'before a first start that other machines can reach',
    ],
    [
      'keys new "shop" --kind admin --project shop --data ./data',
      'the first key of another project, on the machine itself',
    ],
  ],
  async run(call) {
    const { args, io, json, style, settings } = call;
    const kind = keyKinds.find((known) => known === args.kind);
    if (kind === undefined) {
      const given =
        args.kind === undefined
          ? ''
          : `, not "${args.kind}".${didYouMean(args.kind, keyKinds)} It is`;
      throw usageError(`keys new needs --kind${given} one of ${keyKinds.join(', ')}.`, 'keys new');
    }
    const request = keyRequest(args.name, kind, args, io.clock.wall());
    if (args['create-data'] && args.data === undefined)
      throw usageError('--create-data is of no use without --data.', 'keys new');
    const blind = notShown('No key was made', io.out, 'Let stdout lead to where the key is kept.');
    if (blind) throw blind;
    const made =
      args.data === undefined
        ? await remote(call, request, settings)
        : await local(
            args['create-data']
              ? resolve(io.cwd, args.data)
              : usedFolder(resolve(io.cwd, args.data)),
            { ...request, project: settings.project },
            io,
          );
    if (json) await io.out.line(JSON.stringify(made));
    else await io.out.write(`${factLines(factsOf(made, style), style).join('\n')}\n`);
    const failed = notShown(
      `The key ${made.id} ("${made.name}") was made, but nobody has seen it`,
      io.out,
      'It is of no use to anybody, for only its hash is kept. Make another, with a stdout that takes it.',
    );
    if (failed) throw failed;
    if (!json) await io.err.line(style.faint(`\nIt is shown this once. ${useOf(kind)}`));
    return 'ok';
  },
});

interface Made extends Pick<KeyView, 'id' | 'name' | 'kind' | 'project' | 'createdAt'> {
  readonly expiresAt?: string | undefined;
  readonly limits?: unknown;
  readonly key: string;
}

async function remote(
  call: Parameters<typeof connect>[0],
  request: NewKeyRequest,
  settings: { project: string; from: Readonly<Record<'project', string>> },
): Promise<Made> {
  await using connected = await connect(call, ADMINS);
  const { client } = connected;
  if (settings.from.project !== 'default') {
    // Before a key is made, not after: an admin key makes keys of its own project only.
    const { project } = await client.doctor();
    if (project !== settings.project) {
      throw usageError(
        `The admin key belongs to project "${project}", so it makes no keys of "${settings.project}".`,
        'keys new',
        `Use an admin key of "${settings.project}", or make it on the control plane's machine with --data.`,
      );
    }
  }
  const { id, name, kind, project, key, createdAt, expiresAt, limits } =
    await client.newKey(request);
  return { id, name, kind, project, key, createdAt, expiresAt, limits };
}

/** In the database itself, on the control plane's machine. */
export async function local(
  folder: string,
  request: NewKeyRequest & { readonly project: string },
  io: Pick<Parameters<typeof connect>[0]['io'], 'clock' | 'random' | 'err'>,
): Promise<Made> {
  const { makeKey } = await import('../../control-plane/keys.ts');
  const { expiresAt: wished, ...wish } = request;
  const expiresAtMs = wished === undefined ? undefined : Date.parse(wished);
  return inData(folder, io, async (store) => {
    const { row, key } = await makeKey({ store, random: io.random }, { ...wish, expiresAtMs });
    const at = (ms: number) => new Date(ms).toISOString();
    const { id, name, kind, project, createdAtMs, limits } = row;
    const expiresAt = row.expiresAtMs === undefined ? undefined : at(row.expiresAtMs);
    return { id, name, kind, project, key, createdAt: at(createdAtMs), expiresAt, limits };
  });
}

function factsOf(made: Made, style: Style) {
  return [
    ['key', style.strong(made.key)],
    ['kind', made.kind],
    ['name', made.name],
    ['project', made.project],
    ['id', made.id],
    ['expires', made.expiresAt],
    ['limits', limitWords(made.limits) || undefined],
  ] as const;
}

function useOf(kind: KeyKind): string {
  const variable = KEY_VARIABLES.find(([known]) => known === kind)?.[1];
  return variable
    ? `Put it into ${variable}, or into a file (0600) and give --key-file.`
    : 'Keep it safe.';
}
