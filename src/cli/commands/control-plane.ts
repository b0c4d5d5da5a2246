import { join, resolve } from 'node:path';
import { TaskError } from '../../contract/index.ts';
import { VERSION } from '../../contract/version.ts';
import { workerDefaults } from '../../core/defaults.ts';
import { systemProcessInfo } from '../../system/process-info.ts';
import { systemSocketOwners } from '../../system/socket-owners.ts';
import { hostPort } from '../../wire/service-url.ts';
import { agentLog } from '../agent-log.ts';
import { defineCommand } from '../command.ts';
import { DEV_LOCK, devListens } from '../dev/dev-lock.ts';
import { exitCode } from '../exit-codes.ts';
import { lifeLine } from '../life-line.ts';
import { ownName } from '../own-name.ts';
import { notShown } from '../show-once.ts';
import { usageError } from '../usage.ts';

export const controlPlaneCommand = defineCommand({
  path: 'control-plane',
  summary: 'Run the control plane: the queue and its truth',
  description:
    'Run the control plane: the queue and its truth. The first start on an empty --data prints one admin key on stdout, once; only its hash is kept. SIGTERM or Ctrl-C ends it in order within 5 s.',
  settings: [
    'listen',
    'tlsCert',
    'tlsKey',
    'behindProxy',
    'pages',
    'data',
    'store',
    'leaseMinMs',
    'leaseDefaultMs',
    'logLevel',
    'logFormat',
  ],
  examples: [
    ['control-plane --data ./data', 'on 127.0.0.1:7420, tasks in ./data'],
    [
      'control-plane --listen 0.0.0.0:7420 --data /var/lib/interlock --tls-cert cert.pem --tls-key key.pem',
      'for other machines; make the first key before, with keys new --create-data',
    ],
    [
      'control-plane --listen 10.0.0.5:7420 --behind-proxy',
      'for other machines: a proxy in front speaks TLS',
    ],
    ['control-plane --store memory', 'forgets all at its end'],
  ],
  async run(call) {
    const { io, settings, style, json } = call;
    const { store, leaseMinMs, leaseDefaultMs, listen } = settings;
    if (leaseMinMs > leaseDefaultMs)
      throw usageError('--lease-min is longer than --lease-default.', 'control-plane');
    if (settings.data === undefined && store === 'sqlite') {
      throw new TaskError(
        'SETTING_INVALID',
        'There is no folder for data: this user has no home.',
        {
          hint: 'Name one with --data.',
        },
      );
    }
    const data = store === 'sqlite' && settings.data ? resolve(io.cwd, settings.data) : undefined;
    const { tlsCert, tlsKey, behindProxy, pages } = settings;
    if ((tlsCert === undefined) !== (tlsKey === undefined)) {
      const [given, missing] = tlsCert === undefined ? ['key', 'cert'] : ['cert', 'key'];
      throw usageError(`--tls-${given} is of no use without --tls-${missing}.`, 'control-plane');
    }
    if (behindProxy && tlsCert !== undefined)
      throw usageError(
        '--behind-proxy is for a control plane that speaks plain http to its proxy, so it is of no use with --tls-cert.',
        'control-plane',
        'Leave it out: a proxy may pass TLS through, or speak TLS to this port, without it.',
      );
    const tls =
      tlsCert === undefined || tlsKey === undefined
        ? undefined
        : { certFile: resolve(io.cwd, tlsCert), keyFile: resolve(io.cwd, tlsKey) };
    const log = agentLog(io, settings);
    // Before anything is open: a signal that comes early must not be lost.
    const ending = Promise.withResolvers<string>();
    let signalledAt: number | undefined;
    const onSignal = (signal: string) => {
      const now = io.clock.now();
      if (signalledAt !== undefined && now - signalledAt < workerDefaults.signalGapMs) return;
      if (signalledAt !== undefined) process.exit(exitCode('forced-stop'));
      signalledAt = now;
      ending.resolve(signal);
    };
    for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
    const line = lifeLine(io, () => ending.resolve('the end of interlock dev'));

    const { serveControlPlane } = await import('../../control-plane/serve.ts');
    const { clock, random } = io;
    const served = await serveControlPlane({
      listen: hostPort(listen.host, listen.port),
      data,
      store,
      leaseMinMs,
      leaseDefaultMs,
      tls,
      behindProxy,
      pages,
      owners: systemSocketOwners(),
      clock,
      random,
      log,
      version: VERSION,
      showKey: async (adminKey, url) => {
        await io.out.write(
          json
            ? `${JSON.stringify({ url, adminKey })}\n`
            : `${style.strong('admin key')}  ${adminKey}\n           It is shown this once. Keep it: with it, ${ownName(io)} keys new makes all others.\n`,
        );
        const failed = notShown(
          'The first admin key cannot be shown, so it was not kept',
          io.out,
          `Start it once with a stdout that keeps what it says${data ? `, or make the key before: interlock keys new "admin" --kind admin --data ${data}` : ''}.`,
        );
        if (failed) throw failed;
      },
    }).catch(async (error: unknown) => {
      throw await withDev(error, io.cwd, listen.port);
    });
    const kept = data ? `tasks in ${data}` : 'tasks in memory, gone at the end';
    const listens = hostPort(listen.host, served.port);
    const answers = served.url.endsWith(`//${listens}`)
      ? `answers at ${served.url}, ${kept}`
      : `listens on ${listens} and answers at ${served.url}, as this machine reaches it; ${kept}`;
    // Behind a proxy the address to open is the proxy's, which is not known here.
    const page = pages === 'off' || behindProxy ? undefined : `${served.url}/tasks`;
    const look = page === undefined ? '' : ` In a browser: ${page}`;
    log.info('control-plane.ready', `The control plane ${answers}.${look}`, {
      url: served.url,
      ...(page && { page }),
      listens,
      pid: process.pid,
      version: VERSION,
    });
    line.tell({ ready: 'control-plane', url: served.url });
    log.info('control-plane.stopping', `Stopping, by ${await ending.promise}.`);
    await served.stop();
    const { loss } = served;
    if (loss) {
      const why =
        loss.by === 'disk'
          ? 'its disk could not keep what was written'
          : 'files of its data were taken away while it ran';
      const text = `Stopped, not in order: ${why}. Next: ${loss.next}`;
      log.error('control-plane.stopped-lost', text, { rescued: loss.rescued });
    } else log.info('control-plane.stopped', 'Stopped in order.');
    await log.flush();
    return loss ? 'input-output' : 'ok';
  },
});

/** Most often it is `npm start` in another terminal that has the port. */
async function withDev(error: unknown, cwd: string, port: number): Promise<unknown> {
  if (!(error instanceof TaskError) || error.code !== 'ADDRESS_IN_USE') return error;
  const pid = await devListens(join(cwd, DEV_LOCK), port, await systemProcessInfo());
  if (pid === undefined) return error;
  return new TaskError(
    error.code,
    `${error.message} It is interlock dev of this folder (process ${pid}).`,
    {
      hint: 'End that first, with Ctrl-C in its terminal (npm start), or use another port with --listen.',
      cause: error,
      details: { ...error.details, pid },
    },
  );
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
