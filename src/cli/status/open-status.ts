import { VERSION } from '../../contract/version.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Meter } from '../../ports/meter.ts';
import type { ProcessIdentity } from '../../ports/process-info.ts';
import { hostPort } from '../../wire/service-url.ts';
import type { Listen } from '../setting-schemas.ts';
import { Counts } from './counts.ts';
import type { Metrics } from './metrics.ts';
import { type StatusReport, statusReport, type Told } from './report.ts';
import { type Page, type Pages, serveStatus, text } from './server.ts';
import { removeStatusFile, statusFileOf, writeStatusFile } from './status-file.ts';

export interface StatusPort {
  /** For the worker's loops. */
  readonly meter: Meter;
  readonly port: number;
  /** From now on it is told of. */
  worker(worker: Told): void;
  close(): Promise<void>;
}

export interface StatusPlace {
  readonly listen: Listen;
  readonly workerId: string;
  readonly spoolFolder: string;
  readonly self: ProcessIdentity;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Serves the status of a worker on this machine: `/healthz`, `/readyz`, `/status`, `/metrics`. Opened before the worker
 * begins, so that a slow start can be watched too. Throws where the address cannot be had.
 */
export async function openStatus(place: StatusPlace): Promise<StatusPort> {
  const { clock, listen, log, self, spoolFolder, workerId } = place;
  const counts = new Counts();
  let worker: Told | undefined;
  const read = () => worker && statusReport(worker, clock, self.pid);
  const server = await serveStatus(listen, pagesOf(counts, workerId, self.pid, read), place);
  const at = hostPort(listen.host, server.port);
  log.info('status.listening', `GET http://${at}/status tells what this worker does.`, {
    host: listen.host,
    port: server.port,
  });
  if (!server.loopback)
    log.warn(
      'status.beyond-loopback',
      `The status port ${at} can be reached from other machines: whoever does reads types, ids and counts of this worker (no inputs, no keys). Keep it within a network that you trust, or listen on 127.0.0.1.`,
    );
  try {
    writeStatusFile(spoolFolder, { host: listen.host, port: server.port, workerId }, self);
  } catch (cause) {
    log.warn(
      'status.file-not-written',
      `${statusFileOf(spoolFolder)} could not be written (${cause instanceof Error ? cause.message : cause}): interlock worker status needs --status-listen to find this worker.`,
    );
  }
  return {
    meter: counts,
    port: server.port,
    worker: (found) => {
      worker = found;
    },
    close: async () => {
      try {
        removeStatusFile(spoolFolder, self.pid);
      } catch {
        // It is told as stale by its pid and start time.
      }
      await server.close();
    },
  };
}

function pagesOf(
  counts: Counts,
  workerId: string,
  pid: number,
  read: () => StatusReport | undefined,
): Pages {
  let metrics: Promise<Metrics> | undefined;
  return {
    '/healthz': () => {
      const stalled = read()?.stalled;
      return stalled === undefined ? text(200, 'ok') : text(503, stalled);
    },
    '/readyz': () => {
      const status = read();
      if (status === undefined) return text(503, STARTS);
      return status.ready ? text(200, 'ready') : text(503, status.notReady ?? 'not ready');
    },
    '/status': () => {
      const status = read();
      if (status === undefined) {
        const versions = { interlock: VERSION, node: process.version };
        return json(503, {
          workerId,
          state: 'starting',
          pid,
          ready: false,
          notReady: STARTS,
          versions,
        });
      }
      const working = status.state === 'ready' || status.state === 'full';
      return json(working ? 200 : 503, status);
    },
    '/metrics': async () => {
      // An agent that nobody scrapes does not load it.
      metrics ??= import('./metrics.ts').then(
        (loaded) => new loaded.Metrics(counts, workerId, read),
      );
      const loaded = await metrics.catch((error: unknown) => String(error));
      if (typeof loaded !== 'string') return loaded.page();
      metrics = undefined;
      return text(503, `${NOT_LOADED} (${loaded}).`);
    },
  };
}

function json(status: number, value: unknown): Page {
  return { status, type: 'application/json', body: `${JSON.stringify(value)}\n` };
}

const NOT_LOADED =
  'The part that tells metrics cannot be loaded: was this program replaced since the worker started? Then start the worker again';
const STARTS = 'It starts: handlers are loaded and the spool is read.';
