import { configDefaults, defineConfig } from 'vitest/config';

/**
 * `npm test` runs what needs only the npm packages. Two kinds of file name stay out of it:
 * `*.ci.test.ts` needs more of the machine (strace, a browser, root) and runs with `npm run test:ci`;
 * `*.long.test.ts` takes minutes and runs with `npm run test:long`.
 */
const kind = process.env.TEST_KIND ?? 'default';
const tests = (suffix: string) => [`test/**/*${suffix}`, `sim/**/*${suffix}`];

export default defineConfig({
  // Migrations are imported as text, as the bundle does it.
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
    // Two cores are the smallest machine it has to be steady on; tests start processes of their own.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    include:
      kind === 'ci'
        ? tests('.ci.test.ts')
        : kind === 'long'
          ? tests('.long.test.ts')
          : tests('.test.ts'),
    exclude: [
      ...configDefaults.exclude,
      ...(kind === 'default' ? ['**/*.ci.test.ts', '**/*.long.test.ts'] : []),
    ],
  },
});
