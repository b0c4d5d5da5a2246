import { TaskError } from '../../contract/index.ts';
import { putBack, type SpoolEntry, spoolFlag } from '../../spool/index.ts';
import { defineCommand } from '../command.ts';
import { asTyped } from '../own-name.ts';
import { isPastHelp, toldInstead } from '../past-help.ts';
import { entriesMeant, entriesOf, entryId, spoolPorts, spoolSettings } from '../spool-entries.ts';
import { usageError } from '../usage.ts';
import { stepsFor, takeOut } from '../views/spool-words.ts';

const COMMAND = 'spool retry';

export const spoolRetry = defineCommand({
  path: COMMAND,
  summary: 'Put refused reports back, so that the worker sends them again',
  description: [
    'Put reports that were refused back among those that are owed: the next start of the worker sends them first. It helps once what refused them (the control plane, a proxy, a limit) was mended. A worker that runs has the spool to itself, so stop it first.',
    'A task whose report was refused got a small report in its place. While that one waits too, the whole report takes its place. Once it was taken the task has ended (RESULT_REFUSED) and the whole report cannot be delivered any more: it is left here, to be taken out with spool show --full --json. --force sends it all the same, and it comes back as stale, or as refused where the same limit refuses it again.',
    'With --json: {folder, retried: [{id, taskId, file, replaces}], left: [{id, taskId, why}]}.',
  ].join('\n'),
  positionals: [
    { name: 'id', optional: true, help: 'Task or attempt (tsk_…, att_…), or file in the spool' },
  ],
  options: {
    all: { form: 'switch', help: 'Every report that was refused' },
    force: { form: 'switch', help: 'Also one that can change nothing any more' },
  },
  settings: spoolSettings,
  examples: [
    ['spool retry --all', 'after the limit of a proxy was raised'],
    ['spool retry tsk_01k… --spool /var/lib/interlock/spool/garage', 'one task'],
  ],
  async run(call) {
    const { args, io, json, style } = call;
    const { id } = args;
    if ((id === undefined) === !args.all)
      throw usageError(`${COMMAND} needs an id or --all${args.all ? ', not both' : ''}.`, COMMAND);
    if (args.all && args.force)
      throw usageError('--force goes with an id: name the report that is meant.', COMMAND);
    const ports = await spoolPorts(call);
    const { folder, entries } = await entriesOf(ports);
    const meant =
      id === undefined
        ? entries.filter(({ state }) => state === 'refused')
        : retriable(entriesMeant(entries, id, folder, COMMAND), entries, folder, args.force);
    const over = args.force ? [] : meant.filter((entry) => isPastHelp(entry, entries));
    const { chosen, others } = oneForEach(meant.filter((entry) => !over.includes(entry)));
    const held = chosen.length === 0 ? undefined : await putBack(ports, chosen);
    if (held && !held.ok) throw lockedWords(held.error);
    const { done, left: kept, error } = held?.value ?? { done: [], left: [], error: undefined };
    const unreadable = args.all ? entries.filter(isUnreadable) : [];
    const failed = [
      ...kept,
      ...unreadable.map((entry) => ({ entry, why: `it cannot be read: ${entry.why}` })),
    ];
    const left = [
      ...failed,
      ...others.map((entry) => ({ entry, why: 'the report that it stands in for was put back' })),
      ...over.map((entry) => ({
        entry,
        why: `${toldInstead(entry)}: it cannot be delivered any more`,
      })),
    ];
    const replaces = ({ attemptId }: SpoolEntry) =>
      entries.some((entry) => entry.state === 'owed' && entry.attemptId === attemptId);
    if (json) {
      const name = (entry: SpoolEntry) => ({ id: entryId(entry), taskId: entry.taskId });
      await io.out.line(
        JSON.stringify({
          folder,
          retried: done.map(({ entry, file }) => ({
            ...name(entry),
            file,
            replaces: replaces(entry),
          })),
          left: left.map(({ entry, why }) => ({ ...name(entry), why })),
        }),
      );
    } else {
      for (const { entry } of done) {
        const how = replaces(entry)
          ? 'in the place of the small report that waits'
          : isPastHelp(entry, entries)
            ? 'its task has ended: this one can change nothing'
            : 'as it was';
        await io.out.line(
          `${style.good('retried')}  ${entry.taskId ?? entryId(entry)}  ${entry.op ?? ''}  ${style.faint(how)}`,
        );
      }
      for (const { entry, why } of left)
        await io.out.line(`${style.warn('left')}     ${entry.taskId ?? entryId(entry)}  ${why}`);
    }
    if (error) throw error;
    if (!json)
      for (const step of stepsFor(over, undefined, folder, entries))
        await io.err.line(style.faint(asTyped(step, io)));
    if (!json && meant.length + unreadable.length === 0)
      await io.err.line(`No report in ${folder} was refused.`);
    if (!json && done.length > 0)
      await io.err.line(
        style.faint(
          asTyped(
            `Start the worker of this spool: it sends ${done.length === 1 ? 'it' : 'them'} first. Then look again: interlock spool list${spoolFlag(folder)}`,
            io,
          ),
        ),
      );
    const [first] = failed;
    if (first)
      throw new TaskError(
        'SPOOL_READ_FAILED',
        `${failed.length === 1 ? first.entry.file : `${failed.length} of them`} in ${folder} could not be put back: ${first.why}.`,
        {
          hint: `What is left of one: interlock spool show ${entryId(first.entry)}${spoolFlag(folder)}. Check the disk.`,
        },
      );
    return 'ok';
  },
});

/** In place of a refused report: a link, a file of another user, one that the disk does not give. */
function isUnreadable({ state, file }: SpoolEntry): boolean {
  return state === 'unreadable' && file.startsWith('refused/');
}

/** Throws where none of what is meant may do good. */
function retriable(
  meant: readonly SpoolEntry[],
  all: readonly SpoolEntry[],
  folder: string,
  force: boolean,
): SpoolEntry[] {
  const refused = meant.filter(({ state, line }) => state === 'refused' && line === undefined);
  const stale = meant.filter(({ state }) => state === 'stale');
  const over = refused.filter((entry) => isPastHelp(entry, all));
  if (refused.length > over.length || (refused.length > 0 && force)) return refused;
  if (stale.length > 0 && force) return stale;
  const [first] = meant;
  const name = first ? (first.taskId ?? entryId(first)) : '';
  const no = (message: string, hint: string) => new TaskError('CONFLICT', message, { hint });
  const [gone] = over;
  if (gone)
    throw no(
      `The report of ${name} cannot be delivered any more: ${toldInstead(gone)}.`,
      `${takeOut(gone, folder, all)}; --force sends it again all the same, but cannot change the task.`,
    );
  if (stale.length > 0) {
    const kept = stale.some(({ answer }) => answer?.recorded)
      ? `The control plane kept the outcome: interlock tasks resolve ${name} --as late-report --reason "…" takes it, while interlock tasks show ${name} offers it. `
      : '';
    throw no(
      `The report of ${name} came too late: the control plane had ended its attempt before, and will say so again.`,
      `${kept}--force sends the report again all the same; it cannot change the task.`,
    );
  }
  if (first?.state === 'owed')
    throw no(
      `The report of ${name} waits to be sent already.`,
      `The worker that owns the spool sends it; interlock tasks doctor${spoolFlag(folder)} tells why it gets no answer.`,
    );
  if (first?.state === 'running')
    throw no(
      `${name} has no report yet: its attempt is held, or its worker was killed.`,
      'The next start of the worker reports it as lost.',
    );
  throw no(
    `${name} cannot be read, so it cannot be sent.`,
    `What is left of it: interlock spool show ${name}${spoolFlag(folder)}`,
  );
}

/** Of two set-asides of one attempt the whole report, not the one that stands in for it; else the newest. */
function oneForEach(meant: readonly SpoolEntry[]): { chosen: SpoolEntry[]; others: SpoolEntry[] } {
  const chosen = new Map<string, SpoolEntry>();
  for (const entry of meant) {
    const key = entry.attemptId ?? entry.file;
    const before = chosen.get(key);
    if (!before || before.followUp || !entry.followUp) chosen.set(key, entry);
  }
  const kept = new Set(chosen.values());
  return { chosen: [...kept], others: meant.filter((entry) => !kept.has(entry)) };
}

function lockedWords(error: TaskError): TaskError {
  // Of another visit: it has the words itself.
  if (error.code !== 'SPOOL_LOCKED' || error.details?.visit !== undefined) return error;
  const { code, message, details } = error;
  const worker = typeof details?.workerId === 'string' ? details.workerId : '<worker-id>';
  return new TaskError(code, message, {
    hint: `Let it finish and end: interlock tasks drain ${worker} (or SIGTERM). Then run this again, and start the worker anew.`,
    details,
    cause: error,
  });
}
