import type { Verdict } from '../case.ts';
import { count, type RunFacts } from './summary.ts';

/** How words are marked on a terminal; plain where there is none. */
export interface Marks {
  good(text: string): string;
  bad(text: string): string;
  faint(text: string): string;
}

/** One line as soon as a case is over. */
export function verdictLine({ name, title, outcome, ms, says }: Verdict, marks: Marks): string {
  const time = marks.faint(ms >= 100 ? ` ${(ms / 1_000).toFixed(1)} s` : '');
  if (outcome === 'passed') return `${marks.good('✓')} ${name}  ${title}${time}`;
  if (outcome === 'skipped') return `${marks.faint(`- ${name}  ${title}: skipped, ${says}`)}`;
  if (outcome === 'stopped') return marks.faint(`- ${name}  ${title}: not judged, ${says}`);
  return `${marks.bad('✗')} ${name}  ${title}${time}`;
}

/**
 * What a person reads at the end: each failed case with the promise that it broke and what was seen, then the counts.
 * @param promise the text of a promise by its number.
 */
export function peopleReport(
  facts: RunFacts,
  verdicts: readonly Verdict[],
  promise: (number: string) => string | undefined,
  marks: Marks,
): string[] {
  const failed = verdicts.filter(({ outcome }) => outcome === 'failed');
  const lines = failed.flatMap((verdict) => [
    '',
    `${marks.bad('✗')} ${verdict.name}  ${verdict.title}`,
    ...verdict.promises.map((number) => `  promise ${number}  ${promise(number) ?? ''}`.trimEnd()),
    ...indent(verdict.says ?? '', '  '),
    ...(verdict.evidence ?? []).flatMap((line) => indent(line, '    ')).map(marks.faint),
  ]);
  const skipped = count(verdicts, 'skipped');
  const stopped = count(verdicts, 'stopped');
  const passed = count(verdicts, 'passed');
  const counts = [
    `${passed} passed`,
    `${failed.length} failed`,
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(stopped > 0 ? [`${stopped} stopped`] : []),
  ].join(', ');
  return [
    ...lines,
    '',
    `${facts.kit} ${facts.target}: ${failed.length > 0 ? marks.bad(counts) : marks.good(counts)} in ${(facts.ms / 1_000).toFixed(1)} s`,
  ];
}

function indent(text: string, by: string): string[] {
  return text.split('\n').map((line) => by + line);
}
