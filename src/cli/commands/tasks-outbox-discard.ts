import { basename, dirname, resolve } from 'node:path';
import { inspectOutbox, type OutboxEntry } from '../../client/outbox/inspect.ts';
import { TaskError, typeKey } from '../../contract/index.ts';
import { causeCode } from '../../spool/errors.ts';
import { canAsk, confirmed } from '../ask.ts';
import { defineCommand } from '../command.ts';
import { listCommand, outboxFolder, outboxPorts } from '../outbox-parts.ts';
import { plain } from '../style.ts';
import { usageError } from '../usage.ts';

const COMMAND = 'tasks outbox discard';

export const tasksOutboxDiscard = defineCommand({
  path: COMMAND,
  summary: 'Remove what was refused from the outbox of this machine, for good',
  description: [
    'Remove submissions that the control plane refused and that were set aside, for good, with their input. What waits is never removed. It shows what is lost and asks; --yes answers for programs.',
    'With --json: {folder, discarded: [{idempotencyKey, type, schemaVersion, file}]}.',
  ].join('\n'),
  positionals: [
    {
      name: 'key',
      optional: true,
      help: 'Idempotency key, or the file that tasks outbox list names',
    },
  ],
  options: {
    all: { form: 'switch', help: 'All that were refused' },
    yes: { form: 'switch', alias: 'y', help: 'Do not ask' },
  },
  settings: ['outbox'],
  examples: [
    ['tasks outbox discard order-17', 'after it was mended and submitted anew'],
    ['tasks outbox discard --all --yes', 'all that were refused'],
  ],
  async run({ args, io, json, settings }) {
    const { key, all } = args;
    if ((key === undefined) === !all)
      throw usageError(
        `${COMMAND} needs ${all ? 'a key or --all, not both' : 'a key, a file or --all'}.`,
        COMMAND,
      );
    const folder = outboxFolder(settings, io);
    const ports = outboxPorts(io);
    const found = await inspectOutbox({ ...ports, processInfo: await ports.processInfo(), folder });
    const refused = found.entries.filter(({ state }) => state === 'refused');
    const fits = ({ idempotencyKey, file }: OutboxEntry) =>
      all ||
      idempotencyKey === key ||
      basename(file) === key ||
      file === resolve(io.cwd, key ?? '');
    const meant = refused.filter(fits);
    const list = listCommand(settings.from.outbox === 'default' ? undefined : folder);
    if (meant.length === 0 && !all) throw nothingMeant(found.entries, key ?? '', folder, list);
    if (meant.length > 0 && !args.yes) {
      if (json || !canAsk(io))
        throw usageError(
          `${COMMAND} needs --yes where nobody can be asked: ${lossWords(meant.length)}`,
          COMMAND,
          `Look at them first (${list}), then give --yes.`,
        );
      for (const entry of meant) await io.err.line(plain(words(entry)));
      await io.err.line(lossWords(meant.length));
      if (!(await confirmed(io, `Discard ${meant.length === 1 ? 'it' : `all ${meant.length}`}?`))) {
        await io.err.line('Nothing was discarded.');
        return 'ok';
      }
    }
    for (const { file } of meant) {
      await ports.disk.remove(file).catch((cause: unknown) => {
        const why = causeCode(cause);
        if (why === undefined) throw cause;
        throw new TaskError('OUTBOX_UNWRITABLE', `${file} could not be removed (${why}).`, {
          hint: 'Check the owner and the mode of the folder.',
          cause,
        });
      });
    }
    // A power cut may bring some of them back; they can be discarded again.
    const [first] = meant;
    if (first) await ports.disk.syncFolder(dirname(first.file)).catch(() => {});
    if (json) {
      const discarded = meant.map(({ idempotencyKey, type, schemaVersion, file }) => {
        return { idempotencyKey, type, schemaVersion, file };
      });
      await io.out.line(JSON.stringify({ folder, discarded }));
    } else if (meant.length === 0) await io.err.line(`Nothing in ${folder} was refused.`);
    else for (const entry of meant) await io.out.line(`discarded  ${plain(words(entry))}`);
    return 'ok';
  },
});

function words({ type, schemaVersion, idempotencyKey, code }: OutboxEntry): string {
  return `${typeKey(type, schemaVersion)} ${idempotencyKey}${code ? ` (${code})` : ''}`;
}

function lossWords(count: number): string {
  return `${count === 1 ? 'a refused submission' : `${count} refused submissions`} will be lost for good, with the input.`;
}

function nothingMeant(
  entries: readonly OutboxEntry[],
  key: string,
  folder: string,
  list: string,
): TaskError {
  const waits = entries.some(({ idempotencyKey }) => idempotencyKey === key);
  return waits
    ? new TaskError('CONFLICT', `${key} was not refused: it waits in ${folder} to be submitted.`, {
        hint: 'Only what was refused can be discarded. Once it is submitted: interlock tasks cancel.',
      })
    : new TaskError('NOT_FOUND', `Nothing that was refused in ${folder} is named ${key}.`, {
        hint: `See what lies there: ${list}`,
      });
}
