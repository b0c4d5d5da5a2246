import {
  bounds,
  parseTypeKey,
  type TaskView,
  taskStatuses,
  typeNameProblem,
} from '../../contract/index.ts';
import { defineCommand } from '../command.ts';
import { connect, connectionSettings, READERS } from '../connect.ts';
import { parseDuration } from '../duration.ts';
import { integerArgument } from '../json-input.ts';
import { didYouMean } from '../suggest.ts';
import { tableLines } from '../table.ts';
import { usageError } from '../usage.ts';
import { taskColumns } from '../views/task-view.ts';

export const tasksList = defineCommand({
  path: 'tasks list',
  summary: 'List tasks, newest first',
  options: {
    status: {
      form: 'list',
      argument: 'status',
      help: 'queued, running, succeeded, failed, outcome-unknown, cancelled or expired; may be given several times',
    },
    type: { form: 'text', argument: 'type', help: 'demo/hello, or demo/hello@1' },
    pool: { form: 'text', argument: 'name', help: 'Tasks of this pool' },
    label: {
      form: 'list',
      argument: 'name[=value]',
      help: 'With this label; all that are given must fit',
    },
    since: {
      form: 'text',
      argument: 'instant',
      help: 'Submitted since: 2026-12-01T08:00:00Z, or 2h ago as 2h',
    },
    until: { form: 'text', argument: 'instant', help: 'Submitted until' },
    'needs-attention': {
      form: 'switch',
      help: 'Only what waits for a decision (tasks top has failures too)',
    },
    limit: { form: 'text', argument: 'count', help: 'At most so many [50]' },
    all: { form: 'switch', help: 'All of them' },
    cursor: { form: 'text', argument: 'cursor', help: 'Go on from here' },
    values: { form: 'switch', help: 'With input and result (JSON only)' },
  },
  settings: connectionSettings,
  examples: [
    ['tasks list', 'the newest 50'],
    ['tasks list --needs-attention', 'what waits for a decision'],
    [
      'tasks list --status failed --status outcome-unknown --since 24h',
      'what went wrong since yesterday',
    ],
    ['tasks list --type demo/hello --label customer=7 --all --json', 'for a program'],
  ],
  async run(call) {
    const { args, io, json, style } = call;
    const query = queryOf(args, io.clock.wall());
    const wanted = args.all
      ? Number.POSITIVE_INFINITY
      : (integerArgument(args.limit, '--limit', 1, 1_000_000, 'tasks list') ?? bounds.pageDefault);
    await using connected = await connect(call, READERS);
    let cursor = args.cursor;
    let shown = 0;
    const widths: number[] = [];
    if (json) await io.out.write('{"tasks":[');
    do {
      const limit = Math.min(bounds.pageMax, wanted - shown);
      const page = await connected.client.listTasks({ ...query, limit, ...(cursor && { cursor }) });
      cursor = page.cursor;
      if (json) await io.out.write(jsonPart(page.tasks, shown > 0));
      else if (page.tasks.length > 0) {
        const [head = '', ...rows] = tableLines(
          page.tasks,
          taskColumns(style, io.clock.wall()),
          style,
          io.columns,
          widths,
        );
        await io.out.write(`${[...(shown === 0 ? [head] : []), ...rows].join('\n')}\n`);
      }
      shown += page.tasks.length;
      if (page.tasks.length === 0) cursor = undefined;
    } while (cursor !== undefined && shown < wanted && !io.out.closed);
    if (io.out.closed) return 'ok';
    if (json) await io.out.write(`]${cursor ? `,"cursor":${JSON.stringify(cursor)}` : ''}}\n`);
    else if (shown === 0) await io.err.line('No task fits.');
    else if (cursor)
      await io.err.line(
        style.faint(`${shown} shown, there are more: --all, --limit, or --cursor ${cursor}`),
      );
    return 'ok';
  },
});

/** The query of `GET /tasks`, checked before anything is sent. @param wallMs what `2h` counts back from. */
function queryOf(args: ListArgs, wallMs: number) {
  const instant = (text: string | undefined, flag: string) => {
    if (text === undefined) return undefined;
    const ago = parseDuration(text);
    const ms = ago === undefined ? Date.parse(text) : wallMs - ago;
    if (Number.isFinite(ms)) return new Date(ms).toISOString();
    throw usageError(
      `${flag} "${text}" is neither an instant (2026-12-01T08:00:00Z) nor a duration (2h).`,
      'tasks list',
    );
  };
  const both = args.type === undefined ? undefined : parseTypeKey(args.type);
  const why = args.type === undefined || both ? undefined : typeNameProblem(args.type);
  if (why) throw usageError(`"${args.type}" is no type of tasks: it ${why}.`, 'tasks list');
  for (const status of args.status) {
    if (!(taskStatuses as readonly string[]).includes(status))
      throw usageError(
        `--status "${status}" is none of ${taskStatuses.join(', ')}.${didYouMean(status, taskStatuses)}`,
        'tasks list',
      );
  }
  return {
    ...(args.status.length > 0 && { status: [...args.status] }),
    ...(args.type !== undefined && (both ?? { type: args.type })),
    ...(args.pool !== undefined && { pool: args.pool }),
    ...(args.label.length > 0 && { label: [...args.label] }),
    ...(args.since !== undefined && { since: instant(args.since, '--since') as string }),
    ...(args.until !== undefined && { until: instant(args.until, '--until') as string }),
    ...(args['needs-attention'] && { needs: 'attention' as const }),
    ...(args.values && { include: ['input', 'result'] }),
  };
}

interface ListArgs {
  readonly status: readonly string[];
  readonly type: string | undefined;
  readonly pool: string | undefined;
  readonly label: readonly string[];
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly 'needs-attention': boolean;
  readonly values: boolean;
}

/** Items of a JSON list that is written in parts. */
function jsonPart(tasks: readonly TaskView[], more: boolean): string {
  const text = tasks.map((task) => JSON.stringify(task)).join(',\n');
  return text === '' ? '' : `${more ? ',\n' : '\n'}${text}`;
}
