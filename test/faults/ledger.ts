/** Effects on the disk against the journal: what was done, what is told of it, and whether both may be true. */
import type { TaskEvent, TaskView } from '../../src/contract/index.ts';
import { HANDLERS as E2E_HANDLERS, type World } from '../e2e/world.ts';

export const HANDLERS = E2E_HANDLERS.replace('e2e', 'faults');

/** A line that a handler of these tests has left. */
export interface Line {
  readonly what: 'began' | 'effect';
  readonly taskId: string;
  readonly effectKey: string;
  readonly attempt: number;
  readonly fence: number;
  readonly pid: number;
}

export type Kind = 'once' | 'once-gated' | 'again' | 'look';
export const KINDS: readonly Kind[] = ['once', 'once-gated', 'again', 'look'];
/** The entry that opens the gate of an effect; the other kinds have none. */
const GATES: Partial<Record<Kind, string>> = { once: 'started', 'once-gated': 'effect-begun' };

const ENDS = ['succeeded', 'failed', 'unknown', 'cancelled', 'lost', 'released'];

export const linesOf = (world: World, file: string): Line[] =>
  world.lines(file).map((line) => JSON.parse(line));

/**
 * Everything that is wrong with a task that has settled, and that no operator has touched, in words. Right is: the journal
 * has no gap and one attempt at a time; its end is the task's; an effect stands behind its gate and, where it must not be
 * repeated, alone; the outcome is unknown where a gate was passed and no word came, and nowhere else.
 */
export function wrongWith(
  kind: Kind,
  task: TaskView,
  journal: readonly TaskEvent[],
  lines: readonly Line[],
): string[] {
  const wrong: string[] = [];
  const must = (right: boolean, words: string) => {
    if (!right) wrong.push(`${kind} ${task.id} (${task.status}): ${words}`);
  };
  const kinds = journal.map((event) => event.kind);
  must(
    journal.every(({ seq }, at) => seq === at + 1) && task.seq === journal.length,
    `the journal has seq ${journal.map(({ seq }) => seq)}, the task ${task.seq}`,
  );
  must(kinds[0] === 'submitted' && kinds.lastIndexOf('submitted') === 0, `begins ${kinds}`);

  const passed = new Set<number>();
  const gate = GATES[kind];
  let fence = 0;
  let open = false;
  let last = '';
  for (const event of journal) {
    if (event.kind === 'leased') {
      must(!open, `attempt ${event.fence} began before the one before it had ended`);
      must(event.fence === fence + 1, `fence ${event.fence} follows ${fence}`);
      must(last !== 'past the gate', 'was handed out again behind its gate');
      fence = event.fence ?? 0;
      open = true;
      continue;
    }
    if (event.fence === undefined || event.kind === 'late-report') continue;
    if (event.kind === 'requeued') continue;
    must(open && event.fence === fence, `${event.kind} of attempt ${event.fence} outside of it`);
    if (event.kind === gate) passed.add(fence);
    if (ENDS.includes(event.kind)) {
      open = false;
      // A host that was gone before it called the handler: the attempt is taken as one before its gate, and must have left nothing.
      const uncalled = event.kind === 'failed' && event.data.begun === false;
      must(
        !uncalled || !lines.some((line) => line.fence === fence),
        `attempt ${fence} left a line, and is told as never called`,
      );
      last = passed.has(fence) && !uncalled ? 'past the gate' : event.kind;
      const expected = event.kind === 'succeeded' ? 'succeeded' : undefined;
      if (expected) must(task.status === expected, `${event.kind} is in its journal`);
    }
  }
  must(!open, 'its last attempt has no end');

  const ended = journal.filter((event) => ENDS.includes(event.kind)).at(-1)?.kind;
  const unknown = ended === 'lost' && passed.has(fence);
  // A host that was killed while it loaded the handler: the worker's word that nothing was begun.
  const unloaded = ended === 'failed' && task.error?.code === 'HANDLER_NOT_LOADED';
  if (unloaded)
    must(!lines.some((line) => line.fence === fence), 'a handler ran that was not loaded');
  const right = unknown ? 'outcome-unknown' : unloaded ? 'failed' : 'succeeded';
  must(
    task.status === right,
    `its last attempt ended as ${ended}, ${passed.has(fence) ? 'past' : 'without'} its gate: ${kinds} ${JSON.stringify(task.error)}`,
  );

  const effects = lines.filter(({ what }) => what === 'effect');
  for (const line of effects) {
    must(
      line.taskId === task.id && line.effectKey === task.effectKey,
      `foreign effect ${line.taskId}`,
    );
    must(
      gate === undefined || passed.has(line.fence),
      `effect of attempt ${line.fence} before its gate`,
    );
  }
  if (gate !== undefined) must(effects.length <= 1, `its effect was made ${effects.length} times`);
  if (task.status === 'succeeded') must(effects.length >= 1, 'its effect is missing');
  const begun = lines.filter(({ what }) => what === 'began').map((line) => line.fence);
  must(new Set(begun).size === begun.length, `an attempt was begun twice: ${begun}`);
  return wrong;
}

/** Reads a settled task with its journal and compares them with its file. */
export async function audit(
  world: World,
  { kind, id, file }: { readonly kind: Kind; readonly id: string; readonly file: string },
): Promise<{ task: TaskView; wrong: string[] }> {
  const task = await world.producer.get(id);
  return { task, wrong: wrongWith(kind, task, await world.journal(id), linesOf(world, file)) };
}
