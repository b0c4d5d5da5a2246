import { accessSync, constants, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TaskError } from '../../contract/index.ts';
import type { ProcessInfo } from '../../ports/process-info.ts';
import { spoolFlag } from '../../spool/index.ts';
import { decodeOwner, judgeOwner, workerOf } from '../../spool/owner.ts';
import { systemProcessInfo } from '../../system/process-info.ts';
import type { Call } from '../command.ts';
import type { Listen } from '../setting-schemas.ts';
import { spoolFolderOf } from '../spool-folder.ts';
import { judgeStatusFile, readStatusFile } from './status-file.ts';

export interface Found {
  readonly where: Listen;
  /** Which process is expected there; absent where only an address was given. */
  readonly pid?: number;
}

export type FindCall = Pick<Call, 'io' | 'sources'> & {
  readonly settings: {
    readonly statusListen: Listen | undefined;
    readonly spool: string | undefined;
    readonly workerId: string;
  };
};

/** Where the worker that is meant tells its status. Throws `STATUS_NOT_FOUND` with what to do. */
export async function findStatus(call: FindCall): Promise<Found> {
  const { statusListen } = call.settings;
  // With port 0 the system chose one: only the worker's own file knows it.
  if (statusListen && statusListen.port !== 0) return { where: statusListen };
  const folder = spoolFolderOf(call);
  const processInfo = await systemProcessInfo();
  const file = readStatusFile(folder);
  if (file === undefined && closed(folder))
    throw new TaskError('STATUS_NOT_FOUND', `This user may not look into the spool ${folder}.`, {
      hint: 'Run it as the user of the worker, or give the address: --status-listen 127.0.0.1:7421',
    });
  if (file === undefined) throw await notFound(folder, call.settings.workerId, processInfo);
  if ((await judgeStatusFile(file, processInfo)) === 'gone')
    throw new TaskError(
      'STATUS_NOT_FOUND',
      `Worker ${file.workerId} (process ${file.pid}) is gone: it was killed, or its machine was.`,
      {
        hint: `Start it again; it sends what lies in its spool: interlock spool list${spoolFlag(folder)}`,
      },
    );
  return { where: { host: file.host, port: file.port }, pid: file.pid };
}

/** It belongs to another user, as a service's does. */
function closed(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK);
    return false;
  } catch (error) {
    return ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

async function notFound(
  folder: string,
  workerId: string,
  processInfo: ProcessInfo,
): Promise<TaskError> {
  const pid = await runsWithout(folder, processInfo);
  return new TaskError(
    'STATUS_NOT_FOUND',
    pid === undefined
      ? `No worker with a status port has the spool ${folder}.`
      : `The worker of the spool ${folder} runs (process ${pid}), but without a status port.`,
    {
      hint:
        pid === undefined
          ? `Start it with --status-listen 127.0.0.1:7421; another one than "${workerId}" is named with --worker-id, --spool or --status-listen.`
          : 'Start it with --status-listen 127.0.0.1:7421. What the control plane knows of it: interlock tasks workers',
    },
  );
}

/** The process of a worker that has the spool and runs. */
async function runsWithout(folder: string, info: ProcessInfo): Promise<number | undefined> {
  try {
    const read = decodeOwner(readFileSync(join(folder, 'owner.json')));
    const owner = read.ok ? workerOf(read.owner) : undefined;
    if (owner === undefined || owner.closedAt !== undefined) return undefined;
    const sight = await info.look(owner.pid);
    return judgeOwner(owner, info.self, sight, undefined) === 'alive' ? owner.pid : undefined;
  } catch {
    return undefined;
  }
}
