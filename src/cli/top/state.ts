import type { TaskView } from '../../contract/index.ts';
import { topDefaults } from '../../core/top-defaults.ts';
import type { Key } from './keys.ts';
import { type News, sections } from './view.ts';

/** `tasks top` as a pure machine: keys and news change what is shown, and ask for what has to be done. */

/** How news come. */
export type Line = 'connecting' | 'live' | 'reconnecting' | 'polling';

export type Mode =
  | { readonly kind: 'list' | 'help' }
  | { readonly kind: 'filter'; readonly before: string }
  /** One task. `text`: all of it, once it has come. */
  | {
      readonly kind: 'task';
      readonly id: string;
      readonly text: readonly string[] | undefined;
      readonly top: number;
    }
  | { readonly kind: 'ask'; readonly action: Action; readonly task: TaskView; readonly back: Mode };

export type Action = 'cancel' | 'retry';

export interface TopState {
  readonly news: News | undefined;
  readonly line: Line;
  /** Why there are no newer news. */
  readonly trouble: string | undefined;
  readonly filter: string;
  readonly mode: Mode;
  readonly selected: string | undefined;
  /** Where the selected one stood: when it goes, the one that takes its place is selected. */
  readonly place: number;
  /** What the last key did. */
  readonly said: string | undefined;
}

export type TopEvent =
  /** @param rows of the screen, for pages. */
  | { readonly kind: 'key'; readonly key: Key; readonly rows: number }
  | { readonly kind: 'news'; readonly news: News }
  | { readonly kind: 'line'; readonly line: Line }
  | { readonly kind: 'trouble'; readonly words: string }
  | { readonly kind: 'task'; readonly id: string; readonly text: readonly string[] }
  | { readonly kind: 'said'; readonly words: string };

export type TopEffect =
  | { readonly kind: 'quit' | 'draw' | 'look' }
  | { readonly kind: 'open'; readonly id: string }
  | { readonly kind: Action; readonly task: TaskView };

export interface Stepped {
  readonly state: TopState;
  readonly effects: readonly TopEffect[];
}

export const firstState: TopState = {
  news: undefined,
  line: 'connecting',
  trouble: undefined,
  filter: '',
  mode: { kind: 'list' },
  selected: undefined,
  place: 0,
  said: undefined,
};

export function step(state: TopState, event: TopEvent): Stepped {
  switch (event.kind) {
    case 'news': {
      const { mode } = state;
      const next = settled({ ...state, news: event.news, trouble: undefined });
      return mode.kind === 'task' ? with_(next, { kind: 'open', id: mode.id }) : with_(next);
    }
    case 'line':
      return with_({ ...state, line: event.line });
    case 'trouble':
      return with_({ ...state, trouble: event.words });
    case 'task': {
      const { mode } = state;
      if (mode.kind !== 'task' || mode.id !== event.id) return with_(state);
      return with_({ ...state, mode: { ...mode, text: event.text } });
    }
    case 'said':
      return with_({ ...state, said: event.words }, { kind: 'look' });
    case 'key':
      return pressed({ ...state, said: undefined }, event.key, event.rows);
  }
}

/** The tasks in the order of the screen. */
export function shownTasks({ news, filter }: TopState): TaskView[] {
  return news === undefined ? [] : sections(news, filter).flatMap(({ tasks }) => tasks);
}

function pressed(state: TopState, key: Key, rows: number): Stepped {
  if (key === 'CTRL-C') return with_(state, { kind: 'quit' });
  if (key === 'CTRL-L') return with_(state, { kind: 'draw' });
  const { mode } = state;
  switch (mode.kind) {
    case 'ask':
      return answered(state, mode, key);
    case 'filter':
      return typed(state, mode.before, key);
    case 'help':
      return with_({ ...state, mode: { kind: 'list' } });
    case 'task':
      return inTask(state, mode, key, rows);
    case 'list':
      return inList(state, key, rows);
  }
}

function inList(state: TopState, key: Key, rows: number): Stepped {
  const tasks = shownTasks(state);
  const task = tasks[state.place];
  const move = (by: number) => {
    const place = Math.max(0, Math.min(tasks.length - 1, state.place + by));
    return with_({ ...state, place, selected: tasks[place]?.id });
  };
  switch (key) {
    case 'UP':
    case 'k':
      return move(-1);
    case 'DOWN':
    case 'j':
      return move(1);
    case 'PAGE-UP':
      return move(-rows);
    case 'PAGE-DOWN':
    case ' ':
      return move(rows);
    case 'HOME':
    case 'g':
      return move(Number.NEGATIVE_INFINITY);
    case 'END':
    case 'G':
      return move(tasks.length);
    case 'ENTER':
    case 'RIGHT':
    case 'o':
      if (task === undefined) return with_(state);
      return with_(
        { ...state, mode: { kind: 'task', id: task.id, text: undefined, top: 0 } },
        { kind: 'open', id: task.id },
      );
    case '/':
      return with_({ ...state, mode: { kind: 'filter', before: state.filter } });
    case 'ESCAPE':
      return with_(settled({ ...state, filter: '' }));
    case '?':
    case 'h':
      return with_({ ...state, mode: { kind: 'help' } });
    case 'q':
    case 'CTRL-D':
      return with_(state, { kind: 'quit' });
    default:
      return ask(state, key, task);
  }
}

function inTask(
  state: TopState,
  mode: Extract<Mode, { kind: 'task' }>,
  key: Key,
  rows: number,
): Stepped {
  const scroll = (by: number) => {
    // The end of the text is the end of the screen.
    const last = Math.max(0, (mode.text?.length ?? 0) - rows);
    return with_({ ...state, mode: { ...mode, top: Math.max(0, Math.min(last, mode.top + by)) } });
  };
  switch (key) {
    case 'UP':
    case 'k':
      return scroll(-1);
    case 'DOWN':
    case 'j':
      return scroll(1);
    case 'PAGE-UP':
      return scroll(-rows);
    case 'PAGE-DOWN':
    case ' ':
      return scroll(rows);
    case 'HOME':
    case 'g':
      return scroll(Number.NEGATIVE_INFINITY);
    case 'END':
    case 'G':
      return scroll(mode.text?.length ?? 0);
    case 'ESCAPE':
    case 'BACKSPACE':
    case 'LEFT':
    case 'ENTER':
    case 'q':
      return with_({ ...state, mode: { kind: 'list' } });
    default:
      return ask(
        state,
        key,
        shownTasks({ ...state, filter: '' }).find(({ id }) => id === mode.id),
      );
  }
}

const ACTIONS: Readonly<Record<string, Action>> = { c: 'cancel', r: 'retry' };

/** Nothing is done without a question; what cannot be done is said with the reason. */
function ask(state: TopState, key: Key, task: TaskView | undefined): Stepped {
  const action = ACTIONS[key];
  if (action === undefined || task === undefined) return with_(state);
  const no = refusal(action, task);
  if (no !== undefined) return with_({ ...state, said: no });
  return with_({ ...state, mode: { kind: 'ask', action, task, back: state.mode } });
}

/** Why it cannot be done, and what can. */
function refusal(action: Action, { id, status, cancelRequested }: TaskView): string | undefined {
  if (action === 'cancel') {
    if (cancelRequested && status === 'running') return 'It was asked to stop already.';
    return status === 'queued' || status === 'running'
      ? undefined
      : `It has ended (${status}); only what waits or runs can be cancelled.`;
  }
  if (status === 'outcome-unknown')
    return `Say first what became of it: interlock tasks resolve ${id}`;
  if (status === 'failed' || status === 'expired' || status === 'cancelled') return undefined;
  return `It is ${status}: only what failed, expired or was cancelled is run again.`;
}

function answered(state: TopState, mode: Extract<Mode, { kind: 'ask' }>, key: Key): Stepped {
  const next = { ...state, mode: mode.back };
  if (key !== 'y' && key !== 'Y') return with_({ ...next, said: 'Nothing was done.' });
  const { id, status } = mode.task;
  const now = shownTasks({ ...state, filter: '' }).find((task) => task.id === id)?.status;
  if (now !== undefined && now !== status)
    return with_({
      ...next,
      said: `It was ${status} when you were asked and is ${now} now: nothing was done.`,
    });
  return with_(next, { kind: mode.action, task: mode.task });
}

function typed(state: TopState, before: string, key: Key): Stepped {
  const list = { kind: 'list' } as const;
  const set = (filter: string) => with_(settled({ ...state, filter }));
  if (key === 'ENTER') return with_({ ...state, mode: list });
  if (key === 'ESCAPE') return with_(settled({ ...state, mode: list, filter: before }));
  if (key === 'BACKSPACE') return set([...state.filter].slice(0, -1).join(''));
  if (key === 'CTRL-U') return set('');
  // A name of a key has more than one character.
  if ([...key].length > 1 || state.filter.length >= topDefaults.filterChars) return with_(state);
  return set(state.filter + key);
}

/** The selected task stays selected where it is still shown. */
function settled(state: TopState): TopState {
  const tasks = shownTasks(state);
  const found = tasks.findIndex(({ id }) => id === state.selected);
  const place = Math.max(0, found === -1 ? Math.min(state.place, tasks.length - 1) : found);
  return { ...state, place, selected: tasks[place]?.id };
}

function with_(state: TopState, ...effects: TopEffect[]): Stepped {
  return { state, effects };
}
