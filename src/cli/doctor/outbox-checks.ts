import { inspectOutbox } from '../../client/outbox/inspect.ts';
import { needsSomebody } from '../../client/outbox/verdict.ts';
import { TaskError } from '../../contract/index.ts';
import type { Io } from '../command.ts';
import { durationWords } from '../duration.ts';
import { discardCommand, flushCommands, listCommand, mend, outboxPorts } from '../outbox-parts.ts';
import { type Check, fail, ok, warn } from './check.ts';

/** What waits in the outbox of this machine. Where there is none, and none was named, there is nothing to say. */
export async function checkOutbox(folder: string, named: boolean, io: Io): Promise<Check[]> {
  const ports = outboxPorts(io);
  try {
    const found = await inspectOutbox({ ...ports, processInfo: await ports.processInfo(), folder });
    if (!found.exists)
      return named ? [ok('local outbox', `${folder} is not there: nothing was stored yet`)] : [];
    const { entries, corrupt, unreadable, lastTry, owner } = found;
    const waiting = entries.filter(({ state }) => state === 'waiting');
    const refused = entries.length - waiting.length;
    const checks: Check[] = [];
    const [oldest] = waiting;
    if (!oldest) checks.push(ok('local outbox', `nothing waits in ${folder}`));
    else {
      const ageMs = Math.max(0, io.clock.wall() - Date.parse(oldest.storedAt)) || 0;
      const stuck = waiting.find(({ code }) => needsSomebody(code));
      const last = needsSomebody(lastTry?.code) ? lastTry : (stuck ?? lastTry);
      const why = last ? `; the last try failed: ${last.why}` : '';
      const says = `${count(waiting.length, 'submission waits', 'submissions wait')} in ${folder}, the oldest for ${durationWords(ageMs)}${why}`;
      const flush = flushCommands(waiting, named ? folder : undefined);
      // Every further submission would wait here too, unheard.
      if (needsSomebody(last?.code))
        checks.push(fail('local outbox', says, `${mend(last?.code)}, then: ${flush}`));
      else if (owner?.state === 'alive' && ageMs < DEBT_MS) checks.push(ok('local outbox', says));
      else checks.push(warn('local outbox', says, `Send them: ${flush}`));
    }
    if (refused > 0)
      checks.push(
        fail(
          'outbox refused',
          `${count(refused, 'submission was', 'submissions were')} refused for good`,
          `See why, and their files: ${listCommand(named ? folder : undefined)}. Mend it, submit it anew, then ${discardCommand(named ? folder : undefined)}.`,
        ),
      );
    if (corrupt > 0)
      checks.push(
        fail(
          'outbox damage',
          `${count(corrupt, 'record is', 'records are')} damaged`,
          `Look into ${folder}/corrupt and ${folder}/intents, and check the disk.`,
        ),
      );
    for (const { file, why } of unreadable.slice(0, SHOWN))
      checks.push(
        fail(
          'outbox damage',
          `${file} cannot be read (${why})`,
          'Check the disk and the permissions.',
        ),
      );
    return checks;
  } catch (error) {
    if (!(error instanceof TaskError)) throw error;
    return [fail('local outbox', error.message, error.hint ?? 'Check the folder.')];
  }
}

function count(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`;
}

/** A submission is answered in milliseconds; a minute without is worth a look. */
const DEBT_MS = 60_000;
const SHOWN = 10;
