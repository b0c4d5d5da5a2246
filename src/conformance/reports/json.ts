import type { Verdict } from '../case.ts';
import { count, type RunFacts } from './summary.ts';

/** The run as one JSON value: `{kit, target, version, startedAt, ms, passed, failed, skipped, stopped, cases: [Verdict]}`. */
export function jsonReport(facts: RunFacts, verdicts: readonly Verdict[]): string {
  return JSON.stringify(
    {
      ...facts,
      passed: count(verdicts, 'passed'),
      failed: count(verdicts, 'failed'),
      skipped: count(verdicts, 'skipped'),
      stopped: count(verdicts, 'stopped'),
      cases: verdicts,
    },
    null,
    2,
  );
}
