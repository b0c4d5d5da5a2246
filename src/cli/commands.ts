import type { Command } from './command.ts';
import { configCheck } from './commands/config-check.ts';
import { configPrint } from './commands/config-print.ts';
import { conformanceControlPlane } from './commands/conformance-control-plane.ts';
import { conformanceWorker } from './commands/conformance-worker.ts';
import { controlPlaneCommand } from './commands/control-plane.ts';
import { devCommand } from './commands/dev.ts';
import { keysList } from './commands/keys-list.ts';
import { keysNew } from './commands/keys-new.ts';
import { keysRevoke } from './commands/keys-revoke.ts';
import { spoolDiscard } from './commands/spool-discard.ts';
import { spoolList } from './commands/spool-list.ts';
import { spoolRetry } from './commands/spool-retry.ts';
import { spoolShow } from './commands/spool-show.ts';
import { tasksCancel } from './commands/tasks-cancel.ts';
import { tasksDoctor } from './commands/tasks-doctor.ts';
import { tasksDrain } from './commands/tasks-drain.ts';
import { tasksEvents } from './commands/tasks-events.ts';
import { tasksList } from './commands/tasks-list.ts';
import { tasksLogs } from './commands/tasks-logs.ts';
import { tasksOutboxDiscard } from './commands/tasks-outbox-discard.ts';
import { tasksOutboxFlush } from './commands/tasks-outbox-flush.ts';
import { tasksOutboxList } from './commands/tasks-outbox-list.ts';
import { tasksResolve } from './commands/tasks-resolve.ts';
import { tasksRetry } from './commands/tasks-retry.ts';
import { tasksShow } from './commands/tasks-show.ts';
import { tasksSubmit } from './commands/tasks-submit.ts';
import { tasksTop } from './commands/tasks-top.ts';
import { tasksTypes } from './commands/tasks-types.ts';
import { tasksWatch } from './commands/tasks-watch.ts';
import { tasksWorkers } from './commands/tasks-workers.ts';
import { workerCommand } from './commands/worker.ts';
import { workerServiceInstall } from './commands/worker-service-install.ts';
import { workerServiceLogs } from './commands/worker-service-logs.ts';
import { workerServiceStatus } from './commands/worker-service-status.ts';
import { workerServiceUninstall } from './commands/worker-service-uninstall.ts';
import { workerStatus } from './commands/worker-status.ts';
import { workerUpdate } from './commands/worker-update.ts';
import type { Group } from './help.ts';

/** Every command of `interlock`, in the order of `--help`. A new one is one file and one line here. */
export const commands: readonly Command[] = [
  devCommand,
  controlPlaneCommand,
  workerCommand,
  workerStatus,
  workerServiceInstall,
  workerServiceUninstall,
  workerServiceStatus,
  workerServiceLogs,
  workerUpdate,
  tasksSubmit,
  tasksList,
  tasksShow,
  tasksWatch,
  tasksTop,
  tasksEvents,
  tasksLogs,
  tasksCancel,
  tasksRetry,
  tasksResolve,
  tasksWorkers,
  tasksDrain,
  tasksTypes,
  tasksOutboxList,
  tasksOutboxFlush,
  tasksOutboxDiscard,
  tasksDoctor,
  spoolList,
  spoolShow,
  spoolRetry,
  spoolDiscard,
  keysNew,
  keysList,
  keysRevoke,
  configPrint,
  configCheck,
  conformanceControlPlane,
  conformanceWorker,
];

export const groups: readonly Group[] = [
  { name: 'worker', summary: 'The worker of this machine: run it, look at it, update it.' },
  { name: 'worker service', summary: 'A worker that starts with the machine.' },
  { name: 'tasks', summary: 'Submit tasks, follow them, and look after them.' },
  {
    name: 'tasks outbox',
    summary: 'Submissions that are stored on this machine while the control plane is away.',
  },
  {
    name: 'spool',
    summary: 'What a worker on this machine has not delivered, and what was refused.',
  },
  { name: 'keys', summary: 'Keys of the control plane: make, list and revoke them.' },
  {
    name: 'config',
    summary: 'Settings: what a command would run with, and whether a file is right.',
  },
  { name: 'conformance', summary: 'Prove that a control plane, or a worker, keeps the contract.' },
];
