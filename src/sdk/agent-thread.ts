/**
 * The agent of a `TaskWorker`, in a thread of its own: the worker's loops, connections and spool. Started by `agent.ts`
 * with what it needs as data; handlers run in the thread that started it. Ends by itself when its worker has ended or
 * could not be started: nothing is open then.
 */
import { hostname } from 'node:os';
import { workerData } from 'node:worker_threads';
import { createThreadCarrier } from '../carriers/thread.ts';
import { BegunCount } from '../carriers/thread-words.ts';
import { TaskError } from '../contract/errors.ts';
import { VERSION } from '../contract/version.ts';
import { restDefaults } from '../core/rest-defaults.ts';
import { openSpool } from '../spool/index.ts';
import { systemClock } from '../system/clock.ts';
import { keepCompiledCodeNow } from '../system/compile-cache.ts';
import { systemDisk } from '../system/disk.ts';
import { systemFolderLock } from '../system/folder-lock.ts';
import { systemLog } from '../system/log.ts';
import { systemProcessInfo } from '../system/process-info.ts';
import { systemRandom } from '../system/random.ts';
import { InterlockTransport } from '../transports/interlock.ts';
import { Worker } from '../worker/worker.ts';
import { AgentKey } from './agent-key.ts';
import { AgentLog } from './agent-log.ts';
import { type AgentData, type FromAgent, type ToAgent, tellError } from './agent-words.ts';
import { sdkError, sdkLog, sdkStatus, sdkText } from './sdk-words.ts';

const { settings, ports, answered, begun, version } = workerData as AgentData;
const { words, jobs, status } = ports;
const clock = systemClock();
const relayed = settings.logged ? new AgentLog(words) : undefined;
const log = sdkLog(relayed ?? systemLog({ level: 'warn' }));
const key = new AgentKey(settings.key, words, clock);
const tell = (message: FromAgent) => words.postMessage(message);

words.on('message', (message: ToAgent) => {
  if (message.t === 'key') key.tell(message.key, message.answer);
  else if (message.t === 'logged') relayed?.taken(message.lines);
  else void worker?.drain();
});

let worker: Worker | undefined;
void serve();

/** No await at the top: in the executable this file is a CommonJS module. */
async function serve(): Promise<void> {
  try {
    worker = await open();
    await run(worker);
  } catch (error) {
    const self = { pid: process.pid, hostName: hostname() };
    tell({ t: 'failed', error: sdkError(tellError(error), self) });
  } finally {
    for (const port of [words, jobs, status]) port.close();
  }
}

async function open(): Promise<Worker> {
  if (version !== VERSION)
    throw new TaskError(
      'AGENT_NOT_STARTED',
      `The program holds version ${version} of interlock-node-sdk, the file of its agent is of version ${VERSION}.`,
      { hint: 'Build the program again with the version that is installed.' },
    );
  const { serviceUrl, insecureHttp, caFile, proxy, workerId, sessionId } = settings;
  const transport = new InterlockTransport({
    serviceUrl,
    key,
    clock,
    insecureHttp,
    caFile,
    proxy,
  });
  let made: Worker | undefined;
  const early: { trouble?: string | undefined; lost?: string } = {};
  const opened = await openSpool({
    disk: systemDisk(),
    clock,
    log,
    lock: systemFolderLock(clock),
    processInfo: await systemProcessInfo(),
    folder: settings.spool,
    workerId,
    sessionId,
    serviceUrl,
    onTrouble: (why) => {
      early.trouble = why;
      made?.spoolTrouble(why);
    },
    onLost: (why) => {
      early.lost = why;
      made?.spoolLost(why);
    },
  });
  if (!opened.ok) {
    await transport.close();
    throw opened.error;
  }
  const { pools, maxConcurrent, handlers, drainTimeoutMs, stopGraceMs, pollMaxMs } = settings;
  made = new Worker(
    {
      clock,
      random: systemRandom(),
      log,
      transport,
      carrier: createThreadCarrier({ port: jobs, begun: new BegunCount(begun), clock, log }),
      spool: opened.spool,
    },
    {
      workerId,
      sessionId,
      pools,
      maxConcurrent,
      handlers,
      drainTimeoutMs,
      stopGraceMs,
      pollMaxMs,
      versions: {
        sdk: VERSION,
        node: process.versions.node,
        platform: `${process.platform}-${process.arch}`,
      },
    },
  );
  if (early.trouble !== undefined) made.spoolTrouble(early.trouble);
  if (early.lost !== undefined) made.spoolLost(early.lost);
  return made;
}

/** Resolves when nothing is left of the worker. Rejects where its key was refused at the start. */
async function run(worker: Worker): Promise<void> {
  tell({ t: 'up', status: sdkStatus(worker.status()) });
  const count = new Int32Array(answered);
  status.on('message', () => {
    status.postMessage(sdkStatus(worker.status()));
    Atomics.add(count, 0, 1);
    Atomics.notify(count, 0);
  });
  await worker.start();
  const early = await Promise.race([worker.ended, undefined]);
  if (early?.why === 'key-refused') {
    tell({ t: 'ended', end: early, status: sdkStatus(worker.status()) });
    throw new TaskError(
      'UNAUTHENTICATED',
      `The control plane at ${settings.serviceUrl} refused the key: ${early.detail}`,
      {
        hint: 'Use a key of the kind task-worker: `interlock keys new "my worker" --kind task-worker`.',
      },
    );
  }
  tell({ t: 'started' });
  const keeps = clock.timer(restDefaults.afterMs, keepCompiledCodeNow, 'patient');
  let gone = false;
  void worker.gone.then(() => {
    gone = true;
  });
  const told = await worker.ended;
  keeps.cancel();
  const end = told.detail === undefined ? told : { ...told, detail: sdkText(told.detail) };
  tell({ t: 'ended', end, status: sdkStatus(worker.status()), ...(gone ? {} : { left: true }) });
  if (gone) return;
  await worker.gone;
  tell({ t: 'gone', status: sdkStatus(worker.status()) });
}
