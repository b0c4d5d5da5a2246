import { TaskError } from '../../contract/index.ts';
import { type Owed, owedIn } from './owed.ts';
import { papersOf, type ServiceId } from './papers.ts';
import { stepFailed } from './steps.ts';
import type { ServiceWorld } from './world.ts';
import { readWritten } from './written.ts';

/** How a service is: what its manager says, and what its worker owes. */
export interface ServiceStatus {
  readonly service: string;
  readonly file: string;
  readonly workerId: string;
  readonly spool: string;
  /** `undefined`: its manager cannot tell (Windows). */
  readonly running: boolean | undefined;
  readonly startsWithMachine: boolean | undefined;
  /** In the manager's words: `active (running)`. */
  readonly state: string | undefined;
  /** What the worker last told its manager. */
  readonly says: string | undefined;
  readonly pid: number | undefined;
  readonly since: string | undefined;
  readonly restarts: number | undefined;
  readonly memoryBytes: number | undefined;
  /** How its last process ended, if it is down. */
  readonly exitCode: number | undefined;
  readonly result: string | undefined;
  readonly owed: Owed;
}

/** Throws `SERVICE_NONE`, or what the manager said. */
export async function serviceStatus(id: ServiceId, world: ServiceWorld): Promise<ServiceStatus> {
  const papers = papersOf(id, world);
  const written = readWritten(papers, world.root);
  if (written === undefined) throw noService(papers.called, papers.file);
  const { workerId, spool } = written.facts;
  const owed = await owedIn(spool, world.root);
  const about = { service: papers.called, file: papers.file, workerId, spool, owed };
  if (id.kind === 'systemd') return { ...about, ...(await ofSystemd(id, papers.called, world)) };
  const told = await world.run(papers.active);
  if (told === undefined) throw stepFailed(papers.active, told);
  const pid = /\bpid = (\d+)/.exec(told.out)?.[1];
  const code = /last exit code = (\d+)/.exec(told.out)?.[1];
  return {
    ...about,
    ...NOTHING_TOLD,
    running: id.kind === 'launchd' ? pid !== undefined : undefined,
    startsWithMachine: told.code === 0,
    state: /\bstate = (.+)/.exec(told.out)?.[1],
    pid: pid === undefined ? undefined : Number(pid),
    exitCode: code === undefined ? undefined : Number(code),
  };
}

export function noService(called: string, file: string): TaskError {
  return new TaskError('SERVICE_NONE', `There is no service ${called}: ${file} is not there.`, {
    hint: 'Install it with interlock worker service install, or say which one is meant with --name or --user.',
  });
}

const NOTHING_TOLD = {
  says: undefined,
  since: undefined,
  restarts: undefined,
  memoryBytes: undefined,
  result: undefined,
};

const PROPERTIES = [
  'ActiveState',
  'SubState',
  'UnitFileState',
  'StatusText',
  'MainPID',
  'ActiveEnterTimestamp',
  'NRestarts',
  'MemoryCurrent',
  'ExecMainStatus',
  'Result',
];

async function ofSystemd({ scope }: ServiceId, unit: string, { run }: ServiceWorld) {
  const show = [
    'systemctl',
    ...(scope === 'user' ? ['--user'] : []),
    'show',
    unit,
    `--property=${PROPERTIES.join(',')}`,
  ];
  const told = await run(show);
  if (told?.code !== 0) throw stepFailed(show, told);
  const said = new Map(
    told.out.split('\n').map((line) => {
      const at = line.indexOf('=');
      return [line.slice(0, at), line.slice(at + 1)] as const;
    }),
  );
  const text = (name: string) => said.get(name) || undefined;
  const count = (name: string) => {
    const value = Number(text(name) ?? Number.NaN);
    return Number.isSafeInteger(value) ? value : undefined;
  };
  const state = text('ActiveState');
  const running = ['active', 'reloading', 'activating', 'deactivating'].includes(state ?? '');
  return {
    running: state === 'active' || state === 'reloading',
    startsWithMachine: text('UnitFileState') === 'enabled',
    state: state && `${state} (${text('SubState') ?? '?'})`,
    says: text('StatusText'),
    pid: count('MainPID') || undefined,
    since: running ? text('ActiveEnterTimestamp') : undefined,
    restarts: count('NRestarts'),
    memoryBytes: count('MemoryCurrent'),
    exitCode: running ? undefined : count('ExecMainStatus'),
    result: text('Result'),
  };
}
