import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SimulatedClock } from '../../sim/clock.ts';
import { SimulatedDisk } from '../../sim/disk.ts';
import { systemDisk } from '../../src/system/disk.ts';
import { diskCases } from './disk.cases.ts';

const temporaryFolder = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'interlock-disk-'));
  return { folder, done: () => rm(folder, { recursive: true }) };
};

diskCases('system', async () => ({ disk: systemDisk(), ...(await temporaryFolder()) }));

diskCases('simulated', async () => {
  const disk = new SimulatedDisk(new SimulatedClock()).mount();
  await disk.makeFolder('/work');
  return { disk, folder: '/work' };
});
