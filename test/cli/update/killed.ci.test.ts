import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { placeOf } from '../../../src/cli/update/place.ts';
import { temporaryFolder } from '../world.ts';
import { makeRelease, newKeys, putExecutable, target, versionOf } from './releases.ts';

const program = join(import.meta.dirname, 'killed-update.ts');

it('an update that is killed before or after any of its steps leaves an executable that runs, and the next one sweeps and succeeds', async () => {
  const cwd = temporaryFolder();
  const keys = newKeys();
  const pem = join(cwd, 'pub.pem');
  writeFileSync(pem, keys.publicPem);
  const release = await makeRelease({ folder: join(cwd, 'release'), version: '0.2.0', keys });
  const started = (exe: string, at: number, when: string) =>
    new Promise<{ killed: boolean; out: string; err: string }>((resolve) => {
      const args = [program, exe, release, pem, target, String(at), when];
      execFile(process.execPath, args, (error, out, err) =>
        resolve({ killed: error?.signal === 'SIGKILL', out, err }),
      );
    });
  const place = (name: string) => {
    const folder = join(cwd, name);
    mkdirSync(folder);
    putExecutable(join(folder, 'interlock-worker'), '0.1.0');
    putExecutable(join(folder, 'interlock-worker.previous'), '0.0.9');
    return { folder, exe: join(folder, 'interlock-worker') };
  };

  const whole = await started(place('whole').exe, 0, 'never');
  const steps = Number(whole.out);
  expect(steps, whole.err).toBeGreaterThan(15);

  const seen = new Set<string>();
  const one = async (at: number, when: string) => {
    const { folder, exe } = place(`${when}-${at}`);
    const first = await started(exe, at, when);
    expect(first.killed, `${when} ${at}: ${first.err}`).toBe(true);
    const runs = await versionOf(exe);
    expect(['0.1.0', '0.2.0'], `${when} ${at}`).toContain(runs);
    seen.add(runs);
    const { previous, older } = placeOf(exe);
    // Whatever was kept before is still there, unless what is kept now has taken its place.
    const kept = existsSync(previous) ? previous : older;
    expect(['0.0.9', '0.1.0'], `${when} ${at}`).toContain(await versionOf(kept));
    const next = await started(exe, 0, 'never');
    expect(next.err, `${when} ${at}`).toBe('');
    expect(await versionOf(exe)).toBe('0.2.0');
    // A whole update of what is updated already does nothing, but here the old version number is told each time.
    expect(readdirSync(folder).sort(), `${when} ${at}`).toEqual([
      'interlock-worker',
      'interlock-worker.previous',
    ]);
  };
  for (let at = 1; at <= steps; at++) await Promise.all([one(at, 'before'), one(at, 'after')]);
  expect([...seen].sort()).toEqual(['0.1.0', '0.2.0']);
}, 240_000);
