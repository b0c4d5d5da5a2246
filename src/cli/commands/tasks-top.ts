import type { KeyKind } from '../../contract/index.ts';
import { defineCommand } from '../command.ts';
import { connect, connectionSettings } from '../connect.ts';
import { asTyped } from '../own-name.ts';
import { tableLines } from '../table.ts';
import { readNews } from '../top/feed.ts';
import { runTop } from '../top/run-top.ts';
import { sections, titleWords } from '../top/view.ts';
import { taskColumns } from '../views/task-view.ts';

/** Any of them may look and cancel; only an operator's may run a task again. */
const KINDS: readonly KeyKind[] = ['task-operator', 'admin', 'task-producer'];

export const tasksTop = defineCommand({
  path: 'tasks top',
  summary: 'All tasks on one screen, live: first what needs a person',
  description:
    'All tasks on one screen, live: first what needs a person, then what runs, what waits, and what has ended. Keys move, open, filter, cancel and run again (? tells them). Where there is no terminal it prints that once, as a table.',
  options: {
    filter: { form: 'text', argument: 'words', help: 'Only tasks that hold these words' },
  },
  settings: connectionSettings,
  examples: [
    ['tasks top', 'the whole project'],
    ['tasks top --filter mail/send', 'one type'],
    ['tasks top --json', 'the same for a program, once'],
  ],
  async run(call) {
    const { args, io, json, style } = call;
    await using connected = await connect(call, KINDS);
    const { client, actionId } = connected;
    const { filter = '' } = args;
    // What is refused at once is told as ever, not on a screen that goes away.
    const news = await readNews(client);
    if (io.screen && !json) {
      const signal = await runTop({ client, screen: io.screen, io, style, actionId, filter });
      if (signal) process.kill(process.pid, signal);
      return 'ok';
    }
    const shown = sections(news, filter);
    if (json) {
      await io.out.line(JSON.stringify({ doctor: news.doctor, sections: shown }));
      return 'ok';
    }
    for (const [at, section] of shown.entries()) {
      const table = tableLines(
        section.tasks,
        taskColumns(style, io.clock.wall()),
        style,
        io.columns,
      );
      const head = style.strong(titleWords(section));
      await io.out.write(`${[...(at === 0 ? [] : ['']), head, ...table].join('\n')}\n`);
    }
    if (shown.some(({ orMore }) => orMore))
      await io.err.line(
        style.faint(
          asTyped(
            'Of each kind only the newest were looked at ("or more"). All: interlock tasks list --all, with --status failed or --needs-attention.',
            io,
          ),
        ),
      );
    if (shown.length === 0)
      await io.err.line(filter === '' ? 'There is no task yet.' : 'No task fits.');
    return 'ok';
  },
});
