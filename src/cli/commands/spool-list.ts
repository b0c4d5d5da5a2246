import { defineCommand } from '../command.ts';
import { asTyped } from '../own-name.ts';
import { entriesOf, spoolPorts, spoolSettings, statesGiven } from '../spool-entries.ts';
import { tableLines } from '../table.ts';
import { countWords, ENTRY_JSON, entryColumns, entryJson, onePlace } from '../views/spool-view.ts';
import { ownerWords, stepsFor } from '../views/spool-words.ts';

export const spoolList = defineCommand({
  path: 'spool list',
  summary: 'List what lies in the spool of a worker',
  description: [
    'List what lies in the spool of a worker on this machine, also while it runs:',
    '  owed        a report that the control plane has not answered yet',
    '  running     an attempt that the worker holds, or held when it was killed',
    '  stale       a report that came too late: the task was decided without it',
    '  refused     a report that the control plane will not take',
    '  corrupt     a line that could not be read',
    'With --json: {folder, owner, entries}; owner has workerId, pid, hostName, since, state (alive, gone, closed or unknown) and visit (a command that has it for a moment), and each entry:',
    ENTRY_JSON,
  ].join('\n'),
  options: {
    state: {
      form: 'list',
      argument: 'state',
      help: 'Only what is in this state; may be given several times',
    },
  },
  settings: spoolSettings,
  examples: [
    ['spool list', 'of the worker that is named as this host'],
    ['spool list --spool ./spool --state refused', 'what waits for a person'],
    ['spool list --json', 'for a program'],
  ],
  async run(call) {
    const { args, io, json, style } = call;
    const fits = statesGiven(args.state, 'spool list');
    const { folder, owner, entries: all } = await entriesOf(await spoolPorts(call), 'look');
    const entries = all.filter(fits);
    const wallMs = io.clock.wall();
    if (json) {
      await io.out.write(
        `{"folder":${JSON.stringify(folder)},"owner":${JSON.stringify(owner ?? null)},"entries":[`,
      );
      for (const [i, entry] of entries.entries()) {
        if (io.out.closed) return 'ok';
        await io.out.write(`${i > 0 ? ',\n' : '\n'}${JSON.stringify(entryJson(entry, wallMs))}`);
      }
      await io.out.write(']}\n');
      return 'ok';
    }
    if (entries.length > 0) {
      const columns = entryColumns(entries, style, wallMs);
      await io.out.write(`${tableLines(entries, columns, style, io.columns).join('\n')}\n`);
    }
    const place = onePlace(entries);
    const what = entries.length === 0 ? 'Nothing' : countWords(entries);
    const state =
      args.state.length > 0 && entries.length === 0 ? ` that is ${args.state.join(' or ')}` : '';
    await io.err.line(
      style.faint(
        `${what}${state} in ${folder}${place ? `, for ${place}` : ''}; ${ownerWords(owner)}`,
      ),
    );
    for (const step of stepsFor(entries, owner, folder, all))
      await io.err.line(style.faint(asTyped(step, io)));
    return 'ok';
  },
});
