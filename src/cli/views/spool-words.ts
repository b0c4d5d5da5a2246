import { type SpoolEntry, type SpoolInspection, spoolFlag } from '../../spool/index.ts';
import { isPastHelp, toldInstead } from '../past-help.ts';
import { entryId } from '../spool-entries.ts';

/** Sentences about a spool, and the next steps. */

type Owner = SpoolInspection['owner'];

/** `worker garage (process 12) holds it`. */
export function ownerWords(owner: Owner): string {
  if (!owner) return 'no worker has it';
  const process = `process ${owner.pid} on ${owner.hostName}`;
  if (owner.visit !== undefined)
    return `no worker has it, \`${owner.visit}\` (${process}) is at it`;
  const who = `worker ${owner.workerId} (${process})`;
  switch (owner.state) {
    case 'alive':
      return `${who} has it and runs since ${owner.since}`;
    case 'closed':
      return `no worker has it, ${owner.workerId} gave it back in order`;
    case 'gone':
      return `${who} has ended without giving it back`;
    default:
      return `${who} had it last; from here it cannot be seen whether it runs`;
  }
}

/**
 * What can be done about what lies there, one line each; its commands run as they are printed.
 * @param all that lies in the spool, where `entries` are only some of it.
 */
export function stepsFor(
  entries: readonly SpoolEntry[],
  owner: Owner,
  folder: string,
  all: readonly SpoolEntry[] = entries,
): string[] {
  const has = (state: SpoolEntry['state']) => entries.some((entry) => entry.state === state);
  const steps: string[] = [];
  if (has('owed') && (owner?.state !== 'alive' || owner.visit !== undefined))
    steps.push('owed: start the worker of this spool; it sends them first');
  steps.push(...staleSteps(entries, folder, all), ...refusedSteps(entries, folder, all));
  const corrupt = entries.find(({ state }) => state === 'corrupt');
  if (corrupt)
    steps.push(
      `corrupt: check the disk. What is left of ${entries.filter(({ state }) => state === 'corrupt').length === 1 ? 'it' : 'one'}: interlock spool show ${argument(entryId(corrupt))}${spoolFlag(folder)}`,
    );
  if (has('newer')) steps.push('newer: use the newer program for this spool');
  return steps;
}

/** What can still be taken, and what nobody needs any more. */
function staleSteps(
  entries: readonly SpoolEntry[],
  folder: string,
  all: readonly SpoolEntry[],
): string[] {
  const stale = entries.filter(({ state }) => state === 'stale');
  const kept = stale.filter(({ answer }) => answer?.recorded);
  const rest = stale.filter(({ answer }) => !answer?.recorded);
  const flag = spoolFlag(folder);
  const steps: string[] = [];
  const [late] = kept;
  if (late !== undefined) {
    const task = argument(late.taskId ?? entryId(late));
    const outcomes = kept.length === 1 ? 'an outcome' : `${kept.length} outcomes`;
    steps.push(
      `stale: the control plane kept ${outcomes}. While interlock tasks show ${task} offers it: interlock tasks resolve ${task} --as late-report --reason "…". Then, or if not: interlock spool discard ${nameOf(late, all)}${flag}`,
    );
  }
  const [first] = rest;
  if (first)
    steps.push(
      `stale: ${rest.length === 1 ? 'it came' : `${rest.length} came`} too late to change a task. To look: interlock spool show ${nameOf(first, all)}${flag}; to remove: interlock spool discard ${rest.length === 1 ? nameOf(first, all) : '--all --state stale'}${flag}`,
    );
  return steps;
}

/** What may be sent again, and what cannot be delivered any more. */
function refusedSteps(
  entries: readonly SpoolEntry[],
  folder: string,
  all: readonly SpoolEntry[],
): string[] {
  const refused = entries.filter(({ state }) => state === 'refused');
  const over = refused.filter((entry) => isPastHelp(entry, all));
  const rest = refused.filter((entry) => !over.includes(entry));
  const flag = spoolFlag(folder);
  const steps: string[] = [];
  const [first] = rest;
  if (first)
    steps.push(
      `refused: why: interlock spool show ${nameOf(first, all)}${flag}; once that is mended: interlock spool retry ${rest.length === 1 ? nameOf(first, all) : '--all'}${flag}; to let it go: interlock spool discard ${nameOf(first, all)}${flag}`,
    );
  const [gone] = over;
  if (gone) {
    const others = over.length === 1 ? '' : ` (${over.length} of them)`;
    steps.push(
      `refused: ${nameOf(gone, all)} cannot be delivered any more, ${toldInstead(gone)}${others}. ${takeOut(gone, folder, all)}`,
    );
  }
  return steps;
}

/** How to get the result of a refused report out, and how to let it go. */
export function takeOut(entry: SpoolEntry, folder: string, all: readonly SpoolEntry[]): string {
  const name = nameOf(entry, all);
  const flag = spoolFlag(folder);
  return `To take it out: interlock spool show ${name} --full --json${flag}; to let it go: interlock spool discard ${name}${flag}`;
}

/** By its task, as people know it; by the attempt where that would mean another attempt's as well. */
function nameOf(entry: SpoolEntry, all: readonly SpoolEntry[]): string {
  const { attemptId, taskId } = entry;
  const alone = !all.some((other) => other.taskId === taskId && other.attemptId !== attemptId);
  return argument((alone ? taskId : attemptId) ?? entryId(entry));
}

/** As a shell takes it: ids come from a file, which others may have damaged. */
function argument(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
