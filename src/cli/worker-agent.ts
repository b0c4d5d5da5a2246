/**
 * The worker of the real world: settings → key, spool and handlers (at the same time) → transport → carrier → Worker.
 * Ends with the worker; signals are taken from the first moment on.
 */
import { createHash } from 'node:crypto';
import { release } from 'node:os';
import { join, resolve } from 'node:path';
import { killHosts } from '../carriers/orphans.ts';
import { createProcessCarrier } from '../carriers/process.ts';
import { TaskError } from '../contract/index.ts';
import { VERSION } from '../contract/version.ts';
import { systemDisk } from '../system/disk.ts';
import { systemFolderLock } from '../system/folder-lock.ts';
import type { SystemLog } from '../system/log.ts';
import { systemProcessInfo } from '../system/process-info.ts';
import { InterlockTransport } from '../transports/interlock.ts';
import { proxyFromEnvironment } from '../wire/proxy.ts';
import { serviceAddress } from '../wire/service-url.ts';
import { openSpool, type Spool } from '../worker/spool.ts';
import { type ServedHandler, Worker, type WorkerEnd } from '../worker/worker.ts';
import { agentLog } from './agent-log.ts';
import type { Call } from './command.ts';
import { compileCacheFolder } from './compile-cache.ts';
import { durationWords } from './duration.ts';
import type { ExitName } from './exit-codes.ts';
import { type Discovery, discover, handlerKey, hostCommand, hostEnvironment } from './handlers.ts';
import { findKey } from './keys.ts';
import { lifeLine, tellHosts } from './life-line.ts';
import type { Settings } from './settings.ts';
import { serveStatus } from './status-server.ts';
import { takeSignals } from './worker-signals.ts';

export type WorkerCall = Pick<Call, 'io' | 'keyPlaces' | 'sources' | 'json' | 'style'> & {
  readonly settings: Settings<
    | 'url'
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
  const { spool } = opened;
  const marker = markerOf(spoolFolder);
  // Their spool is ours now, so they are nobody's.
  const oldHosts = killHosts(marker, { clock: io.clock, log });
  oldHosts.catch(() => {});

  const discovery = await found;
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
    marker,
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

/** `--check`: loads the handlers as a start would, tells what is wrong, and serves nothing. */
export async function checkHandlersOnly(call: WorkerCall): Promise<ExitName> {
  const { io, settings, json, style } = call;
  const folder = resolve(io.cwd, settings.handlers);
  const { handlers, problems } = await discover(folder, io, { portable: true });
  if (json) await io.out.line(JSON.stringify({ folder, handlers, problems }));
  else {
    for (const handler of handlers) {
      const safety = handler.safetyDeclared
        ? handler.effectSafety
        : 'non-idempotent (not declared)';
      await io.out.line(`${style.good('ok')}    ${handlerKey(handler)}  ${style.faint(safety)}`);
    }
    for (const { severity, message, hint } of problems) {
      const word = severity === 'error' ? style.bad('fail') : style.warn('warn');
      await io.out.line(`${word}  ${message}`);
      await io.out.line(`      ${style.faint('fix:')} ${hint}`);
    }
  }
  const broken = problems.filter(({ severity }) => severity === 'error').length;
  if (broken > 0) return 'checks-failed';
  if (handlers.length === 0) throw nothingToServe(folder, { handlers, problems });
  return 'ok';
}

/** What is said at the start: one line with all that matters, and a line for each handler that has something wrong. */
function summary({ settings }: WorkerCall, at: string, { handlers }: Discovery): string {
  const serves =
    handlers.length === 0
      ? 'no handler (what is in its spool is sent)'
      : handlers.map(handlerKey).join(', ');
  const pools = settings.pools.join(', ');
  return `Worker ${settings.workerId} (process ${process.pid}) serves ${serves} from pool ${pools}, ${settings.maxConcurrent} at a time, for ${at}.`;
}

function tellHandlers({ handlers, problems }: Discovery, log: SystemLog): void {
  for (const { severity, message, hint, file, type, code } of problems) {
    const text = `${message} ${hint}`;
    const fields = { file, ...(type && { type }), code };
    if (severity === 'error') log.error('handler.not-served', text, fields);
    else log.warn('handler.warning', text, fields);
  }
  const silent = handlers.filter(({ safetyDeclared }) => !safetyDeclared).map(handlerKey);
  if (silent.length > 0) {
    log.warn(
      'handler.safety-not-declared',
      `${silent.join(', ')} ${silent.length === 1 ? 'does' : 'do'} not declare effectSafety, so non-idempotent is taken: after a crash past the start somebody has to decide. Export effectSafety: 'pure', 'idempotent' or 'non-idempotent'.`,
      { handlers: silent },
    );
  }
}

async function ended(
  end: WorkerEnd,
  { keyPlaces, settings }: WorkerCall,
  spool: string,
  log: SystemLog,
): Promise<ExitName> {
  const kept =
    end.unsent === 0
      ? 'Nothing is left in the spool.'
      : `${end.unsent} ${end.unsent === 1 ? 'report is' : 'reports are'} left in ${spool}; the next start sends ${end.unsent === 1 ? 'it' : 'them'}.`;
  const fields = { unsent: end.unsent, stopped: end.stopped };
  const failed = (code: string, message: string, hint: string) =>
    new TaskError(code, message, { hint, details: fields });
  switch (end.why) {
    case 'drained':
      log.info('worker.drained', `Drained in order. ${kept}`, fields);
      break;
    case 'stopped-handlers': {
      const count = `${end.stopped} ${end.stopped === 1 ? 'handler' : 'handlers'}`;
      log.warn(
        'worker.drained',
        `Drained; ${count} had to be stopped, within ${durationWords(settings.drainTimeoutMs)} or by a second signal. ${kept}`,
        fields,
      );
      break;
    }
    case 'superseded':
      await log.flush();
      throw failed(
        'SESSION_SUPERSEDED',
        `Another process has taken over worker id "${settings.workerId}": ${end.detail ?? ''} ${kept}`,
        'Give each worker a --worker-id of its own, or stop the other process. Do not start this one again.',
      );
    case 'key-refused':
      await log.flush();
      throw failed(
        'KEY_REFUSED',
        `The control plane ${settings.url} refuses the key of this worker (${end.detail ?? 'no detail'}).`,
        `A task-worker key is needed. ${await keyHint(keyPlaces)}`,
      );
    case 'spool-lost':
      await log.flush();
      throw failed(
        'SPOOL_LOST',
        `The spool ${spool} was taken by another process: ${end.detail ?? ''}`,
        'Give each worker a --spool of its own, then start this one again.',
      );
    default:
      await log.flush();
      throw failed(
        'FORCED_STOP',
        `The worker left at once (${end.detail ?? 'a third signal'}). ${kept}`,
        'Start it again: what was running is told as lost, and what was done is sent.',
      );
  }
  await log.flush();
  return 'ok';
}

async function keyHint(places: Call['keyPlaces']): Promise<string> {
  const { from } = await findKey(['task-worker'], places);
  return `This one came from ${from}. Make another: interlock keys new "my worker" --kind task-worker; it goes into INTERLOCK_WORKER_KEY, a file for --key-file, or the profile.`;
}

function nothingToServe(folder: string, { problems }: Discovery): TaskError {
  const [first] = problems;
  return new TaskError(
    'HANDLERS_NONE',
    first
      ? `None of the handlers in ${folder} can be served: ${first.message}`
      : `There is no handler in ${folder}.`,
    {
      hint:
        first?.hint ??
        'Put one there, such as demo/hello@1.mjs, or name another folder with --handlers.',
      details: { problems },
    },
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

/** Stands in the environment of handler hosts, so that a later session of this spool finds them. */
function markerOf(spool: string): string {
  return `interlock-${createHash('sha256').update(spool).digest('hex').slice(0, 16)}`;
}
