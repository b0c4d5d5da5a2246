import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { mine } from './ending.ts';
import { cpuMs } from './processes.ts';

/** Redis and PostgreSQL of this machine, as instances of our own: on loopback, with data in a temporary folder. */
export interface Server {
  readonly port: number;
  readonly version: string;
  /** Processor time of all its processes until now, in ms. */
  cpu(): number;
  stop(): Promise<void>;
}

/** @returns why not, in words, where it is not installed. */
export async function redis(): Promise<Server | string> {
  const version = versionOf('redis-server');
  if (!version) return 'redis-server is not installed: BullMQ is left out';
  const folder = mkdtempSync(join(tmpdir(), 'interlock-bench-redis-'));
  const port = await freePort();
  const child = spawn(
    'redis-server',
    [
      ...['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, '--save', ''],
      ...['--appendonly', 'yes', '--appendfsync', 'always'],
    ],
    { stdio: 'ignore' },
  );
  return started(child, folder, port, `Redis ${/v=(\S+)/.exec(version)?.[1]}`, 'SIGTERM');
}

/** Its programs refuse to run as root: as root they run as a system user. */
export async function postgres(): Promise<Server | string> {
  const bin = postgresFolder();
  if (!bin) return 'PostgreSQL is not installed: graphile-worker and pg-boss are left out';
  const folder = mkdtempSync(join(tmpdir(), 'interlock-bench-postgres-'));
  const user = process.getuid?.() === 0 ? systemUser() : undefined;
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  if (user) for (const path of [folder, data]) chownSync(path, user.uid, user.gid);
  const as = { ...user, cwd: folder, stdio: 'ignore' as const };
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--locale=C'],
    as,
  );
  const port = await freePort();
  const child = spawn(
    join(bin, 'postgres'),
    ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', ''],
    as,
  );
  const version = /\d+(\.\d+)*/.exec(versionOf(join(bin, 'postgres')) ?? '')?.[0];
  // A fast shutdown: it waits for no client.
  return started(child, folder, port, `PostgreSQL ${version}`, 'SIGINT');
}

async function started(
  child: ChildProcess,
  folder: string,
  port: number,
  version: string,
  end: NodeJS.Signals,
): Promise<Server> {
  // With what those took that are gone: it never runs backwards.
  const used = new Map<number, number>();
  mine(child);
  const gone = once(child, 'exit');
  const stop = async () => {
    if (child.exitCode === null) child.kill(end);
    await gone;
    rmSync(folder, { recursive: true, force: true });
  };
  for (let tries = 0; !(await answers(version, port)); tries++) {
    if (child.exitCode !== null || tries > 300) {
      await stop();
      throw new Error(`${version} did not start on port ${port} (exit code ${child.exitCode})`);
    }
    await pause(100);
  }
  return {
    port,
    version,
    cpu: () => {
      for (const pid of family(child.pid as number)) used.set(pid, cpuMs(pid) ?? 0);
      return [...used.values()].reduce((sum, ms) => sum + ms, 0);
    },
    stop,
  };
}

/** A port that is open may still refuse its clients: each is asked in its own words. */
async function answers(version: string, port: number): Promise<boolean> {
  const [program, args] = version.startsWith('Redis')
    ? ['redis-cli', ['-p', String(port), 'ping']]
    : [join(postgresFolder() ?? '', 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port)]];
  return spawnSync(program as string, args as string[], { stdio: 'ignore' }).status === 0;
}

function versionOf(program: string): string | undefined {
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
}

function postgresFolder(): string | undefined {
  const versions = '/usr/lib/postgresql';
  if (!existsSync(versions)) return undefined;
  const newest = readdirSync(versions).sort((a, b) => Number(b) - Number(a))[0] ?? '';
  const bin = join(versions, newest, 'bin');
  return existsSync(join(bin, 'initdb')) ? bin : undefined;
}

function systemUser(): { uid: number; gid: number } {
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const found = ['postgres', 'nobody']
    .map((name) => users.find(([first]) => first === name))
    .find((user) => user !== undefined);
  if (!found)
    throw new Error('PostgreSQL runs as no root, and there is neither postgres nor nobody');
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

function family(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(file)) return [];
  const children = readFileSync(file, 'utf8').split(' ').filter(Boolean).map(Number);
  return [pid, ...children.flatMap(family)];
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
