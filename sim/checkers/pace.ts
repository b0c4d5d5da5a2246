import type { Checker } from './index.ts';

const WINDOW_MS = 20_000;
/** Calls of one process in a window, by what they ask for. Claims that bring work are not counted. */
const MOST = { '/claims': 60, '/hints': 20, '/': 15 } as const;

export const pace: Checker = {
  name: 'pace',
  rule: 'a worker that gets nothing asks ever more seldom',
  check: ({ history }) => {
    const times = new Map<string, number[]>();
    for (const call of history.calls) {
      const path = call.path.replace(/\?.*/, '') || '/';
      if (!(path in MOST)) continue;
      const brought = call.arrivals.some(
        ({ answer }) => ((answer as { attempts?: unknown[] })?.attempts?.length ?? 0) > 0,
      );
      if (brought) continue;
      const name = `${call.by} ${path}`;
      times.set(name, [...(times.get(name) ?? []), call.sentAt]);
    }
    const wrong: string[] = [];
    for (const [name, sent] of times) {
      const most = MOST[name.split(' ')[1] as keyof typeof MOST];
      const burst = sent.findIndex(
        (at, i) => (sent[i + most] ?? Number.POSITIVE_INFINITY) - at < WINDOW_MS,
      );
      if (burst >= 0)
        wrong.push(
          `${name}: more than ${most} times in ${WINDOW_MS / 1000} s from ${Math.round(sent[burst] as number)} on`,
        );
    }
    return wrong;
  },
};
