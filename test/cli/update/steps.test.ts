import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toFailure } from '../../../src/cli/failure.ts';
import { temporaryFolder } from '../world.ts';
import { makeRelease, newKeys, putExecutable, target, versionOf } from './releases.ts';
import { type Step, updateWith, watchedFiles } from './steps.ts';

const posix = process.platform !== 'win32';
if (!posix)
  console.log('Steps of an update are not tried here: the executables are shell scripts.');

async function world() {
  const cwd = temporaryFolder();
  const keys = newKeys();
  const release = await makeRelease({ folder: join(cwd, 'release'), version: '0.2.0', keys });
  const folder = join(cwd, 'bin');
  mkdirSync(folder);
  const exe = join(folder, 'interlock-worker');
  putExecutable(exe, '0.1.0');
  return { folder, exe, from: { exe, release, pem: keys.publicPem, target } };
}

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: refused, write`), { code, syscall: 'write', errno: -1 });
}

describe.skipIf(!posix)('the steps of an update', () => {
  it('come in the order that a power cut at any moment leaves a whole executable at the path', async () => {
    const { exe, folder, from } = await world();
    const order: string[] = [];
    const short = (path: string) =>
      path.slice(folder.length + 1).replace('.interlock-worker.update/', '~/');
    const files = watchedFiles({
      after: (step, paths) => void order.push([step, ...paths.map(short)].join(' ').trim()),
    });
    await updateWith(files, from);
    const at = (text: string) => {
      const found = order.lastIndexOf(text);
      expect(found, `${text} in ${order.join('\n')}`).toBeGreaterThanOrEqual(0);
      return found;
    };
    const swap = at('rename ~/new-interlock-worker interlock-worker');
    // On the disk before its name is given: write and give end with an fsync.
    expect(at('write ~/new-interlock-worker')).toBeLessThan(at('give ~/new-interlock-worker'));
    expect(at('give ~/new-interlock-worker')).toBeLessThan(swap);
    // The way back is durable before the way on.
    const kept = at('rename ~/keep-interlock-worker interlock-worker.previous');
    expect(at('twin interlock-worker ~/keep-interlock-worker')).toBeLessThan(kept);
    const syncs = order.flatMap((text, i) => (text === 'syncFolder' ? [i] : []));
    expect(syncs.some((i) => i > kept && i < swap)).toBe(true);
    expect(syncs.some((i) => i > swap)).toBe(true);
    // The path itself is only ever the target of a rename.
    const touched = order.filter(
      (text) => / interlock-worker$/.test(text) && !text.startsWith('rename ~/'),
    );
    expect(touched).toEqual([]);
    expect(await versionOf(exe)).toBe('0.2.0');
  });

  const troubles = [
    ['ENOSPC', /disk is full/],
    ['EACCES', /may not write/],
    ['EROFS', /read-only/],
    ['EIO', /fails to write/],
    ['EDQUOT', /quota/],
  ] as const;
  it.each(troubles)(
    'are told in a sentence when the disk says %s, and the old executable stays',
    async (code, says) => {
      const { exe, folder, from } = await world();
      const steps: Step[] = [];
      await updateWith(watchedFiles({ before: (step) => void steps.push(step) }), from);
      const swap = steps.lastIndexOf('rename');
      // All of them for the most likely trouble; the ends for the others.
      const all = Array.from({ length: swap + 1 }, (_, at) => at);
      for (const at of code === 'ENOSPC' ? all : [0, swap >> 1, swap]) {
        rmSync(folder, { recursive: true });
        mkdirSync(folder);
        putExecutable(exe, '0.1.0');
        let step = -1;
        let failed = false;
        const files = watchedFiles({
          before: () => {
            step += 1;
            if (step !== at) return;
            failed = true;
            throw systemError(code);
          },
        });
        const error = await updateWith(files, from).then(
          () => undefined,
          (thrown: unknown) => toFailure(thrown),
        );
        expect(failed).toBe(true);
        expect(error, `step ${at} (${steps[at]})`).toMatchObject({
          code: 'UPDATE_NOT_WRITTEN',
          exit: 'input-output',
        });
        expect(error?.message).toMatch(says);
        expect(error?.hint).toBeTruthy();
        expect(await versionOf(exe)).toBe('0.1.0');
        expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([]);
      }
    },
  );

  it('end in a sentence when the executable is removed or replaced in between', async () => {
    const { exe, from } = await world();
    const then = (work: () => void) =>
      watchedFiles({
        after: (step, [path = '']) => {
          if (step === 'give' && path.endsWith('new-interlock-worker')) work();
        },
      });
    const gone = updateWith(
      then(() => rmSync(exe)),
      from,
    );
    await expect(gone).rejects.toMatchObject({ code: 'UPDATE_EXECUTABLE_GONE' });
    putExecutable(exe, '0.1.0');
    const replaced = updateWith(
      then(() => {
        // Both are there for a moment: a file system may give the number of a removed one to the next.
        putExecutable(`${exe}.other`, '0.1.5');
        renameSync(`${exe}.other`, exe);
      }),
      from,
    );
    await expect(replaced).rejects.toThrow(/replaced by somebody else/);
    expect(await versionOf(exe)).toBe('0.1.5');
  });

  it('copy where the file system has no second names', async () => {
    const { exe, from } = await world();
    const files = watchedFiles({});
    const { copyFile } = await import('node:fs/promises');
    await updateWith({ ...files, twin: (one, other) => copyFile(one, other) }, from);
    expect(await versionOf(exe)).toBe('0.2.0');
    expect(await versionOf(`${exe}.previous`)).toBe('0.1.0');
  });

  it('on Windows rename what runs instead of replacing it, and take that back when the second rename fails', async () => {
    const { exe } = await world();
    const { swapBack, swapIn } = await import('../../../src/cli/update/swap.ts');
    const { placeOf } = await import('../../../src/cli/update/place.ts');
    const place = placeOf(exe);
    mkdirSync(place.staging);
    putExecutable(place.fresh, '0.2.0');
    let renames = 0;
    const failing = watchedFiles({
      before: (step) => {
        if (step === 'rename' && ++renames === 2) throw systemError('EPERM');
      },
    });
    await expect(swapIn(failing, place, 'win32')).rejects.toThrow('EPERM');
    expect(await versionOf(exe)).toBe('0.1.0');
    await swapIn(watchedFiles({}), place, 'win32');
    expect(await versionOf(exe)).toBe('0.2.0');
    expect(await versionOf(place.previous)).toBe('0.1.0');
    await swapBack(watchedFiles({}), place, 'win32');
    expect(await versionOf(exe)).toBe('0.1.0');
  });
});
