import { TaskError } from '../../contract/index.ts';
import { durationWords } from '../duration.ts';
import { changedLines } from './changes.ts';
import { checkMachine, checkWords, refuse } from './check.ts';
import { describeService, type InstallCall, lostProxies } from './describe.ts';
import { type ServiceDescription, stopMs } from './description.ts';
import { folderSteps } from './folders.ts';
import { type KeyOfService, keyOfService, proveKey } from './key-of-service.ts';
import { papersOf, type ServiceId, type ServicePapers } from './papers.ts';
import { commandText, runSteps, stepFailed } from './steps.ts';
import { asRoot } from './who.ts';
import { ownKind, type ServiceWorld } from './world.ts';
import { readWritten, writeKey, writeService } from './written.ts';

export type Installing = InstallCall & {
  readonly args: InstallCall['args'] & {
    readonly 'copy-key': boolean;
    readonly 'no-start': boolean;
    readonly 'dry-run': boolean;
  };
};

/** How it went, for people (`says`) and programs. */
export interface Installed {
  readonly service: string;
  readonly file: string;
  readonly did: 'nothing' | 'installed' | 'changed' | 'started' | 'would';
  readonly changes: readonly string[];
  readonly says: string;
  /** What is not as somebody may think, in words. */
  readonly notes: readonly string[];
  /** With `--dry-run`: the file's text and the commands, in order. */
  readonly text?: string;
  readonly commands?: readonly string[];
}

/** @param told hears what is about to take long. */
export async function installService(
  call: Installing,
  id: ServiceId,
  world: ServiceWorld,
  told: (line: string) => Promise<void>,
): Promise<Installed> {
  const dry = call.args['dry-run'];
  const papers = papersOf(id, world);
  if (!dry && id.scope === 'system' && world.uid !== undefined && world.uid !== 0)
    throw asRoot(call, 'install');
  const key = await keyOfService(call, papers, dry);
  const service = {
    ...describeService(call, id, papers, key.file),
    keyCopied: key.copy !== undefined,
  };
  const wrong = checkWords(service, id);
  if (wrong.length > 0) throw refuse(wrong, service);
  const text = papers.text(service, await managerVersion(id, world));
  const lost = lostProxies(call.io, service);
  const notes = [
    ...(lost.length === 0
      ? []
      : [
          `${lost.join(', ')}: set in this shell only. The service gets it from a file with --environment-file.`,
        ]),
    ...(key.note === undefined ? [] : [key.note]),
  ];
  const steps = [...folderSteps(service, id, papers), ...papers.enable];
  if (dry && ownKind(world.platform) !== id.kind)
    notes.push('Paths are those of this machine: run it on the other one for its own.');
  if (dry) return dryRun({ call, service, papers, text, notes, steps, key });

  const before = readWritten(papers, world.root);
  // The copy of a key lies there only later.
  const found = await checkMachine(
    key.copy === undefined ? service : { ...service, keyFile: '/' },
    id,
    world,
  );
  if (found.length > 0) throw refuse(found, service);
  notes.push(...(await proveKey(call, key)));
  const ours = before?.facts.keyCopied === true;
  const newKey = key.copy !== undefined && writeKey(key.file, world.root, key.copy, ours);
  const rewritten = before?.text !== text;
  if (rewritten) writeService(papers, world.root, text);
  // A new file of a key belongs to root until one of them gives it to the service.
  if (rewritten || newKey) await runSteps(steps, world.run);
  // A service takes its key when it starts.
  const changed = rewritten || newKey;
  const active = (await world.run(papers.active))?.code === 0;
  const about = {
    service: papers.called,
    file: papers.file,
    notes,
    changes: before ? [...changedLines(before.text, text), ...(newKey ? ['another key'] : [])] : [],
  };
  const name = `${papers.called} (worker ${service.workerId}, for ${service.url})`;
  if (call.args['no-start'])
    return {
      ...about,
      did: changed ? (before ? 'changed' : 'installed') : 'nothing',
      says: `${name} is written and will start with the machine; it was not started now.`,
    };
  if (active && !changed)
    return { ...about, did: 'nothing', says: `${name} runs, and nothing has changed.` };
  if (active)
    await told(
      `It restarts: handlers that run may go on for up to ${durationWords(service.drainTimeoutMs)}.`,
    );
  await begin(active ? papers.restart : papers.start, papers, service, world);
  const does =
    before === undefined
      ? 'is installed, runs'
      : changed
        ? 'has changed and runs again'
        : 'was down and runs again';
  return {
    ...about,
    did: before === undefined ? 'installed' : changed ? 'changed' : 'started',
    says: `${name} ${does}, and starts with the machine.`,
  };
}

/** A start that waits until the worker says that it is ready, or tells why it is not. */
async function begin(
  steps: readonly (readonly string[])[],
  papers: ServicePapers,
  service: ServiceDescription,
  { run }: ServiceWorld,
): Promise<void> {
  for (const step of steps) {
    const end = await run(step, { boundMs: stopMs(service) + START_BOUND_MS });
    if (end?.code === 0) continue;
    const log =
      step[0] !== 'systemctl'
        ? undefined
        : await run([
            'journalctl',
            ...step.filter((word) => word === '--user'),
            '-u',
            papers.called,
            '-n',
            '3',
            '-o',
            'cat',
            '--no-pager',
          ]);
    const last = log?.out.trim();
    const failed = stepFailed(step, end);
    if (!last) throw failed;
    throw new TaskError(failed.code, `${papers.called} did not come up. It said last:\n${last}`, {
      hint: failed.hint,
      cause: failed,
    });
  }
}

/** The unit gives a start 5 minutes. */
const START_BOUND_MS = 330_000;

function dryRun(of: {
  readonly call: Installing;
  readonly service: ServiceDescription;
  readonly papers: ServicePapers;
  readonly text: string;
  readonly notes: readonly string[];
  readonly steps: readonly (readonly string[])[];
  readonly key: KeyOfService;
}): Installed {
  const { papers, call, text, notes, steps, key } = of;
  return {
    service: papers.called,
    file: papers.file,
    did: 'would',
    changes: [],
    says: `Nothing was done. ${papers.file} would be written${key.copy === undefined ? '' : ` and the key copied to ${key.file} (0600)`}, and then the commands be run.`,
    notes,
    text,
    commands: [...steps, ...(call.args['no-start'] ? [] : papers.start)].map(commandText),
  };
}

/** Of systemd; what is not known counts as old. */
async function managerVersion({ kind }: ServiceId, { run }: ServiceWorld): Promise<number> {
  if (kind !== 'systemd') return 0;
  const told = await run(['systemctl', '--version']);
  return Number(/^systemd (\d+)/.exec(told?.out ?? '')?.[1] ?? 0);
}
