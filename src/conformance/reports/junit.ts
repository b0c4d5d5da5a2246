import type { Verdict } from '../case.ts';
import { count, type RunFacts } from './summary.ts';

/** The run as JUnit XML, one suite per group of cases: what CI systems read. */
export function junitReport(facts: RunFacts, verdicts: readonly Verdict[]): string {
  const groups = Map.groupBy(verdicts, ({ name }) => name.split('/')[0] ?? name);
  const suites = [...groups].map(([group, members]) =>
    [
      `  <testsuite name="${xml(`${facts.kit}/${group}`)}" ${counts(members)} time="${seconds(sum(members))}" timestamp="${xml(facts.startedAt)}">`,
      ...members.map((verdict) => testCase(facts, group, verdict)),
      '  </testsuite>',
    ].join('\n'),
  );
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${xml(`interlock conformance ${facts.kit}: ${facts.target}`)}" ${counts(verdicts)} time="${seconds(facts.ms)}">`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n');
}

function testCase(facts: RunFacts, group: string, verdict: Verdict): string {
  const { name, title, outcome, says = '', evidence = [], promises } = verdict;
  const open = `    <testcase classname="${xml(`${facts.kit}.${group}`)}" name="${xml(`${name} ${title}`)}" time="${seconds(verdict.ms)}"`;
  if (outcome === 'passed') return `${open}/>`;
  if (outcome !== 'failed') return `${open}><skipped message="${xml(says)}"/></testcase>`;
  const text = [`promises ${promises.join(', ')}`, says, '', ...evidence].join('\n');
  return `${open}><failure message="${xml(says)}">${xml(text)}</failure></testcase>`;
}

function counts(verdicts: readonly Verdict[]): string {
  return `tests="${verdicts.length}" failures="${count(verdicts, 'failed')}" errors="0" skipped="${count(verdicts, 'skipped') + count(verdicts, 'stopped')}"`;
}

function sum(verdicts: readonly Verdict[]): number {
  return verdicts.reduce((total, { ms }) => total + ms, 0);
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3);
}

/** XML 1.0 has no way to write most control characters at all. */
function xml(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
