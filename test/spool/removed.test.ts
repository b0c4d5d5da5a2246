import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { RealSpools } from './real-spool.ts';
import { complete, META } from './world.ts';

const homes: string[] = [];
afterAll(async () => {
  for (const home of homes) await rm(home, { recursive: true, force: true });
});

it.each([
  ['removed', (folder: string) => rm(folder, { recursive: true, force: true })],
  ['moved', (folder: string) => rename(folder, `${folder}-elsewhere`)],
  [
    'emptied',
    async (folder: string) => {
      for (const name of await readdir(folder))
        await rm(join(folder, name), { recursive: true, force: true });
    },
  ],
])('a spool that is %s is told to be gone, and nobody is blamed', async (_, away) => {
  const home = await mkdtemp(join(tmpdir(), 'interlock-spool-'));
  homes.push(home);
  const spools = new RealSpools(home);
  const { promise: lost, resolve } = Promise.withResolvers<string>();
  const spool = await spools.open({ onLost: resolve });
  await away(spools.folder);
  const why = await lost;
  expect(why).toContain(`The spool ${spools.folder} was removed or moved while it was in use`);
  expect(why).toContain('put it back before the next start');
  expect(why).not.toContain('another process');
  expect(spool.stats()).toMatchObject({ ok: false, why });
  await expect(spool.writeReport(complete('att_a'), META)).rejects.toMatchObject({
    code: 'SPOOL_LOST',
    message: why,
  });
  await spools.end();
});
