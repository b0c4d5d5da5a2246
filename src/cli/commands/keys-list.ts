import { resolve } from 'node:path';
import { bounds, type KeyView } from '../../contract/index.ts';
import { defineCommand } from '../command.ts';
import { ADMINS, connect, connectionSettings } from '../connect.ts';
import { dataOption, inData, usedFolder } from '../key-words.ts';
import { tableLines } from '../table.ts';
import { keyColumns } from '../views/key-view.ts';
import { zoneWords } from '../views/time-words.ts';

export const keysList = defineCommand({
  path: 'keys list',
  summary: 'List the keys of the project',
  description:
    'List the keys of the project, newest first: what they are for, whether they are used, when they end. Keys themselves are kept nowhere and shown to nobody. Needs an admin key, or --data on the machine of the control plane, which may be running (a use of the last minute may not be told then).',
  options: { data: dataOption },
  settings: [...connectionSettings, 'project'],
  examples: [
    ['keys list', 'with the admin key of the profile or INTERLOCK_ADMIN_KEY'],
    ['keys list --data ./data --project shop', 'another project, on the machine itself'],
    ['keys list --json', 'for programs'],
  ],
  async run(call) {
    const { args, io, json, style, settings } = call;
    const keys: KeyView[] = [];
    const gather = async (ask: (cursor: string | undefined) => Promise<readonly KeyView[]>) => {
      for (let cursor: string | undefined; ; ) {
        const page = await ask(cursor);
        keys.push(...page);
        cursor = page.at(-1)?.id;
        if (page.length < bounds.pageMax) return;
      }
    };
    const limit = bounds.pageMax;
    if (args.data === undefined) {
      await using connected = await connect(call, ADMINS);
      await gather(async (cursor) => {
        const page = await connected.client.keys({
          limit,
          ...(cursor !== undefined && { cursor }),
        });
        return page.keys;
      });
    } else {
      const { keyView } = await import('../../control-plane/key-view.ts');
      await inData(usedFolder(resolve(io.cwd, args.data)), io, async (store) => {
        const nowMs = await store.nowMs();
        const { project } = settings;
        await gather(async (belowId) => {
          const rows = await store.keys({ project, belowId, limit });
          return rows.map((row) => keyView(nowMs, row));
        });
      });
    }
    if (json) await io.out.line(JSON.stringify({ keys }));
    else if (keys.length === 0) await io.err.line(`Project ${settings.project} has no keys.`);
    else {
      const wallMs = io.clock.wall();
      const columns = keyColumns(style, wallMs);
      await io.out.write(`${tableLines(keys, columns, style, io.columns).join('\n')}\n`);
      await io.err.line(style.faint(`Times are those of this machine (${zoneWords(wallMs)}).`));
    }
    return 'ok';
  },
});
