import type { ServiceClient } from '../../client/service-client.ts';
import { terminalStatuses } from '../../contract/index.ts';
import type { Io } from '../command.ts';
import { durationWords } from '../duration.ts';
import { ownName } from '../own-name.ts';
import { plain, type Style } from '../style.ts';
import type { Screen } from './screen.ts';

/** One task before your eyes: submitted, run by a handler host, done. */
export async function firstTask(
  client: ServiceClient,
  handlers: readonly string[],
  hostPid: Promise<number>,
  screen: Screen,
  style: Style,
): Promise<void> {
  if (!handlers.includes('demo/hello@1')) {
    await screen.line(
      `\n  ${style.faint('There is no handler demo/hello@1 here, so no first task is shown.')}`,
    );
    return;
  }
  const { clock } = client;
  const request = { type: 'demo/hello', schemaVersion: 1, input: { name: 'Ada' } };
  const { task } = await client.submit(request);
  const until = clock.now() + FIRST_MS;
  let after = 0;
  let shown = task;
  while (!terminalStatuses.has(shown.status) && clock.now() < until) {
    const page = await client.events(task.id, { after, waitMs: 1_000 });
    after = page.events.at(-1)?.seq ?? after;
    shown = await client.getTask(task.id);
  }
  if (shown.status !== 'succeeded') {
    const why = shown.error
      ? `${shown.error.code}: ${shown.error.message}`
      : (shown.waitingFor ?? '');
    await screen.line(
      `\n  ${style.bad('demo/hello')} ${task.id} is ${shown.status}: ${plain(why)}`,
    );
    return;
  }
  const pid = await Promise.race([hostPid, Promise.resolve(undefined)]);
  await screen.fact(
    'handler host',
    pid === undefined ? 'started when it is needed' : `process ${pid}`,
  );
  const took = Date.parse(shown.finishedAt ?? '') - Date.parse(shown.createdAt);
  await screen.line(
    `\n  ${style.good('done')}  demo/hello ${task.id} after ${durationWords(took)}: ${plain(JSON.stringify(shown.result))}`,
  );
}

/** The address is shown above; these can be typed as they stand. */
export async function nextThings(
  io: Io,
  spool: string,
  handlers: readonly string[],
  screen: Screen,
  style: Style,
): Promise<void> {
  const me = ownName(io);
  await screen.line(
    `\n  In a second terminal, in this folder (the profile knows address and keys):\n`,
  );
  const [first] = handlers;
  const submit = handlers.includes('demo/hello@1')
    ? [`tasks submit demo/hello --input '{"name":"Ada"}' --idempotency-key hello-ada`]
    : first === undefined
      ? []
      : [`tasks submit ${first} --input '{}'`];
  for (const line of [...submit, 'tasks list', 'tasks top', `tasks doctor --spool ${spool}`])
    await screen.line(`    ${style.strong(`${me} ${line}`)}`);
  await screen.line(`\n  ${style.faint('Ctrl-C drains and ends all of it.')}\n`);
}

/** A first task that is not done in this time has a reason, which is shown. */
const FIRST_MS = 30_000;
