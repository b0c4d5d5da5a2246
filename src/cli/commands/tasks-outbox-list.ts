import {
  inspectOutbox,
  type OutboxEntry,
  type OutboxInspection,
} from '../../client/outbox/inspect.ts';
import { needsSomebody } from '../../client/outbox/verdict.ts';
import { typeKey } from '../../contract/index.ts';
import { defineCommand } from '../command.ts';
import { durationWords } from '../duration.ts';
import { discardCommand, flushCommands, mend, outboxFolder, outboxPorts } from '../outbox-parts.ts';
import { asTyped } from '../own-name.ts';
import { plain, type Style } from '../style.ts';
import { type Column, tableLines } from '../table.ts';

export const tasksOutboxList = defineCommand({
  path: 'tasks outbox list',
  summary: 'List what waits in the outbox of this machine',
  description: [
    'List the submissions that are stored on this machine and not submitted yet, oldest first, and those that the control plane refused, which are set aside. Nothing is sent.',
    'With --json: {folder, entries, corrupt, newer, unreadable, lastTry?, owner?}; each entry has state (waiting or refused), idempotencyKey, type, schemaVersion, serviceUrl, project?, storedAt, ageMs, tries, code?, why?, file.',
  ].join('\n'),
  settings: ['outbox'],
  examples: [
    ['tasks outbox list', 'the outbox of this user'],
    ['tasks outbox list --outbox /var/lib/my-app/outbox --json', 'of a program, for a program'],
  ],
  async run({ io, json, style, settings }) {
    const folder = outboxFolder(settings, io);
    const ports = outboxPorts(io);
    const found = await inspectOutbox({ ...ports, processInfo: await ports.processInfo(), folder });
    const wallMs = io.clock.wall();
    if (json) {
      const { exists: _, ...told } = found;
      const entries = found.entries.map((entry) => ({ ...entry, ageMs: ageOf(entry, wallMs) }));
      await io.out.line(JSON.stringify({ ...told, entries }));
      return 'ok';
    }
    if (found.entries.length > 0)
      await io.out.write(
        `${tableLines(found.entries, columnsOf(style, wallMs), style, io.columns).join('\n')}\n`,
      );
    const named = settings.from.outbox === 'default' ? undefined : folder;
    for (const line of notes(found, wallMs, named))
      await io.err.line(style.faint(plain(asTyped(line, io))));
    return 'ok';
  },
});

function columnsOf(style: Style, wallMs: number): Column<OutboxEntry>[] {
  return [
    {
      title: 'STATE',
      cell: ({ state }) => state,
      paint: ({ state }, text) => (state === 'refused' ? style.bad(text) : text),
    },
    { title: 'AGE', cell: (entry) => durationWords(ageOf(entry, wallMs)), align: 'right' },
    { title: 'TYPE', cell: ({ type, schemaVersion }) => typeKey(type, schemaVersion) },
    { title: 'IDEMPOTENCY KEY', cell: ({ idempotencyKey }) => idempotencyKey },
    {
      title: 'FOR',
      cell: ({ serviceUrl, project }) => `${serviceUrl}${project ? ` ${project}` : ''}`,
    },
    {
      title: 'TRIES',
      cell: ({ state, tries }) => (state === 'refused' ? '' : String(tries)),
      align: 'right',
    },
    { title: 'LAST ANSWER', cell: ({ code, why }) => (code ? `${code}: ${why ?? ''}` : '') },
  ];
}

/** @param named the folder, where it is not the usual one. */
function notes(found: OutboxInspection, wallMs: number, named: string | undefined): string[] {
  const { folder, entries, corrupt, newer, unreadable, lastTry, owner } = found;
  const waits = entries.filter(({ state }) => state === 'waiting');
  const waiting = waits.length;
  const refused = entries.filter(({ state }) => state === 'refused');
  const stuck = [lastTry, ...waits].find((tried) => needsSomebody(tried?.code));
  const lines = [
    !found.exists && named !== undefined
      ? `There is no folder ${folder}: nothing was ever stored there. Is it the right one?`
      : waiting === 0
        ? `Nothing waits in ${folder}.`
        : `${waiting} ${waiting === 1 ? 'submission waits' : 'submissions wait'} in ${folder}.`,
  ];
  if (waiting > 0 && lastTry) {
    const ago = durationWords(wallMs - Date.parse(lastTry.at) || 0);
    const times = lastTry.times === 1 ? '' : `, ${lastTry.times} times in a row`;
    lines.push(`The last try was ${ago} ago${times}: ${lastTry.why}`);
  }
  if (waiting > 0 && stuck) lines.push(`${mend(stuck.code)}, then: ${flushCommands(waits, named)}`);
  else if (waiting > 0 && owner?.state === 'alive')
    lines.push(`Process ${owner.pid} on ${owner.hostName} sends them as soon as it can.`);
  else if (waiting > 0) lines.push(`Send them now: ${flushCommands(waits, named)}`);
  if (refused.length > 0)
    lines.push(
      `${refused.length} refused and never sent again: mend the cause, submit it anew, then ${discardCommand(named)}:`,
      ...refused.slice(0, FILES_SHOWN).map(({ file }) => `  ${file}`),
    );
  if (refused.length > FILES_SHOWN)
    lines.push(`  and ${refused.length - FILES_SHOWN} more in ${folder}/refused`);
  if (corrupt > 0)
    lines.push(`${corrupt} damaged: look into ${folder}/corrupt, and check the disk.`);
  if (newer > 0) lines.push(`${newer} of a later version: use the newer program for this outbox.`);
  for (const { file, why } of unreadable) lines.push(`${file} cannot be read (${why}).`);
  return lines;
}

function ageOf({ storedAt }: OutboxEntry, wallMs: number): number {
  return Math.max(0, wallMs - Date.parse(storedAt)) || 0;
}

/** Further ones are in the folder, and in --json. */
const FILES_SHOWN = 20;
