import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveControlPlane } from '../../src/control-plane/serve.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';
import { Api } from './api.ts';

const silent = () => undefined;
const ports = {
  clock: systemClock(),
  random: systemRandom(),
  log: { debug: silent, info: silent, warn: silent, error: silent },
};

export interface BrowserWorld {
  readonly url: string;
  readonly api: Api;
  stop(): Promise<void>;
}

/** A control plane over SQLite on a socket, with a key of each kind. */
export async function openWorld(options: Record<string, unknown> = {}): Promise<BrowserWorld> {
  const data = mkdtempSync(join(tmpdir(), 'interlock-browser-'));
  const served = await serveControlPlane({ listen: '127.0.0.1:0', data, ...ports, ...options });
  const admin = served.adminKey as string;
  const first = new Api(served.url, { admin, producer: admin, worker: admin, operator: admin });
  const key = async (kind: string) =>
    (await first.call('admin', 'POST', '/keys', { name: kind, kind })).key;
  const keys = {
    admin,
    producer: await key('task-producer'),
    worker: await key('task-worker'),
    operator: await key('task-operator'),
  };
  return {
    url: served.url,
    api: new Api(served.url, keys),
    stop: async () => {
      await served.stop();
      rmSync(data, { recursive: true, force: true });
    },
  };
}
