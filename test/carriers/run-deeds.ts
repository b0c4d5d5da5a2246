/** An agent for tests: runs the deeds of its arguments one after the other, and writes how each ended. */
import { startJob } from './collected.ts';
import { fixtureFile, processCarrier } from './process-harness.ts';

const { carrier } = processCarrier({ maxHosts: 1 });
const ends = [];
for (const deed of process.argv.slice(2)) {
  const running = startJob(carrier, { file: fixtureFile('abuse'), input: { do: deed } });
  ends.push(await running.ended);
}
await carrier.close();
process.stdout.write(JSON.stringify(ends));
