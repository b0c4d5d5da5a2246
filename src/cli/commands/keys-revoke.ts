import { resolve } from 'node:path';
import { bounds, type KeyView, TaskError } from '../../contract/index.ts';
import { defineCommand } from '../command.ts';
import { ADMINS, connect, connectionSettings } from '../connect.ts';
import { dataOption, inData, usedFolder } from '../key-words.ts';
import { plain } from '../style.ts';
import { usageError } from '../usage.ts';
import { moment } from '../views/time-words.ts';

export const keysRevoke = defineCommand({
  path: 'keys revoke',
  summary: 'Revoke a key, for good',
  description:
    'Revoke a key, for good: from now on every call with it is refused, and open streams are cut. Revoking is not draining: a worker without another key cannot report any more, and what it runs ends as lost. To change a key, give the worker the new one first (into its key file), then revoke the old one. Needs an admin key, or --data on the machine of the control plane, which may be running.',
  positionals: [{ name: 'key', help: 'Id of the key (key_…), or its name where only one has it' }],
  options: { data: dataOption },
  settings: [...connectionSettings, 'project'],
  examples: [
    ['keys revoke key_01k…', 'as keys list shows it'],
    ['keys revoke "garage worker"', 'by its name'],
    ['keys revoke key_01k… --data ./data', 'on the machine itself, also the last admin key'],
  ],
  async run(call) {
    const { args, io, json, style, settings } = call;
    const { project } = settings;
    let key: KeyView;
    if (args.data === undefined) {
      await using connected = await connect(call, ADMINS);
      const { client } = connected;
      const id = await idOf(args.key, async (cursor) => {
        const page = await client.keys({ limit: bounds.pageMax, ...(cursor && { cursor }) });
        return page.keys;
      });
      key = await client.revokeKey(id).catch((error: unknown) => {
        throw lastAdmin(error, id);
      });
    } else {
      key = await inData(usedFolder(resolve(io.cwd, args.data)), io, async (store) => {
        const [{ revokeKey }, { keyView }] = await Promise.all([
          import('../../control-plane/keys.ts'),
          import('../../control-plane/key-view.ts'),
        ]);
        const nowMs = await store.nowMs();
        const id = await idOf(args.key, async (belowId) => {
          const rows = await store.keys({ project, belowId, limit: bounds.pageMax });
          return rows.map((row) => keyView(nowMs, row));
        });
        // Whoever stands at the machine can make another one there.
        const revoked = await revokeKey(store, id, { lastAdmin: true });
        if ('why' in revoked) throw noKey(id);
        return keyView(revoked.nowMs, revoked.row);
      });
    }
    if (json) await io.out.line(JSON.stringify(key));
    else {
      const at = key.revokedAt === undefined ? '' : moment(key.revokedAt, io.clock.wall());
      await io.out.line(`revoked  ${key.id} ("${plain(key.name)}", ${key.kind})  ${at}`);
      await io.err.line(style.faint(meaning(key)));
    }
    return 'ok';
  },
});

const ID = /^key_[A-Za-z0-9]{10,}$/;
const NAMED_MAX = 5;

/** @param page of keys, the newest first, after the one with that id. */
async function idOf(
  given: string,
  page: (cursor: string | undefined) => Promise<readonly KeyView[]>,
): Promise<string> {
  if (ID.test(given)) return given;
  const found: KeyView[] = [];
  for (let cursor: string | undefined; ; ) {
    const keys = await page(cursor);
    found.push(...keys.filter(({ name }) => name === given));
    cursor = keys.at(-1)?.id;
    if (keys.length < bounds.pageMax) break;
  }
  // Names are used again: of a worker's two keys the revoked one is not meant.
  const living = found.filter(({ state }) => state !== 'revoked');
  const [only, ...others] = living.length > 0 ? living : found;
  if (only === undefined) throw noKey(given);
  if (others.length === 0) return only.id;
  const shown = [only, ...others].slice(0, NAMED_MAX);
  const words = shown.map(({ id, kind, createdAt }) => `${id} (${kind}, made ${createdAt})`);
  throw usageError(
    `${others.length + 1} keys are named "${plain(given)}": ${words.join(', ')}${others.length >= NAMED_MAX ? ' …' : ''}.`,
    'keys revoke',
    'Give the id of the one that is meant.',
  );
}

/** The only conflict that revoking has; what is said of conflicts at large is about tasks. */
function lastAdmin(error: unknown, id: string): unknown {
  if (!(error instanceof TaskError) || error.code !== 'CONFLICT') return error;
  const { code, message, details } = error;
  return new TaskError(code, message, {
    hint: `Make another first: interlock keys new "admin" --kind admin. Or revoke it on the control plane's machine: interlock keys revoke ${id} --data <folder>`,
    ...(details && { details }),
    cause: error,
  });
}

function noKey(given: string): TaskError {
  return new TaskError(
    'NOT_FOUND',
    `There is no key ${ID.test(given) ? given : `named "${plain(given)}"`} here.`,
    {
      hint: 'See interlock keys list; keys of another project are found with its admin key, or with --data and --project.',
    },
  );
}

function meaning({ kind }: KeyView): string {
  const first = 'Every call with it is refused from now on (401), and its streams are cut.';
  if (kind === 'task-worker')
    return `${first} A worker that finds another key in its key file goes on with that, and nothing is lost. One that finds none can report nothing: what it runs ends as lost when the leases run out. See interlock tasks workers.`;
  if (kind === 'task-producer')
    return `${first} Tasks that were submitted with it stay as they are; what lies in an outbox waits for another key.`;
  return first;
}
