import { resolve } from 'node:path';
import { TaskError } from '../../contract/index.ts';
import { spoolFlag } from '../../spool/index.ts';
import { shownAddress } from '../../wire/service-url.ts';
import { type Call, defineCommand } from '../command.ts';
import { type Check, checkLines, fail } from '../doctor/check.ts';
import { checkHandlers } from '../doctor/handler-checks.ts';
import { checkHints, type Reader } from '../doctor/hints.ts';
import { lookAtSpool } from '../doctor/look-at-spool.ts';
import { checkOutbox } from '../doctor/outbox-checks.ts';
import { checkClock, checkReach } from '../doctor/reach.ts';
import { checkKeys, checkService } from '../doctor/service.ts';
import { lateReportWaits } from '../doctor/stale-reports.ts';
import { checkUndecided, readUndecided } from '../doctor/undecided.ts';
import { checkNotLoaded, checkUnserved, readServed, type Served } from '../doctor/unserved.ts';
import { checkWire } from '../doctor/wire.ts';
import { openDoors } from '../doors.ts';
import { discover } from '../handlers.ts';
import { keyCandidates, missingWords } from '../keys.ts';
import { asTyped } from '../own-name.ts';
import { devSpool, isSpool } from '../spool-folder.ts';

export const tasksDoctor = defineCommand({
  path: 'tasks doctor',
  summary: 'Check everything that has to work, one line each',
  description:
    'Check everything that has to work, one line each, with what to do about each that does not. Ends with 20 if one fails; warnings do not count.',
  settings: ['url', 'keyFile', 'caFile', 'insecureHttp', 'project', 'handlers', 'spool', 'outbox'],
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
          for (const line of checkLines(check, style)) await io.out.line(asTyped(line, io));
    };
    const { reader, served } = await checkRemote(call, tell);
    await tell(await handlerChecks(call, served));
    await tell(await spoolChecks(call, reader));
    const { outbox, from } = call.settings;
    if (outbox !== undefined)
      await tell(await checkOutbox(resolve(io.cwd, outbox), from.outbox !== 'default', io));
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
): Promise<{ readonly reader?: Reader | undefined; readonly served?: Served | undefined }> {
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
    const look = `ses_doctor_${Buffer.from(io.random.bytes(8)).toString('hex')}`;
    await tell([await checkHints(keys.reader, clock, look, reached.info !== undefined)]);
    await tell(checkService(keys.answer, reached.info !== undefined));
    const served = await readServed(keys.viewer);
    await tell(checkUnserved(served));
    await tell(checkUndecided(await readUndecided(keys.viewer)));
    return { reader: keys.reader, served };
  } catch (error) {
    if (!(error instanceof TaskError)) throw error;
    const { code, message, hint = 'Correct it.' } = error;
    // The proxy or the CA file cannot be used at all; or it is the address.
    const name = code === 'INVALID_PROXY' ? 'proxy' : code === 'CA_FILE_UNREADABLE' ? 'tls' : '';
    await tell([
      name ? fail(name, message, hint) : fail('address', `${shownAddress(url)}: ${message}`, hint),
    ]);
    return {};
  }
}

async function handlerChecks(
  { io, settings }: DoctorCall,
  served: Served | undefined,
): Promise<Check[]> {
  const folder = resolve(io.cwd, settings.handlers);
  return checkHandlers(
    folder,
    settings.from.handlers !== 'default',
    (found) => discover(found, io),
    (names) => checkNotLoaded(names, served),
  );
}

async function spoolChecks(
  { io, settings }: DoctorCall,
  reader: Reader | undefined,
): Promise<Check[]> {
  const named = settings.from.spool !== 'default';
  // A checkout has the folder before any worker has used it.
  const folder = settings.spool === undefined ? undefined : resolve(io.cwd, settings.spool);
  if (folder === undefined || !(named || isSpool(folder))) {
    const unused = folder === undefined ? '' : `no worker has used ${folder}; `;
    const near = devSpool(io.cwd);
    const other =
      near === undefined
        ? 'name one with --spool'
        : `the one of npm start: interlock tasks doctor${spoolFlag(near)}`;
    return [{ name: 'spool', state: 'skip', says: `not looked at: ${unused}${other}` }];
  }
  if (reader === undefined || reader.kind === 'task-worker') return lookAtSpool(folder, io);
  await using doors = openDoors({ io, settings });
  const door = doors.open(reader.key);
  // Awaited here: the door is closed after that.
  return await lookAtSpool(folder, io, (taskId) => lateReportWaits(door, taskId));
}

function verdict(failed: number, warned: number, good: Paint, bad: Paint): string {
  const warnings = warned === 0 ? '' : `, ${warned} warning${warned === 1 ? '' : 's'}`;
  if (failed === 0) return good(warned === 0 ? '\nAll is well.' : `\nNo check failed${warnings}.`);
  return bad(`\n${failed} check${failed === 1 ? '' : 's'} failed${warnings}.`);
}

type Paint = (text: string) => string;
