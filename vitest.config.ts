import { resolve } from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';

/**
 * `npm test` runs what needs only the npm packages. Some kinds of file name stay out of it:
 * `*.ci.test.ts` needs more of the machine (strace, root, the registry) and runs with `npm run test:ci`;
 * `*.faults.test.ts` harms real processes, disks and networks (Linux, root) and runs with `npm run test:faults`, for
 * more and longer rounds with `npm run test:faults -- --mode faults-long`; `*.binary.test.ts` needs the standalone
 * executable (`npm run binary`) and runs with `npm run test:binary`, and with it the tests of whole processes, which run
 * from `dist/` in `npm test`, the longest of them in `npm run test:ci`; `*.browser.test.ts` needs a Chromium and runs with
 * `npm run test:browser`.
 */
const KINDS = ['ci', 'faults', 'binary', 'browser'];
/**
 * Tests that start our programs: what they show of the programs in `bin/` has to hold for the executable too. Those of the
 * SDK and of the samples start a user's own Node.js instead.
 */
const PROCESSES = [
  'test/e2e/{crash,digest,drain,faults,hints,keys,load,poison,reload,streams,wire}.test.ts',
  'test/cli/{dev,pipes,shown-once,worker-start}.test.ts',
];
/** A quarter of a minute each and more: `npm test` has to stay below four. */
const LONG = [
  'test/e2e/{digest,hints,keys,load,poison,reload,sdk,sdk-thread}.test.ts',
  'test/carriers/process-pool.test.ts',
];
const tests = (suffix: string) => [`test/**/*${suffix}`, `sim/**/*${suffix}`];

/** Another one than `npm run binary` makes for this machine: INTERLOCK_TEST_EXECUTABLE. */
function executable(): string {
  const { platform, arch, env } = process;
  const built = `build/binary/interlock-worker-${platform}-${arch}`;
  return resolve(import.meta.dirname, env.INTERLOCK_TEST_EXECUTABLE || built);
}

export default defineConfig(({ mode: asked }) => {
  const mode = asked === 'faults-long' ? 'faults' : asked;
  return {
    // Migrations, the specification and what runs in a browser are imported as text, as in the bundle.
    plugins: [
      {
        name: 'as-text',
        transform: (code: string, id: string) =>
          /\.(sql|md|client\.js)$/.test(id)
            ? { code: `export default ${JSON.stringify(code)};`, map: null }
            : null,
      },
    ],
    test: {
      environment: 'node',
      env: {
        ...(asked === 'faults-long' && { FAULTS: 'long' }),
        ...(mode === 'binary' && { INTERLOCK_TEST_EXECUTABLE: executable() }),
      },
      pool: 'forks',
      // Two cores are the smallest machine they have to be steady on; tests start processes of their own, and many wait.
      maxWorkers: mode === 'ci' || mode === 'faults' ? 2 : 4,
      // A shared CI machine may stall a real process for seconds: a test may fail there once, one that harms real disks and
      // networks twice, and is then named as retried.
      retry: process.env.CI ? (mode === 'faults' ? 2 : 1) : 0,
      testTimeout: 30_000,
      hookTimeout: 30_000,
      include: [
        ...tests(KINDS.includes(mode) ? `.${mode}.test.ts` : '.test.ts'),
        ...(mode === 'binary' ? PROCESSES : []),
        ...(mode === 'ci' ? LONG : []),
      ],
      exclude: [
        ...configDefaults.exclude,
        ...(KINDS.includes(mode) ? [] : LONG),
        ...KINDS.filter((kind) => kind !== mode).map((kind) => `**/*.${kind}.test.ts`),
      ],
    },
  };
});
