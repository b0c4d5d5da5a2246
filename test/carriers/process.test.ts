import { carrierCases } from './carrier.cases.ts';
import { fixtureFile, processCarrier } from './process-harness.ts';

carrierCases('process', async () => {
  const { carrier } = processCarrier({ maxHosts: 3 });
  return {
    carrier,
    job: (fixture) => ({ type: `test/${fixture}`, file: fixtureFile(fixture) }),
    close: () => carrier.close(),
  };
});
