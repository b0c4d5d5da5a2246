import { configDefaults, defineConfig } from 'vitest/config';

/**
 * `npm test` runs what needs only the npm packages. Two kinds of file name stay out of it:
 * `*.ci.test.ts` needs more of the machine (strace, root, the registry) and runs with `npm run test:ci`;
 * `*.long.test.ts` takes minutes and runs with `npm run test:long`.
 */
const KINDS = ['ci', 'long'];
const tests = (suffix: string) => [`test/**/*${suffix}`, `sim/**/*${suffix}`];

export default defineConfig(({ mode }) => ({
  // Migrations are imported as text, as in the bundle.
  plugins: [
    {
      name: 'sql-as-text',
      transform: (code: string, id: string) =>
        id.endsWith('.sql') ? { code: `export default ${JSON.stringify(code)};`, map: null } : null,
    },
  ],
  test: {
    environment: 'node',
    pool: 'forks',
    // Two cores are the smallest machine they have to be steady on; tests start processes of their own.
    maxWorkers: 2,
    // A shared CI machine may stall a real process for seconds: a test may fail once there, and is then named as retried.
    retry: process.env.CI ? 1 : 0,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    include: tests(KINDS.includes(mode) ? `.${mode}.test.ts` : '.test.ts'),
    exclude: [
      ...configDefaults.exclude,
      ...KINDS.filter((kind) => kind !== mode).map((kind) => `**/*.${kind}.test.ts`),
    ],
  },
}));
