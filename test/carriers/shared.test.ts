import { carrierCases } from './carrier.cases.ts';
import { fixtureFile } from './process-harness.ts';
import { sharedCarrier } from './shared-harness.ts';

carrierCases('shared', async () => {
  const { carrier } = sharedCarrier({ maxHosts: 20 });
  return {
    carrier,
    job: (fixture) => ({
      type: `test/${fixture}`,
      file: fixtureFile(fixture),
      effectSafety: 'idempotent',
      sharesHost: true,
    }),
    close: () => carrier.close(),
  };
});
