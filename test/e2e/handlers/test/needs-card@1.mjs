import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { HostError } from 'interlock-node-sdk/handler';

export const effectSafety = 'pure';

/** Works only while the file that this host's environment names is not there. */
export default async () => {
  const sick = process.env.TEST_SICK_FILE;
  await sleep(10);
  if (sick && existsSync(sick)) throw new HostError('CUDA error: no device');
  return 'rendered';
};
