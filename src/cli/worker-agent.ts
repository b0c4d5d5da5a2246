/**
 * The worker of the real world: settings → key, spool and handlers (at the same time) → transport → carrier → Worker.
 * Ends with the worker; signals are taken from the first moment on.
 */
import { release } from 'node:os';
import { join, resolve } from 'node:path';
import { killHosts } from '../carriers/orphans.ts';
import { createProcessCarrier } from '../carriers/process.ts';
import { doctorAnswer, TaskError } from '../contract/index.ts';
import { VERSION } from '../contract/version.ts';
import { systemDisk } from '../system/disk.ts';
import { systemFolderLock } from '../system/folder-lock.ts';
import { systemProcessInfo } from '../system/process-info.ts';
import { InterlockTransport } from '../transports/interlock.ts';
import type { KeySource } from '../wire/key.ts';
import { proxyFromEnvironment } from '../wire/proxy.ts';
import { serviceAddress } from '../wire/service-url.ts';
import { openSpool, type Spool } from '../worker/spool.ts';
import { type ServedHandler, Worker } from '../worker/worker.ts';
import { agentLog } from './agent-log.ts';
import type { Call } from './command.ts';
import { compileCacheFolder } from './compile-cache.ts';
import { openDoors } from './doors.ts';
import type { ExitName } from './exit-codes.ts';
import { type Discovery, discover, handlerKey, hostCommand, hostEnvironment } from './handlers.ts';
import { findKey } from './keys.ts';
import { lifeLine, tellHosts } from './life-line.ts';
import type { Settings } from './settings.ts';
import { serveStatus } from './status-server.ts';
import { takeSignals } from './worker-signals.ts';
import { ended, nothingToServe, summary, tellHandlers } from './worker-words.ts';

export type WorkerCall = Pick<Call, 'io' | 'keyPlaces' | 'sources' | 'json' | 'style'> & {
  readonly settings: Settings<
    | 'url'
    | 'project'
    | 'handlers'
    | 'spool'
    | 'workerId'
    | 'maxConcurrent'
    | 'pools'
    | 'drainTimeoutMs'
    | 'stopGraceMs'
    | 'pollMaxMs'
    | 'statusListen'
    | 'logLevel'
    | 'logFormat'
    | 'caFile'
    | 'insecureHttp'
  >;
};

/** Runs until the worker has ended. Throws a `TaskError` where it cannot start. */
export async function runWorker(call: WorkerCall): Promise<ExitName> {
  const { io, settings } = call;
  const log = agentLog(io, settings);
  const signals = takeSignals(io.clock);
  const address = serviceAddress(settings.url, settings.insecureHttp);
  const key = await findKey(['task-worker'], call.keyPlaces);
  if (key.advice) log.warn('key.kept-openly', key.advice);

  // Only where somebody has named one; the answer comes while the rest is made ready.
  const project = checkProject(call, key.source);
  project.catch(() => {});

  const sessionId = `ses_${Buffer.from(io.random.bytes(16)).toString('hex')}`;
  const spoolFolder = spoolOf(call);
  const handlersFolder = resolve(io.cwd, settings.handlers);
  let worker: Worker | undefined;
  const early: { trouble?: string | undefined; lost?: string } = {};
  const found = discover(handlersFolder, io, { log });
  // Looked at below; a spool that is refused must not leave it unheard.
  found.catch(() => {});
  const opened = await openSpool({
    disk: systemDisk(),
    clock: io.clock,
    log,
    lock: systemFolderLock(),
    processInfo: await systemProcessInfo(),
    folder: spoolFolder,
    workerId: settings.workerId,
    sessionId,
    serviceUrl: address.shown,
    onTrouble: (why) => {
      early.trouble = why;
      worker?.spoolTrouble(why);
    },
    onLost: (why) => {
      early.lost = why;
      worker?.spoolLost(why);
    },
  });
  if (!opened.ok) throw opened.error;
  const { spool, oldSessions } = opened;
  // Their spool is ours now, so they are nobody's. By the session and not by the folder: one folder has many names.
  const oldHosts = killHosts(oldSessions, { clock: io.clock, log });
  oldHosts.catch(() => {});

  const discovery = await found;
  await project.catch(async (error: unknown) => {
    await spool.close();
    throw error;
  });
  tellHandlers(discovery, log);
  if (discovery.handlers.length === 0 && !owes(spool)) {
    await spool.close();
    throw nothingToServe(handlersFolder, discovery);
  }

  const line = lifeLine(io, () => signals.cut());
  const transport = new InterlockTransport({
    serviceUrl: settings.url,
    key: key.source,
    clock: io.clock,
    caFile: settings.caFile,
    proxy: proxyFromEnvironment(io.env),
    insecureHttp: settings.insecureHttp,
  });
  const cache = compileCacheFolder(io.env);
  const hosts = createProcessCarrier({
    clock: io.clock,
    log,
    hostCommand: hostCommand(io),
    maxHosts: settings.maxConcurrent,
    marker: sessionId,
    env: hostEnvironment(io),
    ...(cache && { compileCache: cache }),
  });
  worker = new Worker(
    { clock: io.clock, random: io.random, log, transport, carrier: tellHosts(hosts, line), spool },
    {
      workerId: settings.workerId,
      sessionId,
      pools: settings.pools,
      maxConcurrent: settings.maxConcurrent,
      handlers: discovery.handlers.map(servedHandler),
      drainTimeoutMs: settings.drainTimeoutMs,
      stopGraceMs: settings.stopGraceMs,
      pollMaxMs: settings.pollMaxMs,
      versions: {
        interlock: VERSION,
        node: process.version,
        system: `${process.platform} ${release()} ${process.arch}`,
      },
      endOldHosts: async () => {
        const { left } = await oldHosts;
        if (left.length > 0)
          log.error(
            'host.left',
            `Handler processes of an earlier session do not go away: ${left.map(({ pid }) => pid).join(', ')}. Restart the machine, or mend what they wait for.`,
          );
      },
    },
  );
  if (early.trouble !== undefined) worker.spoolTrouble(early.trouble);
  if (early.lost !== undefined) worker.spoolLost(early.lost);
  signals.worker(worker);
  const status = settings.statusListen && (await serveStatus(settings.statusListen, worker, log));
  log.info('worker.ready', summary(call, address.shown, discovery), {
    workerId: settings.workerId,
    pid: process.pid,
    pools: settings.pools,
    maxConcurrent: settings.maxConcurrent,
    handlers: discovery.handlers.map(handlerKey),
    spool: spoolFolder,
    version: VERSION,
  });
  await worker.start();
  line.tell({
    ready: 'worker',
    workerId: settings.workerId,
    handlers: discovery.handlers.map(handlerKey),
    slots: settings.maxConcurrent,
    pools: settings.pools,
  });
  const end = await worker.ended;
  await status?.close();
  return ended(end, call, spoolFolder, log);
}

/** Rejects with `PROJECT_MISMATCH`. A control plane that does not answer now is no reason not to start. */
async function checkProject({ io, settings }: WorkerCall, key: KeySource): Promise<void> {
  const { project, from } = settings;
  if (from.project === 'default' || from.project.startsWith('the profile')) return;
  await using doors = openDoors({ io, settings });
  const call = { method: 'GET', path: '/doctor', statuses: [200], schema: doctorAnswer } as const;
  const answer = await doors.open(key).call(call);
  if (answer.kind !== 'ok' || answer.value.project === project) return;
  throw new TaskError(
    'PROJECT_MISMATCH',
    `The key belongs to project "${answer.value.project}", and ${from.project} says "${project}".`,
    { hint: `Use a task-worker key of "${project}", or leave the project out.` },
  );
}

function servedHandler(handler: Discovery['handlers'][number]): ServedHandler {
  const { safetyDeclared: _, ...served } = handler;
  return served;
}

/** Reports or attempts of an earlier session: then a worker without handlers still has something to do. */
function owes({ recovered }: Spool): boolean {
  return recovered.reports.length + recovered.running.length > 0;
}

/** Without `--spool`: two workers of one machine share none. */
function spoolOf({ io, settings, sources }: WorkerCall): string {
  if (settings.spool !== undefined) return resolve(io.cwd, settings.spool);
  const { stateFolder } = sources.around;
  if (stateFolder !== undefined) return join(stateFolder, 'spool', settings.workerId);
  throw new TaskError(
    'SETTING_INVALID',
    'There is no folder for the spool: this user has no home.',
    {
      hint: 'Name one with --spool.',
    },
  );
}
