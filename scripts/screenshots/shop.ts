import { type Api, PlayedWorker } from '../../test/browser/api.ts';
import type { PastClock } from './past-clock.ts';

/** A shop as it may be on a Tuesday: most goes well, and three things need somebody. */

const HANDLERS = [
  { type: 'invoice/render', schemaVersion: 2, effectSafety: 'pure', effectGate: 'start' },
  { type: 'mail/send', schemaVersion: 1, effectSafety: 'non-idempotent', effectGate: 'effect' },
  { type: 'photo/resize', schemaVersion: 1, effectSafety: 'idempotent', effectGate: 'start' },
];
const INVOICE = {
  type: 'object',
  required: ['customer', 'items'],
  properties: {
    customer: { type: 'string', title: 'Customer', description: 'As in the address book.' },
    items: { type: 'integer', title: 'Items', minimum: 1, maximum: 50, default: 1 },
    language: { title: 'Language', enum: ['de', 'en', 'fr'], default: 'en' },
    note: { type: 'string', title: 'Note', maxLength: 2000, description: 'Stands below the sum.' },
  },
};
const CUSTOMERS = ['Ada Lovelace', 'Grace Hopper', 'Edsger Dijkstra', 'Barbara Liskov', 'Alan Kay'];

export const HOUR_MS = 3_600_000;

export interface Shop {
  readonly unknown: string;
  readonly running: string;
  /** Its workers say that they are there, and at work. */
  alive(): Promise<void>;
}

/** @param clock of the control plane, an hour behind: it is at the present when the shop is open. */
export async function openShop(api: Api, clock: PastClock): Promise<Shop> {
  const submit = async (type: string, input: unknown, more: Record<string, unknown> = {}) =>
    (await api.call('producer', 'POST', '/tasks', { type, schemaVersion: 1, input, ...more }))
      .id as string;
  const garage = new PlayedWorker(api, 'garage');
  const attic = new PlayedWorker(api, 'attic');
  const versions = { agent: '0.1.0', node: '24.22.3' };
  const handlers = [{ ...HANDLERS[0], inputSchema: INVOICE }, HANDLERS[1], HANDLERS[2]];
  const there = async () => {
    await garage.present({ handlers, versions, state: 'full', slots: { max: 2, busy: 2 } });
    await attic.present({ handlers: [HANDLERS[2]], versions, slots: { max: 4, busy: 0 } });
  };
  await there();
  const old = new PlayedWorker(api, 'laptop');
  await old.present({ handlers: [HANDLERS[0]], versions });
  await old.present({ handlers: [HANDLERS[0]], versions, state: 'offline' });

  let leftMs = HOUR_MS;
  /** Time goes by. */
  const until = (agoMs: number) => {
    leftMs = agoMs;
    clock.to(agoMs);
  };
  const pass = (ms: number) => until(leftMs - ms);
  const run = async (
    type: string,
    input: unknown,
    care: Record<string, unknown> = {},
    waitsMs = 0,
  ) => {
    const { policy, labels, ...want } = care;
    const version = want.schemaVersion ?? 1;
    const id = await submit(type, input, {
      schemaVersion: version,
      ...(policy !== undefined && { policy }),
      ...(labels !== undefined && { labels }),
    });
    pass(waitsMs);
    const [attempt] = await garage.claim(type, 1, want);
    await garage.report(attempt, 'start');
    return { id, attempt };
  };
  const noRoom = async () => {
    const late = await run('photo/resize', { album: 'summer' }, { policy: { maxAttempts: 1 } });
    await garage.report(late.attempt, 'fail', {
      error: { code: 'DISK_FULL', message: 'No room is left on /photos: 0 of 500 GB are free.' },
    });
  };
  const silent = async () => {
    const mail = {
      effectSafety: 'non-idempotent',
      effectGate: 'effect',
      labels: { customer: '4711' },
    };
    const task = await run('mail/send', { to: 'ada@example.com', subject: 'Your invoice' }, mail);
    await garage.report(task.attempt, 'effect');
    await garage.report(task.attempt, 'log', {
      n: 1,
      lines: [
        {
          at: new Date(clock.wall()).toISOString(),
          level: 'info',
          text: 'Connected to smtp.example.com',
        },
        {
          at: new Date(clock.wall()).toISOString(),
          level: 'warn',
          text: 'No answer after DATA for 20 s',
        },
      ],
    });
    pass(20_000);
    await garage.report(task.attempt, 'unknown', {
      error: {
        code: 'SMTP_SILENT',
        message: 'The server went silent after it had the whole mail.',
      },
    });
    return task.id;
  };
  const wrongCase = async () => {
    await submit('Invoice/Render', { customer: 'Grace Hopper' }, { labels: { customer: '4712' } });
  };
  let seed = 11;
  /** Below `most`, the same each time. */
  const chance = (most: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % most;
  };
  let sent = '';
  // Busy from the half hour on, slower while the disk was full.
  for (let minute = 58; minute > 0; minute--) {
    until(minute * 60_000);
    await there();
    if (minute === 23) await noRoom();
    if (minute === 12) sent = await silent();
    if (minute === 9) await wrongCase();
    const busy = minute < 35 ? 4 : 2;
    for (let at = 0; at < chance(busy + 1) + (busy > 2 ? 1 : 0); at++) {
      const customer = CUSTOMERS[(minute + at) % CUSTOMERS.length];
      const [type, schemaVersion] =
        (minute + at) % 3 === 0 ? ['photo/resize', 1] : ['invoice/render', 2];
      const waits = 80 + chance(300) * (minute < 35 && minute > 18 ? 5 : 1);
      const { attempt } = await run(
        type as string,
        { customer, items: at + 1 },
        { schemaVersion },
        waits,
      );
      pass(type === 'photo/resize' ? 1_500 + chance(2_500) : 250 + chance(400) + chance(300));
      await garage.report(attempt, 'complete', { result: { pages: 1 + (at % 3) } });
    }
  }
  until(25_000);
  await there();
  const first = await run('photo/resize', { album: 'harbour' });
  await garage.report(first.attempt, 'progress', {
    n: 1,
    percent: 64,
    message: '128 of 200 photos',
  });
  await garage.report(first.attempt, 'log', {
    n: 1,
    lines: ['harbour-126.jpg', 'harbour-127.jpg', 'harbour-128.jpg'].map((name) => ({
      at: new Date(clock.wall()).toISOString(),
      level: 'info',
      text: `resized ${name} to 1600 × 1200`,
    })),
  });
  const second = await run(
    'invoice/render',
    { customer: 'Alan Kay', items: 7 },
    { schemaVersion: 2 },
  );
  await garage.report(second.attempt, 'progress', { n: 1, percent: 20, message: 'page 1 of 5' });
  for (const customer of CUSTOMERS)
    await submit(
      'invoice/render',
      { customer, items: 2 },
      { schemaVersion: 2, labels: { run: 'monthly' } },
    );
  until(0);
  return {
    unknown: sent,
    running: first.id,
    alive: async () => {
      await there();
      for (const { attempt } of [first, second]) await garage.report(attempt, 'renew');
    },
  };
}
