import type { Command } from './command.ts';
import { controlPlaneCommand } from './commands/control-plane.ts';
import { devCommand } from './commands/dev.ts';
import { keysNew } from './commands/keys-new.ts';
import { tasksCancel } from './commands/tasks-cancel.ts';
import { tasksDoctor } from './commands/tasks-doctor.ts';
import { tasksDrain } from './commands/tasks-drain.ts';
import { tasksEvents } from './commands/tasks-events.ts';
import { tasksList } from './commands/tasks-list.ts';
import { tasksLogs } from './commands/tasks-logs.ts';
import { tasksResolve } from './commands/tasks-resolve.ts';
import { tasksRetry } from './commands/tasks-retry.ts';
import { tasksShow } from './commands/tasks-show.ts';
import { tasksSubmit } from './commands/tasks-submit.ts';
import { tasksTypes } from './commands/tasks-types.ts';
import { tasksWatch } from './commands/tasks-watch.ts';
import { tasksWorkers } from './commands/tasks-workers.ts';
import { workerCommand } from './commands/worker.ts';
import type { Group } from './help.ts';

/** Every command of `interlock`, in the order of `--help`. A new one is one file and one line here. */
export const commands: readonly Command[] = [
  devCommand,
  controlPlaneCommand,
  workerCommand,
  tasksSubmit,
  tasksList,
  tasksShow,
  tasksWatch,
  tasksEvents,
  tasksLogs,
  tasksCancel,
  tasksRetry,
  tasksResolve,
  tasksWorkers,
  tasksDrain,
  tasksTypes,
  tasksDoctor,
  keysNew,
];

export const groups: readonly Group[] = [
  { name: 'tasks', summary: 'Submit tasks, follow them, and look after them.' },
  { name: 'keys', summary: 'Keys of the control plane.' },
];
