/**
 * The worker of the real world: settings → key, spool and handlers (at the same time) → transport → carrier → Worker.
 * Ends with the worker; signals are taken from the first moment on.
 */
import { release } from 'node:os';
import { resolve } from 'node:path';
import { createHostCarrier } from '../carriers/hosts.ts';
import type { ProcessCarrier } from '../carriers/process-carrier.ts';
import { VERSION } from '../contract/version.ts';
import { hostReasonOf } from '../core/host-reason.ts';
import type { Log } from '../ports/log.ts';
import { refusedFolder } from '../spool/accept.ts';
import type { Spool } from '../spool/index.ts';
import { layoutOf } from '../spool/layout.ts';
import { collectGarbage } from '../system/collect-garbage.ts';
import { compileCacheFolder, keepCompiledCodeNow } from '../system/compile-cache.ts';
import { systemDisk } from '../system/disk.ts';
import { serviceAddress } from '../wire/service-url.ts';
import type { Worker, WorkerEnd } from '../worker/worker.ts';
import { agentLog } from './agent-log.ts';
import { codeFolder } from './code-folder.ts';
import type { Call } from './command.ts';
import type { ExitName } from './exit-codes.ts';
import { tellNoInit } from './first-process.ts';
import { hintAtStart, unservedHandlers } from './handler-words.ts';
import {
  type Discovery,
  discover,
  type HandlerProblem,
  handlerKey,
  hostEnvironment,
} from './handlers.ts';
import { findKey } from './keys.ts';
import { lifeLine, tellHosts } from './life-line.ts';
import { restsAfter } from './rest.ts';
import { tellService } from './service/tell-service.ts';
import type { Settings } from './settings.ts';
import { spoolFolderOf } from './spool-folder.ts';
import type { StatusPort } from './status/open-status.ts';
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
  tellNoInit(io, log);
  const service = tellService({ env: io.env, pid: process.pid, clock: io.clock, log });
  const address = serviceAddress(settings.url, settings.insecureHttp);
  const key = await findKey(['task-worker'], call.keyPlaces);
  if (key.advice) log.warn('key.kept-openly', key.advice);

  const sessionId = `ses_${Buffer.from(io.random.bytes(16)).toString('hex')}`;
  const spoolFolder = spoolFolderOf(call);
  const handlersFolder = resolve(io.cwd, settings.handlers);
  let worker: Worker | undefined;
  const said: { trouble?: string | undefined; lost?: string } = {};
  // Nothing is made in somebody else's folder: neither by the spool, which looks again, nor by the probes beside it.
  const unfit = await refusedFolder(systemDisk(), layoutOf(spoolFolder));
  if (unfit) throw unfit;
  const code = codeFolder(spoolFolder, sessionId);
  await code.makeRoom();
  const looks = new AbortController();
  const early = Promise.withResolvers<Discovery>();
  const found = discover(handlersFolder, io, {
    ...{ log, keepIn: code.folder, signal: looks.signal, early: early.resolve },
  });
  // Looked at below; a spool that is refused must not leave it unheard.
  found.catch(() => {});
  const hosts = agentHosts(call, log, sessionId);
  // For the first task. Its program starts, and those of the handlers are looked at, while we load the rest of ourselves.
  hosts.prepare();
  const parts = await import('./agent-parts.ts');

  // Only where somebody has named one; the answer comes while the rest is made ready.
  const project = namesProject(settings)
    ? import('./check-project.ts').then(({ checkProject }) => checkProject(call, key.source))
    : Promise.resolve();
  project.catch(() => {});

  const processInfo = await parts.systemProcessInfo();
  const opened = await parts.openSpool({
    disk: parts.systemDisk(),
    clock: io.clock,
    log,
    lock: parts.systemFolderLock(io.clock),
    processInfo,
    folder: spoolFolder,
    workerId: settings.workerId,
    sessionId,
    serviceUrl: address.shown,
    onTrouble: (why) => {
      said.trouble = why;
      worker?.spoolTrouble(why);
    },
    onLost: (why) => {
      said.lost = why;
      worker?.spoolLost(why);
    },
  });
  // What is under way would still write its code.
  const endLooks = async () => {
    looks.abort();
    const bound = Promise.withResolvers<void>();
    const timer = io.clock.timer(LOOKS_END_MS, bound.resolve);
    await Promise.race([found.catch(() => {}), bound.promise]);
    timer.cancel();
    await code.remove();
  };
  if (!opened.ok) {
    await Promise.all([endLooks(), hosts.close()]);
    throw opened.error;
  }
  const { spool, oldSessions } = opened;
  // Before the rest, so that a slow start can be watched.
  const { statusListen: listen, workerId } = settings;
  const { self } = processInfo;
  let status: StatusPort | undefined;
  const giveUp = async () => {
    await status?.close();
    await Promise.all([endLooks(), hosts.close()]);
    await spool.close();
  };
  if (listen)
    status = await parts
      .openStatus({ listen, workerId, spoolFolder, self, clock: io.clock, log })
      .catch(async (error: unknown) => {
        await giveUp();
        throw error;
      });
  // Their spool is ours now, so they are nobody's. By the session and not by the folder: one folder has many names.
  void code.sweepOthers();
  const oldHosts = parts.killHosts(oldSessions, { clock: io.clock, log });

  const discovery = await Promise.race([found, early.promise]);
  await project.catch(async (error: unknown) => {
    await giveUp();
    throw error;
  });
  const nothing = discovery.handlers.length === 0 && !owes(spool);
  // What is wrong with the folder itself is the error that it ends with.
  const told = ({ file }: HandlerProblem) => !nothing || file !== handlersFolder;
  const hinted = (problem: HandlerProblem): HandlerProblem =>
    discovery.handlers.length === 0 ? problem : { ...problem, hint: hintAtStart(problem.hint) };
  const problems = discovery.problems.filter(told).map(hinted);
  tellHandlers({ ...discovery, problems: problems.filter(({ loading }) => !loading) }, log);
  const unserved = unservedHandlers(problems, [], new Date(io.clock.wall()).toISOString());
  if (nothing) {
    await giveUp();
    throw nothingToServe(handlersFolder, discovery);
  }

  const line = lifeLine(io, () => signals.cut());
  const transport = new parts.InterlockTransport({
    serviceUrl: settings.url,
    key: key.source,
    clock: io.clock,
    caFile: settings.caFile,
    proxy: parts.proxyFromEnvironment(io.env),
    insecureHttp: settings.insecureHttp,
  });
  worker = new parts.Worker(
    {
      clock: io.clock,
      random: io.random,
      log,
      transport,
      carrier: restsAfter(tellHosts(hosts, line), io.clock, () => {
        keepCompiledCodeNow();
        collectGarbage();
      }),
      spool,
      ...(status && { meter: status.meter }),
    },
    {
      workerId: settings.workerId,
      sessionId,
      pools: settings.pools,
      maxConcurrent: settings.maxConcurrent,
      handlers: discovery.handlers.map((one) => code.served(one)),
      unservedHandlers: unserved,
      drainTimeoutMs: settings.drainTimeoutMs,
      stopGraceMs: settings.stopGraceMs,
      pollMaxMs: settings.pollMaxMs,
      versions: {
        interlock: VERSION,
        node: process.version,
        system: `${process.platform} ${release()} ${process.arch}`,
      },
      endOldHosts: () => oldHosts,
    },
  );
  if (said.trouble !== undefined) worker.spoolTrouble(said.trouble);
  if (said.lost !== undefined) worker.spoolLost(said.lost);
  signals.worker(worker);
  status?.worker(worker);
  const { handlers } = discovery;
  const reload = new parts.WorkerReload({
    ...{ call, log, worker, hosts, code, handlers, unserved, looks },
    listener: service,
  });
  const over = async (end: WorkerEnd) => {
    await Promise.all([status?.close(), service.end()]);
    await reload.settled();
    await code.remove();
    const { refused } = spool.stats().setAside;
    return ended(
      end,
      { ...call, settings: reload.settings },
      { folder: spoolFolder, refused },
      log,
    );
  };
  // One that is refused, or told to go, serves nothing.
  const gone = await Promise.race([worker.ended, worker.start()]);
  if (gone !== undefined) return over(gone);
  const { notClaiming, state } = worker.status();
  const held = notClaiming ?? (worker.heard ? undefined : 'the control plane does not answer yet');
  const says = `${summary(call, address.shown, discovery)}${held === undefined ? '' : ` It claims nothing yet: ${held}`}`;
  // One that was told to go while it loaded says so itself.
  const goes = state === 'draining' || state === 'stopped';
  const level = goes ? 'debug' : held === undefined ? 'info' : 'warn';
  log[level]('worker.ready', says, {
    workerId: settings.workerId,
    pid: process.pid,
    pools: settings.pools,
    maxConcurrent: settings.maxConcurrent,
    handlers: discovery.handlers.map(handlerKey),
    spool: spoolFolder,
    version: VERSION,
  });
  service.ready(worker);
  line.tell({
    ready: 'worker',
    workerId: settings.workerId,
    handlers: discovery.handlers.map(handlerKey),
    slots: settings.maxConcurrent,
    pools: settings.pools,
  });
  if (discovery.problems.some(({ loading }) => loading)) reload.takeLate(found, discovery);
  signals.reload(() => void reload.request());
  return over(await worker.ended);
}

/** They are killed: a busy machine needs a moment for that. What they leave is swept by the next start. */
const LOOKS_END_MS = 2_000;

function agentHosts({ io, settings }: WorkerCall, log: Log, sessionId: string): ProcessCarrier {
  const cache = compileCacheFolder(io.env);
  return createHostCarrier({
    clock: io.clock,
    log,
    hostCommand: io.programs.host,
    maxHosts: settings.maxConcurrent,
    marker: sessionId,
    // A process whose card or memory has failed often cannot recover by itself.
    spoils: (end) => hostReasonOf(end) !== undefined,
    env: hostEnvironment(io),
    ...(cache && { compileCache: cache }),
  });
}

function namesProject({ from }: WorkerCall['settings']): boolean {
  return from.project !== 'default' && !from.project.startsWith('the profile');
}

/** Reports or attempts of an earlier session: then a worker without handlers still has something to do. */
function owes({ recovered }: Spool): boolean {
  return recovered.reports.length + recovered.running.length > 0;
}
