import type { Call } from '../command.ts';
import type { ExitName } from '../exit-codes.ts';
import { asTyped } from '../own-name.ts';
import { usageError } from '../usage.ts';
import { type Installing, installService } from './install.ts';
import { logCommand } from './logs.ts';
import { serviceMeant, type WhichService } from './options.ts';
import { papersOf } from './papers.ts';
import { noService, serviceStatus } from './status.ts';
import { statusLines } from './status-words.ts';
import { stepFailed } from './steps.ts';
import { type Uninstalling, uninstallService } from './uninstall.ts';
import { type ServiceWorld, serviceWorld } from './world.ts';
import { readWritten } from './written.ts';

/** The commands of a service on the machine as it is; tests give another world. */
type Spoken = Pick<Call, 'io' | 'json'>;

export async function install(
  call: Installing & Spoken & { readonly args: WhichService },
  world: ServiceWorld = serviceWorld(call.io),
): Promise<ExitName> {
  const { io, json, args } = call;
  const id = serviceMeant(args, world, 'worker service install');
  const told = (line: string) => io.err.line(line);
  const done = await installService(call, id, world, told);
  if (json) {
    await io.out.line(JSON.stringify(done));
    return 'ok';
  }
  for (const note of done.notes) await io.err.line(`note   ${note}`);
  if (done.text !== undefined) await io.out.write(done.text.replaceAll('\r\n', '\n'));
  if (done.commands !== undefined && done.commands.length > 0)
    await io.out.write(`\n${done.commands.map((command) => `# ${command}\n`).join('')}`);
  for (const line of done.changes) await io.out.line(line);
  await io.err.line(asTyped(done.says, io));
  if (args.user && done.did === 'installed' && id.kind === 'systemd')
    await io.err.line('It runs while you are logged in; to run always: loginctl enable-linger');
  return 'ok';
}

export async function uninstall(
  call: Uninstalling & Spoken & { readonly args: WhichService },
  world: ServiceWorld = serviceWorld(call.io),
): Promise<ExitName> {
  const { io, json, args } = call;
  const id = serviceMeant(args, world, 'worker service uninstall');
  const done = await uninstallService(call, id, world, (line) => io.err.line(line));
  if (json) await io.out.line(JSON.stringify(done));
  else {
    for (const command of done.commands ?? []) await io.out.line(`# ${command}`);
    await io.err.line(asTyped(done.says, io));
  }
  return 'ok';
}

export async function status(
  call: Spoken & { readonly args: WhichService },
  world: ServiceWorld = serviceWorld(call.io),
): Promise<ExitName> {
  const { io, json, args } = call;
  const found = await serviceStatus(serviceMeant(args, world, 'worker service status'), world);
  if (json) await io.out.line(JSON.stringify(found));
  else for (const line of statusLines(found)) await io.out.line(line);
  return found.running === false ? 'service-failed' : 'ok';
}

export async function logs(
  call: Spoken & {
    readonly args: WhichService & { readonly lines: string | undefined; readonly follow: boolean };
  },
  world: ServiceWorld = serviceWorld(call.io),
): Promise<ExitName> {
  const { io, args } = call;
  const id = serviceMeant(args, world, 'worker service logs');
  const { lines = '50', follow } = args;
  if (!/^\d{1,6}$/.test(lines))
    throw usageError(`--lines "${lines}" is no count.`, 'worker service logs');
  const papers = papersOf(id, world);
  if (readWritten(papers, world.root) === undefined) throw noService(papers.called, papers.file);
  const command = logCommand(id, world, { lines: Number(lines), follow });
  const end = await world.run(command, {
    boundMs: Number.POSITIVE_INFINITY,
    onOut: (chunk) => void io.out.write(chunk),
  });
  if (end?.code !== 0) throw stepFailed(command, end);
  return 'ok';
}
