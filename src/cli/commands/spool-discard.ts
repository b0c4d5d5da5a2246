import { TaskError } from '../../contract/index.ts';
import { discardAsides, isAside, type SpoolEntry, spoolFlag } from '../../spool/index.ts';
import { canAsk, confirmed } from '../ask.ts';
import { defineCommand } from '../command.ts';
import { parseDuration } from '../duration.ts';
import {
  entriesMeant,
  entriesOf,
  entryId,
  spoolPorts,
  spoolSettings,
  statesGiven,
} from '../spool-entries.ts';
import { tableLines } from '../table.ts';
import { usageError } from '../usage.ts';
import { countWords, entryColumns } from '../views/spool-view.ts';

const COMMAND = 'spool discard';

export const spoolDiscard = defineCommand({
  path: COMMAND,
  summary: 'Remove what was set aside, for good',
  description: [
    'Remove what was set aside (stale, refused, corrupt), for good. What the worker still has to send or to finish is never removed. It shows what is lost and asks; --yes answers for programs. The worker may run meanwhile.',
    'With --json: {folder, discarded: [{id, taskId, state, file}], left: [{id, taskId, state, file, why}]}.',
  ].join('\n'),
  positionals: [
    { name: 'id', optional: true, help: 'Task or attempt (tsk_…, att_…), or file in the spool' },
  ],
  options: {
    all: { form: 'switch', help: 'All that was set aside' },
    'older-than': {
      form: 'text',
      argument: 'duration',
      help: 'What was set aside longer ago than this: 7d, 12h',
    },
    state: { form: 'list', argument: 'state', help: 'Only stale, refused or corrupt ones' },
    yes: { form: 'switch', alias: 'y', help: 'Do not ask' },
  },
  settings: spoolSettings,
  examples: [
    ['spool discard tsk_01k…', 'after its result was dealt with'],
    ['spool discard --older-than 7d --state stale --yes', 'from time to time'],
  ],
  async run(call) {
    const { args, io, json, style } = call;
    const olderMs = durationOf(args['older-than']);
    const ways = [args.id !== undefined, args.all, olderMs !== undefined].filter(Boolean).length;
    if (ways !== 1)
      throw usageError(
        `${COMMAND} needs ${ways === 0 ? 'an id, --all or --older-than' : 'one of an id, --all and --older-than, not several'}.`,
        COMMAND,
      );
    const fits = statesGiven(args.state, COMMAND);
    const ports = await spoolPorts(call);
    const { folder, entries } = await entriesOf(ports);
    const wallMs = io.clock.wall();
    const old = ({ at }: SpoolEntry) =>
      olderMs === undefined || (at !== undefined && wallMs - Date.parse(at) > olderMs);
    const meant =
      args.id === undefined
        ? entries.filter((entry) => isAside(entry) && old(entry) && fits(entry))
        : discardable(
            entriesMeant(entries, args.id, folder, COMMAND).filter(fits),
            args.id,
            folder,
          );
    if (meant.length > 0 && !args.yes) {
      if (json || !canAsk(io))
        throw usageError(
          `${COMMAND} needs --yes where nobody can be asked: ${lossWords(meant)}`,
          COMMAND,
          `Look at them first (interlock spool list${spoolFlag(folder)}), then give --yes.`,
        );
      await io.err.line(
        tableLines(meant, entryColumns(meant, style, wallMs), style, io.columns).join('\n'),
      );
      await io.err.line(lossWords(meant));
      if (!(await confirmed(io, `Discard ${meant.length === 1 ? 'it' : `all ${meant.length}`}?`))) {
        await io.err.line('Nothing was discarded.');
        return 'ok';
      }
    }
    const { left, error } = await discardAsides(ports, folder, meant);
    const stays = new Map(left.map(({ entry, why }) => [entry, why]));
    const gone = meant.filter((entry) => !stays.has(entry));
    if (json) {
      const name = (entry: SpoolEntry) => {
        const { taskId, state, file } = entry;
        return { id: entryId(entry), taskId, state, file };
      };
      await io.out.line(
        JSON.stringify({
          folder,
          discarded: gone.map(name),
          left: left.map(({ entry, why }) => ({ ...name(entry), why })),
        }),
      );
    } else if (meant.length === 0) await io.err.line(`Nothing in ${folder} fits.`);
    else if (gone.length > 0) await io.out.line(`discarded ${countWords(gone)}`);
    if (error) throw error;
    const stuck = left.filter((one) => !one.gone);
    const [first] = stuck;
    const missing = left.length - stuck.length;
    if (!first && missing > 0)
      throw new TaskError(
        'CONFLICT',
        `${countOf(missing, meant.length)} no longer there: put back meanwhile (interlock spool retry), or removed by somebody else.`,
        { hint: `See what lies there now: interlock spool list${spoolFlag(folder)}` },
      );
    if (first)
      throw new TaskError(
        'SPOOL_WRITE_FAILED',
        `${stuck.length === 1 ? first.entry.file : `${stuck.length} files`} of ${folder} could not be removed (${first.why}).`,
        { hint: 'Check the owner and the mode of the folder.' },
      );
    return 'ok';
  },
});

/** `2 of 7 were` */
function countOf(n: number, all: number): string {
  return n === all
    ? n === 1
      ? 'It was'
      : `All ${n} were`
    : `${n} of ${all} ${n === 1 ? 'was' : 'were'}`;
}

function durationOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const ms = parseDuration(given);
  if (ms !== undefined) return ms;
  throw usageError(
    `--older-than "${given}" is no duration: write 7d, 12h or 90m (a bare number is seconds).`,
    COMMAND,
  );
}

/** Throws where nothing of what is meant was set aside. */
function discardable(meant: readonly SpoolEntry[], id: string, folder: string): SpoolEntry[] {
  const asides = meant.filter(isAside);
  if (asides.length > 0) return asides;
  const [first] = meant;
  if (!first)
    throw new TaskError('NOT_FOUND', `Nothing of "${id}" is in that state.`, {
      hint: `Leave --state away, or see what lies there: interlock spool list${spoolFlag(folder)}`,
    });
  const what =
    first.state === 'owed'
      ? 'is a report that is still to be sent'
      : first.state === 'running'
        ? 'is an attempt that is held, or is still to be told as lost'
        : 'still lies in a file of other records';
  throw new TaskError(
    'CONFLICT',
    `${first.taskId ?? entryId(first)} was not set aside: it ${what}.`,
    {
      hint: 'Only what was set aside can be discarded. The worker that owns the spool deals with the rest.',
    },
  );
}

/** What goes with them, in one sentence. */
function lossWords(meant: readonly SpoolEntry[]): string {
  const results = meant.filter(({ state, op }) => state === 'refused' && op === 'complete').length;
  const alone =
    results === 0
      ? ''
      : `, among them ${results === 1 ? 'the result of a task' : `${results} results of tasks`} that the control plane has not got`;
  return `${countWords(meant)} will be lost for good${alone}.`;
}
