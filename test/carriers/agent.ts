/** An agent for tests: starts the deeds of its arguments, says so when all have begun, and goes on. */
import { startJob } from './collected.ts';
import { fixtureFile, processCarrier } from './process-harness.ts';

const [marker, ...deeds] = process.argv.slice(2);
const { carrier } = processCarrier({ marker: marker as string, maxHosts: deeds.length });
for (const deed of deeds) {
  const [first, also] = deed.split(' ');
  const running = startJob(carrier, { file: fixtureFile('abuse'), input: { do: first, also } });
  await running.until((told) =>
    first === 'childAnd'
      ? told.lines.length > 0
      : first === 'spin'
        ? told.progress.length > 0
        : told.begun > 0,
  );
}
process.stdout.write('begun\n');
