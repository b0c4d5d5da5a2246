/**
 * The report of a test run that `.ci/run` counts with: numbers, the files in which anything failed, and what failed in words.
 * Vitest's own JSON knows neither a hook of a `describe` that failed nor an error outside of all tests, and a run that fails for
 * these would name nothing. Written to the file that `CI_REPORT` names.
 */
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, SerializedError, TestModule, TestSuite } from 'vitest/node';

/** Enough of an error to know what to look at. */
const LINES = 12;
const CHARACTERS = 1500;

interface OutsideError extends SerializedError {
  VITEST_TEST_PATH?: string;
  VITEST_TEST_NAME?: string;
}

function start(error: SerializedError): string[] {
  const text = String(error.stack || error.message || error);
  return text
    .slice(0, CHARACTERS)
    .split('\n')
    .slice(0, LINES)
    .map((line) => `      ${line}`);
}

export default class CiReport implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], outside: readonly SerializedError[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const files = new Set<string>();
    const failures: string[] = [];
    const tell = (what: string, errors: readonly SerializedError[]) =>
      failures.push(`  ${what}`, ...errors.flatMap(start));
    for (const module of modules) {
      const file = relative(process.cwd(), module.moduleId);
      const before = failures.length;
      const suites: (TestModule | TestSuite)[] = [module, ...module.children.allSuites()];
      for (const suite of suites) {
        if (suite.errors().length === 0) continue;
        counts.failed++;
        tell(
          `${file}: around the tests of ${'fullName' in suite ? suite.fullName : 'the file'}`,
          suite.errors(),
        );
      }
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result();
        if (state === 'passed') counts.passed++;
        else if (state === 'failed') counts.failed++;
        else counts.skipped++;
        if (state === 'failed') tell(`${file}: ${test.fullName}`, errors ?? []);
      }
      if (failures.length > before) files.add(file);
      else if (!module.ok()) {
        counts.failed++;
        files.add(file);
        tell(`${file}: did not come to its end`, []);
      }
    }
    for (const error of outside as readonly OutsideError[]) {
      const { VITEST_TEST_PATH: path, VITEST_TEST_NAME: name } = error;
      counts.failed++;
      if (path) files.add(relative(process.cwd(), path));
      tell(
        `outside of all tests${name ? `, while "${name}" ran or after it` : ''}${path ? ` in ${relative(process.cwd(), path)}` : ''}`,
        [error],
      );
    }
    const report = { ...counts, files: [...files], failures };
    writeFileSync(process.env.CI_REPORT as string, JSON.stringify(report));
  }
}
