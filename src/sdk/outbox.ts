import { Outbox, type OutboxHandlers } from '../client/outbox/outbox.ts';
import type { ServiceClient } from '../client/service-client.ts';
import { TaskError } from '../contract/errors.ts';
import type { Log } from '../ports/log.ts';
import { systemDisk } from '../system/disk.ts';
import { systemFolderLock } from '../system/folder-lock.ts';
import { systemProcessInfo } from '../system/process-info.ts';
import { quietClock } from '../system/quiet-clock.ts';
import { systemRandom } from '../system/random.ts';
import {
  checkOptions,
  mustBeFunction,
  mustBeLog,
  mustBeText,
  type OptionChecks,
} from './options.ts';
import { ownLog } from './quiet-log.ts';

/** Where submissions are kept while the control plane is away, and who is told of them. */
export interface OutboxSettings extends OutboxHandlers {
  /** On a local disk; made for this user alone. Many processes may share it. */
  readonly folder: string;
  /** Where it tells what happens [warnings and errors on stderr]. */
  readonly log?: Log | undefined;
}

/** The option as settings. Throws `INVALID_OPTION`. */
export function outboxSettings(given: string | OutboxSettings): OutboxSettings {
  const settings = typeof given === 'string' ? { folder: given } : given;
  checkOptions('outbox', settings, outboxChecks);
  if (typeof settings.folder === 'string') return settings;
  throw new TaskError('INVALID_OPTION', 'The option outbox names no folder.', {
    hint: "Write it as outbox: '/var/lib/my-app/outbox'.",
    details: { option: 'outbox' },
  });
}

const outboxChecks: OptionChecks<OutboxSettings> = {
  folder: mustBeText,
  onSubmitted: mustBeFunction,
  onRefused: mustBeFunction,
  log: mustBeLog,
};

/** An outbox over the real disk. Its waiting does not keep a process alive. */
export function systemOutbox(
  client: ServiceClient,
  settings: OutboxSettings,
  project?: string | undefined,
): Outbox {
  const { folder, log, ...handlers } = settings;
  const ports = {
    disk: systemDisk(),
    clock: quietClock(),
    random: systemRandom(),
    log: log ?? ownLog(),
    lock: systemFolderLock(),
    processInfo: () => systemProcessInfo(),
  };
  return new Outbox(ports, client, { ...handlers, folder, project });
}
