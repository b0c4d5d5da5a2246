import { openClient } from '../client/open-client.ts';
import type { ServiceClient } from '../client/service-client.ts';
import { type KeyKind, makeId } from '../contract/index.ts';
import { proxyFromEnvironment } from '../wire/proxy.ts';
import { serviceAddress } from '../wire/service-url.ts';
import type { Io } from './command.ts';
import { findKey, type KeyPlaces } from './keys.ts';
import type { SettingName } from './setting-table.ts';

/** Settings of every command that talks to a control plane. */
export const connectionSettings = [
  'url',
  'keyFile',
  'caFile',
  'insecureHttp',
] as const satisfies readonly SettingName[];

/** Kinds of key that may read and cancel, the humblest first. */
export const READERS: readonly KeyKind[] = ['task-producer', 'task-operator', 'admin'];
export const OPERATORS: readonly KeyKind[] = ['task-operator', 'admin'];
export const PRODUCERS: readonly KeyKind[] = ['task-producer', 'admin'];
export const ADMINS: readonly KeyKind[] = ['admin'];

export interface Connected extends AsyncDisposable {
  readonly client: ServiceClient;
  /** For an operator's action: the same one again gets the first answer. */
  actionId(): string;
}

/**
 * A client with the key that fits. A person waits, so each call is made once: what does not answer is told at once.
 * @param kinds that may make the calls, the best first.
 * @param project that the key must belong to; checked with the first call.
 */
export async function connect(
  call: {
    readonly io: Io;
    readonly keyPlaces: KeyPlaces;
    readonly notes: { keyFrom?: string };
    readonly settings: {
      readonly url: string;
      readonly caFile: string | undefined;
      readonly insecureHttp: boolean;
    };
  },
  kinds: readonly KeyKind[],
  project?: string,
): Promise<Connected> {
  const { io, keyPlaces, notes, settings } = call;
  const { clock, random } = io;
  // Before the key is looked for: a wrong address is the first thing to mend.
  serviceAddress(settings.url, settings.insecureHttp);
  const key = await findKey(kinds, keyPlaces);
  notes.keyFrom = key.from;
  if (key.advice) await io.err.line(`note   ${key.advice}`);
  const open = openClient(
    {
      serviceUrl: settings.url,
      key: key.source,
      project,
      timeoutMs: 0,
      insecureHttp: settings.insecureHttp,
      caFile: settings.caFile,
      proxy: proxyFromEnvironment(io.env),
    },
    { clock, random },
  );
  return {
    client: open.client,
    actionId: () => makeId('act', clock.wall(), random.bytes(10)),
    [Symbol.asyncDispose]: () => open.close(),
  };
}
