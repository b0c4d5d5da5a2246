/** Run with a small limit of open files: uses them up, starts a job, gives them back, starts another. */
import { closeSync, openSync } from 'node:fs';
import { startJob } from './collected.ts';
import { fixtureFile, processCarrier } from './process-harness.ts';

const { carrier } = processCarrier();
const held: number[] = [];
try {
  for (;;) held.push(openSync('/dev/null', 'r'));
} catch {
  // No more.
}
const job = { file: fixtureFile('echo'), input: 'there is room again' };
const refused = await startJob(carrier, job).ended;
for (const fd of held) closeSync(fd);
const done = await startJob(carrier, job).ended;
await carrier.close();
process.stdout.write(JSON.stringify([refused, done]));
