import type { ServiceClient } from '../client/service-client.ts';
import { TaskError, type TaskView, terminalStatuses } from '../contract/index.ts';
import type { Call } from './command.ts';
import type { ExitName } from './exit-codes.ts';
import { toFailure } from './failure.ts';
import { asTyped } from './own-name.ts';
import { plain } from './style.ts';
import { clockTime, eventLine } from './views/journal-view.ts';
import { noteOf, outcomeExit, outcomeLines } from './views/task-view.ts';

/**
 * Follows a task until it has ended: its journal as it grows, progress and reasons of waiting as they change. An outage of the
 * control plane is told once and waited out for `PATIENCE_MS`; what happened meanwhile is then read from the
 * journal. Resolves with how the task ended.
 * @param show `all`; `notes`: what it waits for and its progress, on stderr; `end`: how it ended only.
 * @param told a note that has been shown already.
 */
export async function watchToEnd(
  client: ServiceClient,
  id: string,
  call: Pick<Call, 'io' | 'json' | 'style'>,
  options: { readonly show?: 'all' | 'notes' | 'end'; readonly told?: string | undefined } = {},
): Promise<ExitName> {
  const { io, json, style } = call;
  const { show = 'all', told = '' } = options;
  let after = 0;
  let note = told;
  let running = false;
  let lostAt: number | undefined;
  for (;;) {
    let task: TaskView;
    try {
      // After an outage at once, so that its end is told when it comes.
      const waitMs = lostAt !== undefined ? 0 : running ? STEP_MS : json ? WAIT_MS : REASON_MS;
      const page = await client.events(id, { after, waitMs }, { signal: io.out.gone });
      for (const event of page.events) {
        after = event.seq;
        if (show === 'all')
          await io.out.line(json ? JSON.stringify(event) : eventLine(event, style));
      }
      task = await client.getTask(id);
    } catch (error) {
      if (io.out.closed) return 'ok';
      const { exit, message } = toFailure(error);
      if (exit !== 'unreachable' && exit !== 'try-later' && exit !== 'not-the-contract')
        throw error;
      const now = io.clock.now();
      if (lostAt === undefined) {
        lostAt = now;
        await io.err.line(style.warn(`lost    ${message} Trying again.`));
      } else if (now - lostAt > PATIENCE_MS) {
        throw new TaskError('UNREACHABLE', `The control plane did not come back: ${message}`, {
          hint: `The task goes on without us. Later: interlock tasks watch ${id}`,
          cause: error,
        });
      }
      await io.clock.sleep(AGAIN_MS, io.out.gone);
      continue;
    }
    if (io.out.closed) return 'ok';
    if (lostAt !== undefined)
      await io.err.line(style.faint('back    The control plane answers again.'));
    lostAt = undefined;
    if (terminalStatuses.has(task.status) && after >= task.seq) {
      const exit = outcomeExit(task.status) ?? 'ok';
      if (json) await io.out.line(JSON.stringify(task));
      else
        for (const line of outcomeLines(task, style, (text) => asTyped(text, io)))
          await io.out.line(line);
      return exit;
    }
    const said = terminalStatuses.has(task.status) ? '' : noteOf(task);
    const words = said === '' ? '' : noteOf(withoutTimes(task));
    if (said !== '' && said !== note && words !== note && show !== 'end' && !json) {
      const at = clockTime(new Date(io.clock.wall()).toISOString());
      const to = show === 'notes' ? io.err : io.out;
      await to.line(style.faint(`${at}      ${task.status.padEnd(16)}  ${plain(said)}`));
    }
    note = words;
    running = task.status === 'running';
  }
}

/** A running task whose worker is silent waits longer with every look: that is told once, not every second. */
function withoutTimes(task: TaskView): TaskView {
  const { status, waitingFor } = task;
  if (status !== 'running' || waitingFor === undefined) return task;
  return { ...task, waitingFor: waitingFor.replace(/\d+/g, '') };
}

/** One long poll; the contract allows 30 s. */
const WAIT_MS = 20_000;
/** While it waits, the reason is looked at this often: it is no entry of the journal either. */
const REASON_MS = 2_000;
/** While it runs, progress is looked at this often: it is no entry of the journal. */
const STEP_MS = 1_000;
const AGAIN_MS = 1_000;
/** Longer than a restart of a control plane. */
const PATIENCE_MS = 300_000;
