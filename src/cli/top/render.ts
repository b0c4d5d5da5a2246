import { type TaskView, typeKey } from '../../contract/index.ts';
import { age } from '../../core/duration-words.ts';
import { noteOf } from '../../core/task-words.ts';
import { plain, type Style } from '../style.ts';
import type { Mode, TopState } from './state.ts';
import { sections, titleWords } from './view.ts';
import { cutTo, filled, widthOf, wrapped } from './width.ts';

/** `tasks top` as lines of a terminal: so many as it has rows, none wider than it. Pure. */

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface RenderOptions extends Size {
  readonly style: Style;
  /** By the control plane's clock as far as it is known: ages count from its instants. */
  readonly wallMs: number;
  /** Of the control plane, as people write it. */
  readonly url: string;
}

/** Head, a line of counts, and the foot. */
const AROUND = 3;

/** Rows of the list or text between head and foot. */
export function bodyRows({ rows }: Size): number {
  return Math.max(1, rows - AROUND);
}

export function render(state: TopState, options: RenderOptions): string[] {
  const { columns, rows } = options;
  const body = bodyLines(state, options);
  const room = bodyRows(options);
  while (body.length < room) body.push('');
  return [
    head(state, options),
    counts(state, options),
    ...body.slice(0, room),
    foot(state, options),
  ]
    .slice(0, Math.max(1, rows))
    .map((line) => (columns < 1 ? '' : line));
}

function bodyLines(state: TopState, options: RenderOptions): string[] {
  const { mode } = state;
  if (mode.kind === 'help') return HELP.map((line) => cut(line, options.columns));
  if (isTask(mode)) return taskText(mode, options);
  return list(state, options);
}

function isTask(mode: Mode): mode is Extract<Mode, { kind: 'task' }> {
  return mode.kind === 'task';
}

/** A task stays behind a question about it. */
function head({ line, mode }: TopState, { style, columns, url }: RenderOptions): string {
  const what = isTask(mode) ? `task ${mode.id}` : 'tasks';
  const right = ` ${line}`;
  const room = Math.max(0, columns - right.length);
  const left = filled(plain(`Interlock ${what}  ${url}`), room);
  const paint = line === 'live' ? style.good : style.warn;
  return `${style.strong(left)}${paint(cut(right, columns - room))}`;
}

function counts({ news, trouble, filter }: TopState, { style, columns }: RenderOptions): string {
  if (trouble !== undefined) return style.bad(cut(oneLine(trouble), columns));
  if (news === undefined) return style.faint(cut('Asking …', columns));
  const { queueDepth, oldestQueuedMs, workers, project } = news.doctor;
  const states = Object.entries(workers).filter(
    ([, count]) => typeof count === 'number' && count > 0,
  );
  const online = states.map(([state, count]) => `${count} ${state}`).join(', ');
  const oldest =
    oldestQueuedMs === null ? '' : ` (oldest ${age(new Date(0).toISOString(), oldestQueuedMs)})`;
  const words = [
    `project ${project}`,
    `${queueDepth} waiting${oldest}`,
    `workers: ${online || 'none'}`,
    ...(filter === '' ? [] : [`only what holds "${filter}"`]),
  ];
  return style.faint(cut(oneLine(words.join(' · ')), columns));
}

function list(state: TopState, options: RenderOptions): string[] {
  const { news, place, filter } = state;
  if (news === undefined) return [];
  const { style, columns } = options;
  const lines: { text: string; place?: number }[] = [];
  let at = 0;
  const all = sections(news, filter);
  const widths = widthsOf(
    all.flatMap(({ tasks }) => tasks),
    options,
  );
  for (const section of all) {
    const { title, tasks } = section;
    const alarm = at === 0 && title === FIRST ? style.bad : style.strong;
    const named = cut(titleWords(section), columns);
    const running = tasks.every(({ status }) => status === 'running');
    lines.push({ text: alarm(named) + heading(named, running, widths, style) });
    for (const task of tasks) {
      lines.push({ text: row(task, at === place, running, widths, options), place: at });
      at++;
    }
  }
  if (at === 0) {
    const none =
      filter === '' ? 'There is no task yet.' : 'No task fits. Esc takes the filter away.';
    return [style.faint(cut(none, columns))];
  }
  const room = bodyRows(options);
  const selected = lines.findIndex((line) => line.place === place);
  // The selected one stands in the middle where there is more than a screen, and the first title is seen at the top.
  const top = Math.max(0, Math.min(selected - Math.floor(room / 2), lines.length - room));
  return lines.slice(top, top + room).map(({ text }) => text);
}

const FIRST = 'Needs a person';
const MARK_COLUMNS = 2;
/** On a phone: status, type and what matters. */
const NARROW = 70;
const TYPE_COLUMNS_MAX = 34;

const STATUS_COLUMNS_NARROW = 9;

/** Columns of each part of a row: no wider than what stands in them, so that the rest has room. */
interface Widths {
  readonly status: number;
  readonly type: number;
  /** 0: it is not shown. */
  readonly since: number;
}

function widthsOf(tasks: readonly TaskView[], { columns, wallMs }: RenderOptions): Widths {
  const widest = (texts: readonly string[]) =>
    texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);
  const narrow = columns < NARROW;
  const typeMax = Math.max(8, Math.min(TYPE_COLUMNS_MAX, Math.floor(columns / 3)));
  const types = tasks.map((task) =>
    // Names may be long, and no more of them is shown.
    plain(typeKey(task.type, task.schemaVersion)).slice(0, typeMax),
  );
  const ages = tasks.flatMap(({ createdAt, startedAt }) => [
    age(createdAt, wallMs),
    ...(startedAt === undefined ? [] : [age(startedAt, wallMs)]),
  ]);
  return {
    status: narrow ? STATUS_COLUMNS_NARROW : widest(tasks.map(({ status }) => plain(status))),
    type: Math.min(typeMax, widest(types)),
    since: narrow ? 0 : Math.max(SUBMITTED.length, widest(ages)),
  };
}

const SUBMITTED = 'submitted';
const STARTED = 'started';

/** What the time is, above it, where the title leaves room. */
function heading(title: string, running: boolean, widths: Widths, style: Style): string {
  const { status, type, since } = widths;
  const room = MARK_COLUMNS + status + 1 + type + 1 + since - widthOf(title);
  const word = running ? STARTED : SUBMITTED;
  return since === 0 || room <= word.length ? '' : style.faint(filled(word, room, 'right'));
}

/** `> queued demo/hello@1 3 min 5 s no worker for demo/hello@1 in pool default`. */
function row(
  task: TaskView,
  selected: boolean,
  running: boolean,
  { status: statusColumns, type: typeColumns, since: ageColumns }: Widths,
  { style, columns, wallMs }: RenderOptions,
): string {
  const mark = selected ? '> ' : '  ';
  const status = filled(plain(task.status), statusColumns);
  const type = filled(plain(typeKey(task.type, task.schemaVersion)), typeColumns);
  const at = running ? (task.startedAt ?? task.createdAt) : task.createdAt;
  const since = ageColumns === 0 ? '' : ` ${filled(age(at, wallMs), ageColumns, 'right')}`;
  const used = MARK_COLUMNS + statusColumns + 1 + typeColumns + since.length + 1;
  const rest = ` ${type}${since} ${cutTo(oneLine(noteOf(task)), Math.max(0, columns - used)).text}`;
  // Narrower than the columns are: nothing may stick out.
  if (used > columns) return cut(`${mark}${status}${rest}`, columns);
  if (!selected || !style.colour)
    return `${mark}${style.state(task.status, status)}${rest}`.trimEnd();
  return `${REVERSED}${filled(`${mark}${status}${rest}`, columns)}${PLAIN}`;
}

const REVERSED = '\u001b[7m';
const PLAIN = '\u001b[0m';

function taskText(mode: Extract<Mode, { kind: 'task' }>, options: RenderOptions): string[] {
  if (mode.text === undefined) return [options.style.faint(cut('Asking …', options.columns))];
  return mode.text.slice(mode.top, mode.top + bodyRows(options));
}

/** The lines of one task for a screen of that width. @param lines as `tasks show` prints them, without colour. */
export function taskTextLines(lines: readonly string[], columns: number): string[] {
  return lines.flatMap((line) =>
    wrapped(plain(line, true).replaceAll('\t', '  '), Math.max(1, columns)),
  );
}

function foot(state: TopState, { style, columns }: RenderOptions): string {
  const { mode, said, filter } = state;
  if (mode.kind === 'ask') return style.warn(question(mode, columns));
  if (mode.kind === 'filter')
    return cut(`Filter: ${plain(filter)}█  Enter keeps it, Esc takes it back`, columns);
  if (said !== undefined) return style.warn(cut(oneLine(said), columns));
  const keys = isTask(mode)
    ? '↑↓ scroll  c cancel  r run again  Esc back  Ctrl-C quit'
    : mode.kind === 'help'
      ? 'any key goes back'
      : '↑↓ move  Enter open  / filter  c cancel  r run again  ? help  q quit';
  return style.faint(cut(keys, columns));
}

/** What will happen, and the keys; of a long name the end goes, never the answers that there are. */
function question({ action, task }: Extract<Mode, { kind: 'ask' }>, columns: number): string {
  const { status, error } = task;
  const id = `…${task.id.slice(-6)}`;
  const begun = error?.effect === 'begun' ? 'Its effect may have happened: run' : 'Run';
  const [before, after] =
    action === 'retry'
      ? [begun, `${id} again?`]
      : status === 'running'
        ? ['Ask', `${id} to stop?`]
        : ['Cancel', `${id}?`];
  const room = Math.max(0, columns - ANSWERS.length);
  const name = cut(
    plain(typeKey(task.type, task.schemaVersion)),
    room - before.length - after.length - 2,
  );
  const words = [before, name, after].filter(Boolean).join(' ');
  return cut(`${cut(words, room)}${ANSWERS}`, columns);
}

const ANSWERS = ' [y/N] ';

const HELP = [
  '',
  '  ↑ ↓  k j           move           PgUp PgDn   a page      g G   first, last',
  '  Enter  o           open the task: all of it, its journal, its log',
  '  /                  filter: words in type, id, status, pool, labels and notes',
  '  Esc                take the filter away; back from a task',
  '  c                  cancel it: a waiting one ends, a running one is asked to stop',
  '  r                  run it again: what failed, expired or was cancelled',
  '  q  Ctrl-C          quit',
  '',
  '  What needs a person stands first. An outcome that is unknown is settled with',
  '  interlock tasks resolve.',
];

function cut(text: string, columns: number): string {
  return cutTo(text, Math.max(0, columns)).text;
}

function oneLine(text: string): string {
  return plain(text.split('\n', 1)[0] ?? '');
}
