import { exitCodes } from '../exit-codes.ts';
import { sizeWords } from '../size-words.ts';
import { owedWords } from './owed.ts';
import type { ServiceStatus } from './status.ts';

/** For people: a few lines, the most important first. */
export function statusLines(status: ServiceStatus): string[] {
  const { service, workerId, running, startsWithMachine, state, says, pid, since } = status;
  const how =
    running === undefined
      ? 'is known to its manager, which does not tell whether it runs'
      : running
        ? 'runs'
        : 'does not run';
  const boot = startsWithMachine === false ? ' It does NOT start with the machine.' : '';
  const facts = [
    state,
    pid && `process ${pid}`,
    since && `since ${since}`,
    status.restarts
      ? `restarted ${status.restarts} ${status.restarts === 1 ? 'time' : 'times'}`
      : '',
    status.memoryBytes && sizeWords(status.memoryBytes),
  ].filter(Boolean);
  return [
    `${service} (worker ${workerId}) ${how}.${boot}`,
    ...(facts.length > 0 ? [`manager  ${facts.join(', ')}`] : []),
    ...(says ? [`worker   ${says}`] : []),
    ...ending(status),
    `spool    ${owedWords(status.owed)}, in ${status.spool}`,
    `file     ${status.file}`,
  ];
}

function ending({ running, exitCode, result }: ServiceStatus): string[] {
  if (running !== false || exitCode === undefined) return [];
  const known = Object.entries(exitCodes).find(([, { code }]) => code === exitCode);
  const why = known ? `: ${known[0]}. ${known[1].says}` : '';
  const kind = result && result !== 'success' && result !== 'exit-code' ? ` (${result})` : '';
  return [`ended    ${exitCode}${kind}${why}`];
}
