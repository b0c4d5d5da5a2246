import { FlushLock } from '../../client/outbox/flush-lock.ts';
import { type FlushEnd, Flusher } from '../../client/outbox/flusher.ts';
import { inspectOutbox, type OutboxInspection } from '../../client/outbox/inspect.ts';
import type { PassEvents } from '../../client/outbox/pass.ts';
import type { IntentRecord } from '../../client/outbox/records.ts';
import { IntentStore } from '../../client/outbox/store.ts';
import { typeKey } from '../../contract/index.ts';
import { serviceAddress } from '../../wire/service-url.ts';
import { defineCommand, type Io } from '../command.ts';
import { connect, PRODUCERS } from '../connect.ts';
import {
  flushCommand,
  listCommand,
  namedProject,
  outboxFolder,
  outboxPorts,
  outboxSettings,
} from '../outbox-parts.ts';
import { asTyped } from '../own-name.ts';
import { plain, type Style } from '../style.ts';

export const tasksOutboxFlush = defineCommand({
  path: 'tasks outbox flush',
  summary: 'Submit what waits in the outbox of this machine, now',
  description: [
    'Submit what is stored on this machine, oldest first. Each becomes one task, also if it was sent before and the answer was lost. What the control plane refuses for good is set aside with its answer. If something is left, the exit code is 14 and the reason is told.',
    'What was stored for another address or project is not sent: that control plane may have it already, and this one would not know. --stored-for says that it is the same one under another address.',
    'With --json: {folder, submitted: [{idempotencyKey, taskId, replayed}], refused: [{idempotencyKey, code, message}], left, why?}.',
  ].join('\n'),
  options: {
    'stored-for': {
      form: 'list',
      argument: 'address',
      help: 'Also what was stored for this address; may be given several times',
    },
  },
  settings: outboxSettings,
  examples: [
    ['tasks outbox flush', 'everything that is for this control plane'],
    [
      'tasks outbox flush --url https://new.example.com --stored-for https://old.example.com',
      'after the control plane has moved',
    ],
  ],
  async run(call) {
    const { args, io, json, style, settings } = call;
    const folder = outboxFolder(settings, io);
    const storedFor = args['stored-for'].map(
      (address) => serviceAddress(address, settings.insecureHttp).shown,
    );
    const ports = outboxPorts(io);
    const processInfo = await ports.processInfo();
    const look = () => inspectOutbox({ ...ports, processInfo, folder });
    const before = await look();
    const waiting = before.entries.filter(({ state }) => state === 'waiting').length;
    if (waiting === 0 && stuck(before) === undefined) {
      const none = { folder, submitted: [], refused: [], left: 0 };
      if (json) await io.out.line(JSON.stringify(none));
      else await io.err.line(style.faint(`Nothing waits in ${folder}.`));
      return 'ok';
    }
    await using connected = await connect(call, PRODUCERS, namedProject(settings));
    const store = new IntentStore(ports, folder);
    await store.open();
    const lock = new FlushLock({ ...ports, processInfo }, folder, store.tag);
    const holder = await lock.take();
    if (holder !== undefined && !json)
      await io.err.line(
        style.faint(`note   ${plain(holder)} sends them too; each is one task all the same.`),
      );
    const told = tell(io, style, json, store);
    let end: FlushEnd;
    try {
      if (lock.held) await store.tidy();
      const flusher = new Flusher(connected.client, store, namedProject(settings));
      end = await flusher.flush({ scope: 'all', storedFor, now: true }, told.events);
      await store.lastTry(
        end.stop && { error: end.stop.error, times: (before.lastTry?.times ?? 0) + 1 },
      );
      await store.idle();
    } finally {
      await lock.release();
    }
    const after = await look();
    const left = after.entries.filter(({ state }) => state === 'waiting').length;
    const held = stuck(after);
    const why = held ?? whyLeft(end, told.kept);
    const { submitted, refused } = told;
    if (json) {
      const reason = left > 0 || held ? { why } : {};
      await io.out.line(JSON.stringify({ folder, submitted, refused, left, ...reason }));
    } else {
      const aside =
        refused.length > 0 ? `, ${refused.length} refused and set aside in ${folder}/refused` : '';
      await io.err.line(style.faint(`${submitted.length} submitted${aside}, ${left} left`));
      if (left > 0 || held) await io.err.line(`${style.warn('why')}    ${plain(why)}`);
      const next = nextStep(end, refused.length, settings, folder);
      if (next) await io.err.line(`next   ${plain(asTyped(next, io))}`);
    }
    return left > 0 || held || refused.length > 0 ? 'outbox-left' : 'ok';
  },
});

/** Where `why` does not say it already. */
function nextStep(
  { stop }: FlushEnd,
  refused: number,
  { from, url }: { readonly from: { url: string; outbox: string }; readonly url: string },
  folder: string,
): string | undefined {
  const outbox = from.outbox === '--outbox' ? folder : undefined;
  const again = flushCommand({ url: from.url === '--url' ? url : undefined, outbox });
  if (stop) return `${stop.error.hint ?? 'See why.'} Then again: ${again}`;
  return refused > 0 ? `the files of what was refused: ${listCommand(outbox)}` : undefined;
}

/** In words: what lies there and cannot be sent by this program. */
function stuck({ unreadable, newer }: OutboxInspection): string | undefined {
  const [first] = unreadable;
  if (first) {
    const more = unreadable.length > 1 ? `, and ${unreadable.length - 1} more` : '';
    return `${first.file} cannot be read (${first.why})${more}: check the disk and the permissions.`;
  }
  return newer > 0
    ? `${newer} of a later version: use the newer program for this outbox.`
    : undefined;
}

interface Told {
  readonly events: PassEvents;
  readonly submitted: { idempotencyKey: string; taskId: string; replayed: boolean }[];
  readonly refused: { idempotencyKey: string; code: string; message: string }[];
  /** Why one was kept, if one was. */
  readonly kept: string | undefined;
}

/** A line for each as it is answered. */
function tell(io: Io, style: Style, json: boolean, store: IntentStore): Told {
  let kept: string | undefined;
  const submitted: Told['submitted'] = [];
  const refused: Told['refused'] = [];
  const events: PassEvents = {
    async submitted(intent, { id }, replayed) {
      const { idempotencyKey } = intent.record.body;
      submitted.push({ idempotencyKey, taskId: id, replayed });
      const note = replayed ? ', submitted before' : '';
      if (!json) await io.out.line(`${style.strong(id)}  ${what(intent.record)}${note}`);
      await store.done(intent);
    },
    async refused(intent, error) {
      const { idempotencyKey } = intent.record.body;
      const { code, message } = error;
      await store.setAside(intent, error);
      refused.push({ idempotencyKey, code, message });
      if (!json)
        await io.out.line(`${style.bad('refused')}  ${what(intent.record)}: ${plain(message)}`);
    },
    async kept(_intent, { message }) {
      kept = message;
    },
  };
  return {
    events,
    submitted,
    refused,
    get kept() {
      return kept;
    },
  };
}

function what({ body }: IntentRecord): string {
  return `${typeKey(body.type, body.schemaVersion)} ${plain(body.idempotencyKey)}`;
}

function whyLeft({ stop, elsewhere, otherProjects }: FlushEnd, kept: string | undefined) {
  if (stop) return stop.error.message;
  const reasons = [
    ...(kept === undefined ? [] : [kept]),
    ...[...elsewhere].map(
      ([address, count]) =>
        `${count} for ${address}: give that address (--url), or say that it is the same control plane (--stored-for ${address}).`,
    ),
    ...[...otherProjects].map(
      ([project, count]) => `${count} for project "${project}": use a key of that project.`,
    ),
  ];
  return reasons.length > 0 ? reasons.join(' ') : 'Submissions were stored meanwhile.';
}
