import { TaskError } from '../../contract/index.ts';
import { spoolFlag } from '../../spool/index.ts';
import { canAsk, confirmed } from '../ask.ts';
import type { Call } from '../command.ts';
import { owedIn, owedWords, undelivered } from './owed.ts';
import { papersOf, type ServiceId } from './papers.ts';
import { purgeSpool } from './purge.ts';
import { commandText, runSteps } from './steps.ts';
import { asRoot } from './who.ts';
import type { ServiceWorld } from './world.ts';
import { readWritten, removeFile } from './written.ts';

export type Uninstalling = Pick<Call, 'io' | 'sources'> & {
  readonly args: {
    readonly purge: boolean;
    readonly yes: boolean;
    readonly 'dry-run': boolean;
  };
};

export interface Uninstalled {
  readonly service: string;
  readonly file: string;
  readonly did: 'nothing' | 'removed' | 'purged' | 'would';
  readonly spool?: string;
  readonly says: string;
  readonly commands?: readonly string[];
}

/**
 * Stops it (that is a drain, as long as that takes), and removes what `install` has written and nothing else. What is
 * in its spool stays, unless `--purge`: then it goes too, if all of it was delivered.
 */
export async function uninstallService(
  call: Uninstalling,
  id: ServiceId,
  world: ServiceWorld,
  told: (line: string) => Promise<void>,
): Promise<Uninstalled> {
  const { args } = call;
  const papers = papersOf(id, world);
  const about = { service: papers.called, file: papers.file };
  const written = readWritten(papers, world.root);
  if (written === undefined)
    return {
      ...about,
      did: 'nothing',
      says: `There is no service ${papers.called} (${papers.file}).`,
    };
  const { spool, keyFile, keyCopied = false } = written.facts;
  const copied = keyCopied && keyFile === papers.keyCopy;
  const steps = [...papers.stop, ...papers.disable];
  const kept = `Its spool stays in ${spool}`;
  if (args['dry-run'])
    return {
      ...about,
      spool,
      did: 'would',
      says: `Nothing was done. ${papers.file}${copied ? ` and ${keyFile}` : ''} would be removed. ${args.purge ? `So would ${spool}, if all of it is delivered.` : `${kept}.`}`,
      commands: [...steps, ...papers.forget].map(commandText),
    };
  if (id.scope === 'system' && world.uid !== undefined && world.uid !== 0)
    throw asRoot(call, 'uninstall');
  if (args.purge && !args.yes) await ask(call, spool);

  if ((await world.run(papers.active))?.code === 0) {
    await told(`${papers.called} drains: handlers that run may go on until its drain timeout.`);
    // The manager bounds it (TimeoutStopSec and its like).
    await runSteps(papers.stop, world.run, Number.POSITIVE_INFINITY);
  }
  const owed = await owedIn(spool, world.root);
  if (args.purge) refuseOwed(papers.called, spool, owed);
  await runSteps(papers.disable, world.run);
  removeFile(papers.file, world.root);
  if (copied) removeFile(keyFile, world.root);
  await runSteps(papers.forget, world.run);
  if (!args.purge)
    return {
      ...about,
      spool,
      did: 'removed',
      says: `${papers.called} is stopped and removed. ${kept} (${owedWords(owed)}).`,
    };
  const left = owed.kind === 'none' ? undefined : purgeSpool(spool, world);
  return {
    ...about,
    spool,
    did: 'purged',
    says: `${papers.called} is stopped and removed. ${left ?? `It had no spool in ${spool}, where nothing was touched`}.`,
  };
}

async function ask({ io }: Uninstalling, spool: string): Promise<void> {
  const refusal = (message: string) =>
    new TaskError('USAGE', message, {
      hint: 'Without --purge its spool stays; --purge --yes asks nobody.',
    });
  if (!canAsk(io)) throw refusal(`Removing ${spool} needs a yes, and there is nobody to ask.`);
  if (!(await confirmed(io, `Remove the service and its spool ${spool} for good?`)))
    throw refusal('Nothing was done.');
}

function refuseOwed(called: string, spool: string, owed: Awaited<ReturnType<typeof owedIn>>): void {
  const left = undelivered(owed);
  if (left === 0 && owed.kind !== 'unknown') return;
  throw new TaskError(
    'SERVICE_OWES',
    `The spool ${spool} is not removed: ${owedWords(owed)}. ${called} is stopped, and still installed.`,
    {
      hint: `Start the service again until all is delivered, or see: interlock spool list${spoolFlag(spool)}`,
    },
  );
}
