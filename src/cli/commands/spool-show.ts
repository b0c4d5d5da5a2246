import { TaskError } from '../../contract/index.ts';
import { openEntry } from '../../spool/index.ts';
import { defineCommand } from '../command.ts';
import { asTyped } from '../own-name.ts';
import { entriesMeant, entriesOf, entryId, spoolPorts, spoolSettings } from '../spool-entries.ts';
import { recordJson, recordLines, type Shown } from '../views/spool-record-view.ts';
import { stepsFor } from '../views/spool-words.ts';

export const spoolShow = defineCommand({
  path: 'spool show',
  summary: 'Show a record of the spool, with the answer it got',
  description: [
    'Show what a record of the spool says, and the answer it got. Its lease token is masked, always; what could not be read is shown with the reason, its bytes escaped.',
    'With --json: {folder, entries}, each entry as in spool list, and of a report: report (what it says; a result of more than 2000 characters as resultStart and resultChars unless --full), workedAt and fullAnswer; of an attempt: effectSafety, effectGate; of what cannot be read: content, contentChars.',
  ].join('\n'),
  positionals: [
    {
      name: 'id',
      help: 'Task or attempt (tsk_…, att_…), file in the spool, or the beginning of one',
    },
  ],
  options: { full: { form: 'switch', help: 'Whole values, not only their beginning' } },
  settings: spoolSettings,
  examples: [
    ['spool show tsk_01k…', 'all that the spool holds of a task'],
    ['spool show tsk_01k… --full --json', 'with the result as it was to be sent'],
    ['spool show reports-000000000042-1f3a9c04-2.jsonl', 'a corrupt line'],
  ],
  async run(call) {
    const { args, io, json, style } = call;
    const ports = await spoolPorts(call);
    const { folder, owner, entries } = await entriesOf(ports, 'look');
    const meant = entriesMeant(entries, args.id, folder, 'spool show');
    const shown: Shown[] = [];
    for (const entry of meant) {
      const opened = await openEntry(ports.disk, folder, entry);
      if (opened) shown.push({ entry, opened });
    }
    const [first] = meant;
    if (shown.length === 0 && first)
      throw new TaskError('NOT_FOUND', `${entryId(first)} has just been answered or removed.`);
    const wallMs = io.clock.wall();
    if (json) {
      const records = shown.map((one) => recordJson(one, wallMs, args.full));
      await io.out.line(JSON.stringify({ folder, entries: records }));
      return 'ok';
    }
    const parts = shown.map((one) => recordLines(one, style, wallMs, args.full).join('\n'));
    await io.out.write(`${parts.join('\n\n\n')}\n`);
    const steps = stepsFor(meant, owner, folder, entries);
    if (steps.length > 0) await io.err.line();
    for (const step of steps) await io.err.line(style.faint(asTyped(step, io)));
    return 'ok';
  },
});
