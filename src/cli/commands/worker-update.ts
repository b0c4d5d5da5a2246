import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { VERSION } from '../../contract/version.ts';
import { systemDisk } from '../../system/disk.ts';
import { systemFolderLock } from '../../system/folder-lock.ts';
import { systemProcessInfo } from '../../system/process-info.ts';
import { openFetch } from '../../wire/open-fetch.ts';
import { proxyFromEnvironment } from '../../wire/proxy.ts';
import { type Call, defineCommand } from '../command.ts';
import { parseDuration } from '../duration.ts';
import { asTyped } from '../own-name.ts';
import { addressSource, isAddress } from '../update/address-source.ts';
import { updateError } from '../update/codes.ts';
import { systemFiles } from '../update/files.ts';
import { judgeOffer, readOffer } from '../update/offer.ts';
import { targetOf } from '../update/release.ts';
import { systemPrograms } from '../update/run-program.ts';
import { knownSpools, type OldWorker, oldProcesses, oldWorkers } from '../update/running.ts';
import { folderSource, type ReleaseSource } from '../update/source.ts';
import { verifyWhole } from '../update/stage.ts';
import { systemdServices } from '../update/systemd.ts';
import { builtInKeys, readKeys, type TrustedKey } from '../update/trust.ts';
import {
  type Installed,
  ownIdentity,
  rollBack,
  type Updated,
  type UpdatePorts,
  update,
} from '../update/update.ts';
import { usageError } from '../usage.ts';

export const workerUpdate = defineCommand({
  path: 'worker update',
  summary: 'Replace this executable by a signed newer one',
  description: [
    'Replace this executable by a signed newer one, when you say so and never by itself. The release is a folder, on this machine or behind https, with the executables, SHA256SUMS, SHA256SUMS.sig and release.json. What is not signed by a trusted key is never installed.',
    'The new executable is written beside the old one, checked, and started once for its version; then it takes the name in one step, and the old one stays as <executable>.previous. Services of systemd that run it are restarted: they drain, and have to become ready again; otherwise the old one is put back and restarted, and the exit code is 91. Workers that were started otherwise are named: they run the old one until you restart them.',
    'With --json: {did (nothing, updated, rolled-back or finished: one that was killed before its services were seen ready), exe, from, to, signedBy, services, oldWorkers}; with --check {current, offered, is (newer, same or older), signedBy, contract}.',
  ].join('\n'),
  options: {
    from: {
      form: 'text',
      argument: 'place',
      help: 'Folder of the release, or the executable in it; a path or an https address',
    },
    check: {
      form: 'switch',
      help: 'Only verify the release and say what it is; nothing is changed',
    },
    rollback: { form: 'switch', help: 'Exchange this executable with <executable>.previous' },
    'allow-downgrade': { form: 'switch', help: 'Install an older version too' },
    'ready-within': {
      form: 'text',
      argument: 'duration',
      help: 'How long a restarted service may take to become ready, after its drain [2m]',
    },
    service: {
      form: 'text',
      argument: 'name',
      help: 'Service of systemd to restart [those that are active and run this executable]',
    },
    'no-restart': { form: 'switch', help: 'Restart no service: you do it' },
  },
  settings: ['trust', 'caFile', 'spool'],
  examples: [
    ['worker update --check --from ./release', 'what it is, and whether it is signed'],
    ['worker update --from ./release', 'a folder that was copied here'],
    [
      'worker update --from https://downloads.example.com/interlock/0.2.0/ --trust release.pem',
      'by https, with a key that you got before',
    ],
    ['worker update --rollback', 'back to the version before'],
  ],
  async run(call) {
    const { args, io, json } = call;
    checkWords(args);
    const { programs } = io;
    if (!programs.standalone)
      throw updateError(
        'UPDATE_FROM_SOURCE',
        'This is no standalone executable: it runs from a checkout or an installed package.',
        { hint: 'In a checkout: git pull && npm ci. A package: npm install the newer version.' },
      );
    const readyWithinMs = parseDuration(args['ready-within'] ?? READY_WITHIN);
    if (readyWithinMs === undefined || readyWithinMs <= 0)
      throw usageError('--ready-within is no duration: write 2m or 90s.', 'worker update');
    const { ports, installed, close } = await world(call);
    // A line to the machine that breaks does not leave a new version that nobody watches.
    const stay = () => {};
    process.on('SIGHUP', stay);
    try {
      const done = args.rollback
        ? await rollBack(ports, installed, { readyWithinMs })
        : await fromRelease(call, ports, installed, readyWithinMs);
      if (!done) return 'ok';
      const left = await leftBehind(call, ports, done);
      if (json)
        await io.out.line(JSON.stringify({ ...done, oldIdentity: undefined, oldWorkers: left }));
      else
        for (const line of words(done, left, args['no-restart']))
          await io.out.line(asTyped(line, io));
      return 'ok';
    } finally {
      process.off('SIGHUP', stay);
      await close();
    }
  },
});

type UpdateCall = Omit<Call, 'args' | 'settings'> & {
  readonly args: Readonly<Record<'from' | 'service' | 'ready-within', string | undefined>> &
    Readonly<Record<'check' | 'rollback' | 'allow-downgrade' | 'no-restart', boolean>>;
  readonly settings: Readonly<Record<'trust' | 'caFile' | 'spool', string | undefined>> & {
    readonly from: Readonly<Record<'trust', string>>;
  };
};

function checkWords(args: UpdateCall['args']): void {
  const { from, check, rollback } = args;
  if (rollback && (from !== undefined || check))
    throw usageError('--rollback goes without --from and --check.', 'worker update');
  if (!rollback && from === undefined)
    throw usageError(
      'worker update needs --from: it looks for nothing by itself.',
      'worker update',
      'Name the folder of a release, or its https address; or give --rollback.',
    );
  if (args['no-restart'] && args.service !== undefined)
    throw usageError('--service is of no use with --no-restart.', 'worker update');
}

/** `undefined`: it was only checked, and told. */
async function fromRelease(
  call: UpdateCall,
  ports: UpdatePorts,
  installed: Installed,
  readyWithinMs: number,
): Promise<Updated | undefined> {
  const { args, io } = call;
  const from = args.from ?? '';
  const keys = await trusted(call);
  const source: ReleaseSource = isAddress(from)
    ? addressSource(from, ports)
    : await folderSource(from, io.cwd);
  if (!args.check)
    return update(ports, installed, {
      source,
      keys,
      allowDowngrade: args['allow-downgrade'],
      readyWithinMs,
    });
  const offer = await readOffer(source, keys, installed.target);
  // What lies here costs nothing to read; what would come over a network is read when it is installed.
  if (!isAddress(from)) await verifyWhole(source, offer);
  const { version: offered, contract } = offer.release;
  const is = judgeOffer(offer, installed.version);
  const { signedBy } = offer;
  if (call.json)
    await io.out.line(
      JSON.stringify({ current: installed.version, offered, is, signedBy, contract }),
    );
  else
    await io.out.line(
      `Version ${offered} for ${installed.target}, signed by ${signedBy}: ${OFFER_WORDS[is]} (${installed.version}).`,
    );
  return undefined;
}

const OFFER_WORDS = {
  newer: 'newer than this one',
  same: 'the same as this one',
  older: 'older than this one',
} as const;

/** The key of `--trust` instead of those inside: whoever gives one means that one. */
async function trusted({ settings, io }: UpdateCall): Promise<readonly TrustedKey[]> {
  const { trust } = settings;
  const file = trust === undefined ? undefined : resolve(io.cwd, trust);
  const pem = file === undefined ? builtInKeys() : await readTrust(file);
  if (file === undefined && pem.trim() === '')
    throw updateError(
      'UPDATE_NO_TRUST',
      'No key is trusted here: none was built into this executable, and none is given.',
    );
  const read = readKeys(pem);
  if (read.ok) return read.keys;
  throw updateError(
    'UPDATE_NO_TRUST',
    `${file ? `${file} (${settings.from.trust})` : 'What was built into this executable'} ${read.why}.`,
    { hint: 'Give the public key of who signs the releases: --trust pub.pem.' },
  );
}

/** A pipe may stand there too: `--trust <(…)`. */
async function readTrust(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    // What is read and not opened is told without its name.
    throw Object.assign(error as NodeJS.ErrnoException, { path: file });
  }
}

async function world(call: UpdateCall) {
  const { io, settings, args, style } = call;
  const { clock, env, programs } = io;
  const { stateFolder } = call.sources.around;
  const wire = openFetch({ clock, caFile: settings.caFile, proxy: proxyFromEnvironment(env) });
  const run = systemPrograms(clock);
  const ports: UpdatePorts = {
    clock,
    env,
    run,
    fetch: wire.fetch,
    files: systemFiles(),
    folderLock: systemFolderLock(),
    processInfo: await systemProcessInfo(),
    tell: (line) => io.err.line(style.faint(line)),
    services: async (exe) =>
      args['no-restart'] || process.platform !== 'linux'
        ? []
        : systemdServices({ run, env, stateFolder }, exe, args.service),
  };
  const target = targetOf(process.platform, process.arch);
  const own = programs.command === process.execPath ? await ownIdentity() : undefined;
  const installed: Installed = {
    command: programs.command,
    version: VERSION,
    target,
    identity: own,
  };
  return { ports, installed, close: () => wire.close() };
}

async function leftBehind(call: UpdateCall, ports: UpdatePorts, done: Updated) {
  if (done.oldIdentity === undefined) return [];
  const spools = await knownSpools(
    call.sources.around.stateFolder,
    call.settings.spool && resolve(call.io.cwd, call.settings.spool),
  );
  const more = { disk: systemDisk(), lock: systemFolderLock(), processInfo: ports.processInfo };
  const workers: OldWorker[] = await oldWorkers(more, spools, [done.oldIdentity]);
  for (const pid of await oldProcesses(done.oldIdentity, ports.processInfo.self.pid))
    if (workers.every((one) => one.pid !== pid)) workers.push({ pid, sure: true });
  return workers;
}

function words(
  done: Updated,
  left: Awaited<ReturnType<typeof leftBehind>>,
  noRestart: boolean,
): string[] {
  const { did, exe, to, services } = done;
  if (did === 'nothing') return [`${exe} is version ${to} already.`];
  // What was there before an update that was killed is not known by its number.
  const from = did === 'finished' ? 'the version before' : `version ${done.from}`;
  const lines = [
    {
      updated: `${exe} is version ${to} now. Version ${done.from} lies beside it, for interlock worker update --rollback.`,
      'rolled-back': `${exe} is version ${to} again. Version ${done.from} lies beside it.`,
      finished: `${exe} was version ${to} already; the update that was killed is finished.`,
    }[did],
  ];
  if (services.length > 0) lines.push(`Restarted and ready: ${services.join(', ')}.`);
  for (const { workerId, pid, sure } of left)
    lines.push(
      `${workerId === undefined ? `Process ${pid}` : `Worker "${workerId}" (process ${pid})`} ${sure ? 'still runs' : 'may still run'} ${from}: restart it (SIGTERM lets it drain).`,
    );
  if (services.length === 0 && left.length === 0)
    lines.push(
      noRestart
        ? 'No service was restarted: what runs goes on with the old version until you restart it.'
        : 'No service and no running worker of it was found; the next start is the new version.',
    );
  return lines;
}

const READY_WITHIN = '2m';
