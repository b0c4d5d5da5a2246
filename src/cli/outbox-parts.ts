import { resolve } from 'node:path';
import type { OutboxPorts } from '../client/outbox/outbox.ts';
import { TaskError } from '../contract/index.ts';
import type { Log } from '../ports/log.ts';
import { systemDisk } from '../system/disk.ts';
import { systemFolderLock } from '../system/folder-lock.ts';
import { systemProcessInfo } from '../system/process-info.ts';
import type { Io } from './command.ts';
import { connectionSettings } from './connect.ts';
import { shellWord } from './own-name.ts';
import { plain } from './style.ts';

/** Settings of the commands that send what is in an outbox. */
export const outboxSettings = [...connectionSettings, 'project', 'outbox'] as const;

interface OutboxSettingValues {
  readonly outbox: string | undefined;
  readonly project: string;
  readonly from: { readonly project: string };
}

/** Throws `SETTING_INVALID` where there is no folder for it. */
export function outboxFolder(
  { outbox }: Pick<OutboxSettingValues, 'outbox'>,
  io: Pick<Io, 'cwd'>,
): string {
  if (outbox !== undefined) return resolve(io.cwd, outbox);
  throw new TaskError(
    'SETTING_INVALID',
    'There is no folder for the outbox: this user has no home.',
    {
      hint: 'Name one: --outbox <folder>.',
    },
  );
}

/** The project that is expected of the key, where somebody has named one. */
export function namedProject({ project, from }: OutboxSettingValues): string | undefined {
  return from.project === 'default' ? undefined : project;
}

/**
 * The command that sends what waits, as it has to be typed: `outbox` and `url` where it would not find them by itself.
 */
export function flushCommand({
  outbox,
  url,
}: {
  readonly outbox?: string | undefined;
  readonly url?: string | undefined;
}): string {
  const words = ['interlock tasks outbox flush'];
  if (url !== undefined) words.push('--url', shellWord(url));
  if (outbox !== undefined) words.push('--outbox', shellWord(outbox));
  return words.join(' ');
}

/** One for each address that something waits for; @param folder where it was named. */
export function flushCommands(
  waiting: readonly { readonly serviceUrl: string }[],
  folder: string | undefined,
): string {
  const urls = [...new Set(waiting.map(({ serviceUrl }) => serviceUrl))];
  return urls.map((url) => flushCommand({ url, outbox: folder })).join('; ');
}

/** @param folder where it was named. */
export function listCommand(folder: string | undefined): string {
  return `interlock tasks outbox list${folder === undefined ? '' : ` --outbox ${shellWord(folder)}`}`;
}

/** @param folder where it was named. */
export function discardCommand(folder: string | undefined): string {
  return `interlock tasks outbox discard <idempotency key>${folder === undefined ? '' : ` --outbox ${shellWord(folder)}`}`;
}

/** What somebody has to do before anything stored is taken. @param code see `needsSomebody`. */
export function mend(code: string | undefined): string {
  switch (code) {
    case 'NOT_FOUND':
      return 'Mend the address (--url)';
    case 'CONTRACT_UNSUPPORTED':
    case 'UNSUPPORTED_OPERATION':
      return 'Use a version of this program that fits the control plane';
    default:
      return 'Mend the key (an admin makes one: interlock keys new "my app" --kind task-producer)';
  }
}

/** The real disk. What happens beside the command's own answer is a note on stderr. */
export function outboxPorts(io: Io): OutboxPorts {
  const { clock, random } = io;
  const note = (event: string, text: string) => {
    if (!TOLD_BY_THE_COMMAND.has(event)) void io.err.line(`note   ${plain(text)}`);
  };
  const log: Log = { debug() {}, info() {}, warn: note, error: note };
  return {
    disk: systemDisk(),
    clock,
    random,
    log,
    lock: systemFolderLock(),
    processInfo: () => systemProcessInfo(),
  };
}

const TOLD_BY_THE_COMMAND = new Set(['outbox.away', 'outbox.key']);
