import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PROGRAMS } from '../binary/executable.ts';
import { Processes } from '../e2e/processes.ts';
import { interlock } from './run.ts';
import { temporaryFolder } from './world.ts';

// Real processes on a machine that others keep busy.
vi.setConfig({ testTimeout: 60_000 });

const INTERLOCK = join(PROGRAMS, 'interlock');

let processes: Processes;
let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
  processes = new Processes(folder);
});
afterEach(() => processes.end());

async function shell(line: string) {
  const sh = processes.start('sh', ['-c', line], { env: {}, cwd: folder, group: true });
  const { code } = await sh.ending();
  return { code, out: sh.out, err: sh.err };
}

function keyNames(data: string): unknown[] {
  const database = new DatabaseSync(join(data, 'control-plane.db'), { readOnly: true });
  const rows = database.prepare('SELECT id, name FROM keys ORDER BY id').all();
  database.close();
  return rows;
}

/** A data folder that a control plane has used. */
async function used(): Promise<string> {
  const data = join(folder, 'data');
  const plane = processes.start(
    INTERLOCK,
    ['control-plane', '--listen', '127.0.0.1:0', '--data', data],
    { env: {}, cwd: folder },
  );
  await plane.says(/control plane answers/);
  plane.kill('SIGTERM');
  await plane.ending();
  return data;
}

describe('a key that stdout does not take', () => {
  const keysNew = (data: string) => `'${INTERLOCK}' keys new robot --kind admin --data '${data}'`;

  it('is not made where stdout is closed or thrown away', async () => {
    const data = await used();
    for (const to of ['>&-', '>/dev/null', '--json >/dev/null']) {
      const { code, err } = await shell(`${keysNew(data)} ${to}`);
      expect(code, to).toBe(74);
      expect(err).toMatch(/No key was made: stdout does not take it/);
      expect(err).not.toMatch(/il_\w/);
    }
    expect(keyNames(data)).toHaveLength(1);
  });

  // Linux has a device for it.
  it.skipIf(!existsSync('/dev/full'))('is named by its id where it was made', async () => {
    const data = await used();
    const full = await shell(`${keysNew(data)} >/dev/full`);
    expect(full.code).toBe(74);
    const left = await shell(`exec 3>&1; { sleep 0.1; ${keysNew(data)}; echo "exit $?" >&3; } | :`);
    expect(left.out).toBe('exit 74\n');
    const [, one, two] = keyNames(data) as { id: string }[];
    expect(full.err).toContain(`The key ${one?.id} ("robot") was made, but nobody has seen it`);
    expect(left.err).toContain(`The key ${two?.id} ("robot") was made, but nobody has seen it`);
    expect(full.err + left.err).not.toMatch(/il_\w/);
  });

  it.skipIf(!existsSync('/dev/full'))(
    'ends the first start of a control plane, and the next start has one',
    async () => {
      const data = join(folder, 'data');
      const start = `'${INTERLOCK}' control-plane --listen 127.0.0.1:0 --data '${data}'`;
      for (const to of ['>/dev/full', '>/dev/null']) {
        const { code, err } = await shell(`${start} ${to}`);
        expect(code, to).toBe(74);
        expect(err).toMatch(/first admin key cannot be shown, so it was not kept/);
        expect(err).toContain(`--data ${data}`);
      }
      expect(keyNames(data)).toEqual([]);
      await used();
      expect(keyNames(data)).toMatchObject([{ name: 'first admin key' }]);
      // Later starts have nothing to show.
      const later = processes.start('sh', ['-c', `exec ${start} >/dev/null`], {
        env: {},
        cwd: folder,
      });
      await later.says(/control plane answers/);
      later.kill('SIGTERM');
      expect((await later.ending()).code).toBe(0);
    },
  );
});

it('says in one sentence that the current folder is gone', async () => {
  for (const program of [INTERLOCK, `${INTERLOCK}-worker`]) {
    const { code, out, err } = await shell(
      `mkdir gone && cd gone && rmdir "$PWD" && exec '${program}' tasks list`,
    );
    expect(out).toBe('');
    // The shells in front of it have their own word about it.
    expect(err).toMatch(/^error {2}The current folder is gone/m);
    expect(err).toMatch(/\(exit 74, input-output\)\n$/);
    expect(err).not.toMatch(/^\s+at /m);
    expect(code).toBe(74);
  }
});

it('refuses a key file that is no file, without opening it', async () => {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const directory = join(folder, 'directory');
  mkdirSync(directory);
  const socket = join(folder, 'socket');
  const server = createServer().listen(socket);
  await new Promise((resolve) => server.once('listening', resolve));
  for (const [file, kind] of [
    [pipe, 'a pipe'],
    [directory, 'a folder'],
    [socket, 'a socket'],
    ['/dev/null', 'a device'],
  ]) {
    const { code, err } = await interlock(['tasks', 'list', '--key-file', file as string]);
    expect(err).toContain(`The key file ${file} is ${kind}, not a file.`);
    expect(code).toBe(77);
  }
  server.close();
});
