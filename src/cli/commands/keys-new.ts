import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type KeyKind, keyKinds, TaskError } from '../../contract/index.ts';
import { DATABASE } from '../../stores/data-check.ts';
import { defineCommand } from '../command.ts';
import { ADMINS, connect, connectionSettings } from '../connect.ts';
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
    data: {
      form: 'text',
      argument: 'folder',
      help: 'Data folder of a control plane on this machine, instead of asking it',
    },
  },
  settings: [...connectionSettings, 'project'],
  examples: [
    [
      'keys new "garage worker" --kind task-worker',
      'with the admin key of the profile or INTERLOCK_ADMIN_KEY',
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
    const request = { name: args.name, kind };
    const blind = notShown('No key was made', io.out, 'Let stdout lead to where the key is kept.');
    if (blind) throw blind;
    const made =
      args.data === undefined
        ? await remote(call, request, settings)
        : await local(
            usedFolder(resolve(io.cwd, args.data)),
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

interface Made {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly project: string;
  readonly key: string;
  readonly createdAt: string;
}

async function remote(
  call: Parameters<typeof connect>[0],
  request: { name: string; kind: KeyKind },
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
  const { id, name, kind, project, key, createdAt } = await client.newKey(request);
  return { id, name, kind, project, key, createdAt };
}

/** A mistyped folder would be made, and the key be of no use anywhere. */
function usedFolder(folder: string): string {
  if (existsSync(join(folder, DATABASE))) return folder;
  throw new TaskError('NOT_FOUND', `No control plane has used the folder ${folder}.`, {
    hint: 'Name the --data of the control plane; its first start makes the folder.',
  });
}

/** In the database itself, on the control plane's machine. */
export async function local(
  folder: string,
  request: { readonly name: string; readonly kind: KeyKind; readonly project: string },
  { clock, random }: Pick<Parameters<typeof connect>[0]['io'], 'clock' | 'random'>,
): Promise<Made> {
  const [{ openDataFolder }, { makeKey }] = await Promise.all([
    import('../../stores/data-folder.ts'),
    import('../../control-plane/keys.ts'),
  ]);
  const data = openDataFolder(folder, { clock, random, as: 'visitor' });
  try {
    const { row, key } = await makeKey({ store: data.store, random }, request);
    const createdAt = new Date(row.createdAtMs).toISOString();
    return { id: row.id, name: row.name, kind: row.kind, project: row.project, key, createdAt };
  } finally {
    await data.close();
  }
}

function factsOf(made: Made, style: Style) {
  return [
    ['key', style.strong(made.key)],
    ['kind', made.kind],
    ['name', made.name],
    ['project', made.project],
    ['id', made.id],
  ] as const;
}

function useOf(kind: KeyKind): string {
  const variable = KEY_VARIABLES.find(([known]) => known === kind)?.[1];
  return variable
    ? `Put it into ${variable}, or into a file (0600) and give --key-file.`
    : 'Keep it safe.';
}
