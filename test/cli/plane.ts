import { onTestFinished } from 'vitest';
import type { KeyKind } from '../../src/contract/index.ts';
import { serveControlPlane } from '../../src/control-plane/serve.ts';
import { TaskOperator } from '../../src/index.ts';
import type { Log } from '../../src/ports/log.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';

export const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };

export interface Plane {
  readonly url: string;
  /** The environment of a person who has a key of each of these kinds. */
  env(...kinds: KeyKind[]): Record<string, string>;
  key(kind: KeyKind): string;
}

/** A control plane in this process, on a real socket, with a key of each kind. Ends with the test. */
export async function startPlane(): Promise<Plane> {
  const served = await serveControlPlane({
    listen: '127.0.0.1:0',
    store: 'memory',
    clock: systemClock(),
    random: systemRandom(),
    log: silent,
  });
  onTestFinished(() => served.stop());
  const { url, adminKey = '' } = served;
  const keys = new Map<KeyKind, string>([['admin', adminKey]]);
  const admin = new TaskOperator({ serviceUrl: url, key: adminKey });
  for (const kind of ['task-producer', 'task-worker', 'task-operator', 'metrics', 'sdk'] as const)
    keys.set(kind, (await admin.newKey(kind, kind)).key);
  await admin.close();
  const key = (kind: KeyKind) => keys.get(kind) ?? '';
  return {
    url,
    key,
    env: (...kinds) => ({
      INTERLOCK_URL: url,
      ...Object.fromEntries(kinds.map((kind) => [VARIABLES[kind], key(kind)])),
    }),
  };
}

const VARIABLES: Partial<Record<KeyKind, string>> = {
  'task-producer': 'INTERLOCK_PRODUCER_KEY',
  'task-worker': 'INTERLOCK_WORKER_KEY',
  'task-operator': 'INTERLOCK_OPERATOR_KEY',
  admin: 'INTERLOCK_ADMIN_KEY',
};
