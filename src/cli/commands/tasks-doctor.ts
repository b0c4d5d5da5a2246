import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { TaskError } from '../../contract/index.ts';
import { systemDisk } from '../../system/disk.ts';
import { systemFolderLock } from '../../system/folder-lock.ts';
import { systemProcessInfo } from '../../system/process-info.ts';
import { inspectSpool } from '../../worker/spool.ts';
import { type Call, defineCommand } from '../command.ts';
import { type Check, checkLines } from '../doctor/check.ts';
import { checkHandlers } from '../doctor/handler-checks.ts';
import { checkClock, checkReach } from '../doctor/reach.ts';
import { checkKeys, checkService } from '../doctor/service.ts';
import { checkSpool, liesInMemory } from '../doctor/spool-checks.ts';
import { readStale } from '../doctor/stale-reports.ts';
import { checkWire } from '../doctor/wire.ts';
import { openDoors } from '../doors.ts';
import { discover } from '../handlers.ts';
import { keyCandidates, missingWords } from '../keys.ts';

export const tasksDoctor = defineCommand({
  path: 'tasks doctor',
  summary: 'Check everything that has to work, one line each',
  description:
    'Check everything that has to work, one line each, with what to do about each that does not. Ends with 20 if one fails; warnings do not count.',
  settings: ['url', 'keyFile', 'caFile', 'insecureHttp', 'project', 'handlers', 'spool'],
  examples: [
    ['tasks doctor', 'address, keys, clock, queue, workers, handlers'],
    ['tasks doctor --spool ./spool', 'and the spool of a worker on this machine'],
    ['tasks doctor --json', 'for a monitor'],
  ],
  async run(call) {
    const { io, json, style } = call;
    const checks: Check[] = [];
    const tell = async (found: readonly Check[]) => {
      checks.push(...found);
      // As they come: a slow network must not hide what is known already.
      if (!json)
        for (const check of found)
          for (const line of checkLines(check, style)) await io.out.line(line);
    };
    await checkRemote(call, tell);
    await tell(await handlerChecks(call));
    await tell(await spoolChecks(call));
    const failed = checks.filter(({ state }) => state === 'fail').length;
    const warned = checks.filter(({ state }) => state === 'warn').length;
    if (json) await io.out.line(JSON.stringify({ ok: failed === 0, checks }));
    else await io.out.line(verdict(failed, warned, style.good, style.bad));
    return failed === 0 ? 'ok' : 'checks-failed';
  },
});

type DoctorCall = Pick<Call, 'io' | 'keyPlaces'> & {
  readonly settings: {
    readonly url: string;
    readonly caFile: string | undefined;
    readonly insecureHttp: boolean;
    readonly project: string;
    readonly handlers: string;
    readonly spool: string | undefined;
    readonly from: Readonly<Record<'url' | 'project' | 'handlers' | 'spool', string>>;
  };
};

async function checkRemote(
  { io, settings, keyPlaces }: DoctorCall,
  tell: (checks: readonly Check[]) => Promise<void>,
): Promise<void> {
  const { url, from } = settings;
  try {
    await using doors = openDoors({ settings, io });
    const door = doors.open();
    await tell([{ name: 'address', state: 'ok', says: `${door.address.shown} (${from.url})` }]);
    const { clock } = io;
    const reached = await checkReach(
      door,
      doors.proxy,
      () => clock.now(),
      () => clock.wall(),
    );
    await tell(reached.checks);
    await tell([checkClock(reached.aheadMs)]);
    const keys = await checkKeys(
      keyCandidates(keyPlaces),
      (key) => doors.open(key.source),
      reached.info !== undefined,
      from.project.startsWith('--') || from.project.startsWith('INTERLOCK')
        ? settings.project
        : undefined,
      missingWords(keyPlaces),
    );
    await tell(keys.checks);
    await tell([checkWire(settings.url, settings.insecureHttp, clock)]);
    await tell(checkService(keys.answer));
  } catch (error) {
    if (!(error instanceof TaskError)) throw error;
    // The address, the proxy or the CA file cannot be used at all.
    await tell([
      { name: 'address', state: 'fail', says: `${url}: ${error.message}`, fix: error.hint },
    ]);
  }
}

async function handlerChecks({ io, settings }: DoctorCall): Promise<Check[]> {
  const folder = resolve(io.cwd, settings.handlers);
  return checkHandlers(folder, settings.from.handlers !== 'default', (found) =>
    discover(found, io),
  );
}

async function spoolChecks({ io, settings }: DoctorCall): Promise<Check[]> {
  const named = settings.from.spool !== 'default';
  // A checkout has the folder before any worker has used it.
  const used = settings.spool !== undefined && existsSync(join(settings.spool, 'owner.json'));
  if (settings.spool === undefined || !(named || used))
    return [{ name: 'spool', state: 'skip', says: 'not looked at: name one with --spool' }];
  const folder = resolve(io.cwd, settings.spool);
  const found = await inspectSpool({
    disk: systemDisk(),
    clock: io.clock,
    random: io.random,
    lock: systemFolderLock(),
    processInfo: await systemProcessInfo(),
    folder,
  });
  return checkSpool(
    found,
    found.exists && (await liesInMemory(folder)),
    found.setAside.stale > 0 ? await readStale(folder) : [],
  );
}

function verdict(failed: number, warned: number, good: Paint, bad: Paint): string {
  const warnings = warned === 0 ? '' : `, ${warned} warning${warned === 1 ? '' : 's'}`;
  if (failed === 0) return good(`\nAll is well${warnings}.`);
  return bad(`\n${failed} check${failed === 1 ? '' : 's'} failed${warnings}.`);
}

type Paint = (text: string) => string;
