import { fork, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const noStrace = spawnSync('strace', ['-V']).status !== 0;
if (noStrace) console.info('left out: the order of system calls (no strace here)');

it.skipIf(noStrace)(
  'writes, syncs the file and its folder, and only then says that a report is durable',
  async () => {
    const home = await mkdtemp(join(tmpdir(), 'interlock-order-'));
    try {
      const trace = join(home, 'trace');
      // Threads told apart (-f), file descriptors with their paths (-y), whole strings (-s).
      const calls = 'trace=openat,write,pwrite64,fsync,fdatasync,sendmsg';
      const strace = ['-f', '-y', '-s', '4096', '-o', trace, '-e', calls, process.execPath];
      const child = fork(
        join(import.meta.dirname, 'spool-child.ts'),
        [join(home, 'spool'), 'ses_1'],
        {
          execPath: 'strace',
          execArgv: strace,
          stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        },
      );
      const said = (name: string) =>
        new Promise<void>((resolve) => {
          child.on('message', (message) => {
            if (name in (message as object)) resolve();
          });
        });
      await said('opened');
      const durable = said('durable');
      child.send({ do: 'write', id: 'att_traced' });
      await durable;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.send({ do: 'close' });
      await gone;

      const all = (await readFile(trace, 'utf8')).split('\n');
      const at = (what: RegExp, from = 0) =>
        all.findIndex((line, i) => i >= from && what.test(line));
      const made = at(/openat\(.*\/reports\/[^"]*\.jsonl", .*O_CREAT/);
      const written = at(/write\(\d+<[^>]*\/reports\/[^>]*\.jsonl>, "\{\\"v\\":1,/, made);
      const synced = at(/fdatasync\(\d+<[^>]*\/reports\/[^>]*\.jsonl>/, written);
      // Beside the other.
      const folderSynced = at(/fsync\(\d+<[^>]*\/reports>/, made);
      const told = at(/"\{\\"durable\\":\\"att_traced\\"\}/);
      const order = { made, written, synced, folderSynced, told };
      expect(Math.min(...Object.values(order)), JSON.stringify(order)).toBeGreaterThan(0);
      expect(Math.max(...Object.values(order)), JSON.stringify(order)).toBe(told);
      expect(folderSynced, JSON.stringify(order)).toBeGreaterThan(made);
      // Two for the group, and no more until it is told.
      const between = all.slice(made, told).filter((line) => /f(data)?sync\(/.test(line));
      expect(between, between.join('\n')).toHaveLength(2);
    } finally {
      await rm(home, { recursive: true });
    }
  },
);
