import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Case, Verdict } from '../conformance/case.ts';
import { chosen } from '../conformance/choose.ts';
import { jsonReport } from '../conformance/reports/json.ts';
import { junitReport } from '../conformance/reports/junit.ts';
import { peopleReport, verdictLine } from '../conformance/reports/people.ts';
import type { RunFacts } from '../conformance/reports/summary.ts';
import { unseen, unserved } from '../conformance/unseen.ts';
import { TaskError } from '../contract/index.ts';
import { VERSION } from '../contract/version.ts';
import type { Call } from './command.ts';
import { type ExitName, exitCode } from './exit-codes.ts';

/** What both kits take on the command line. */
export const conformanceOptions = {
  only: {
    form: 'list',
    argument: 'pattern',
    help: 'Cases whose name holds this (fencing), fits it (*/wrong-*), or that check this promise (1.3); may be repeated',
  },
  list: { form: 'switch', help: 'Tell the cases and the promises they check, and play none' },
  junit: { form: 'text', argument: 'file', help: 'Write the report as JUnit XML too' },
} as const;

type ConformanceCall = Pick<Call, 'io' | 'json' | 'style'> & {
  readonly args: {
    readonly only: readonly string[];
    readonly list: boolean;
    readonly junit: string | undefined;
  };
};

export interface Kit<World> {
  readonly kit: RunFacts['kit'];
  /** The peer, for people, without keys. */
  readonly target: string;
  readonly cases: readonly Case<World>[];
  /** Text of a promise by its number. */
  promise(number: string): string | undefined;
  play(
    cases: readonly Case<World>[],
    onVerdict: (verdict: Verdict) => void,
    signal: AbortSignal,
  ): Promise<readonly Verdict[]>;
}

/** Chooses, plays and tells: one line per case as it is over, then the report; JSON alone with `--json`. */
export async function conformanceRun<World>(
  { args, io, json, style }: ConformanceCall,
  kit: Kit<World>,
): Promise<ExitName> {
  const cases = chosen(kit.cases, args.only);
  if (cases.length === 0)
    throw new TaskError('USAGE', args.only.map((pattern) => noCase(pattern, kit)).join(' '), {
      hint: `See their names with interlock conformance ${kit.kit} --list.`,
    });
  if (args.list) {
    await io.out.write(listing(cases, json));
    return 'ok';
  }
  const junit = args.junit === undefined ? undefined : resolve(io.cwd, args.junit);
  // One that cannot be written would be found out at the end of a long run.
  if (junit !== undefined) await keep(junit, '');
  const over = new AbortController();
  // What was made is taken away again, within seconds; whoever asks twice does not want that.
  const stop = () => {
    if (over.signal.aborted) process.exit(exitCode('forced-stop'));
    over.abort();
  };
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  const startedAt = new Date(io.clock.wall()).toISOString();
  const began = io.clock.now();
  try {
    const told = (verdict: Verdict) => {
      if (!json) void io.out.line(verdictLine(verdict, style));
    };
    const verdicts = await kit.play(cases, told, over.signal);
    const facts: RunFacts = {
      kit: kit.kit,
      target: kit.target,
      version: VERSION,
      startedAt,
      ms: Math.round(io.clock.now() - began),
    };
    if (junit !== undefined) await keep(junit, junitReport(facts, verdicts));
    if (over.signal.aborted)
      await io.err.line(
        `The run was stopped: ${verdicts.length} of ${cases.length} cases had begun. It proves nothing.`,
      );
    if (json) await io.out.line(jsonReport(facts, verdicts));
    else
      for (const line of peopleReport(facts, verdicts, kit.promise, style)) await io.out.line(line);
    // A run that was stopped has proved nothing, whatever had passed until then.
    const whole = verdicts.length === cases.length && !over.signal.aborted;
    return whole && verdicts.every(({ outcome }) => outcome !== 'failed') ? 'ok' : 'checks-failed';
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, stop);
  }
}

/** Why nothing is played for this pattern. */
function noCase<World>(pattern: string, { promise }: Kit<World>): string {
  if (!/^\d+\.\d+$/.test(pattern)) return `No case fits --only ${pattern}.`;
  const { why } = unseen[pattern] ?? {};
  if (why !== undefined) return `No case checks ${pattern} from outside: ${why}.`;
  if (promise(pattern) === undefined) return `The contract has no promise ${pattern}.`;
  if (unserved.includes(pattern))
    return `No case checks ${pattern}: this version does not serve it.`;
  return `No case of this kit checks ${pattern}: it is a promise of the other side.`;
}

function listing(cases: readonly Case<never>[], json: boolean): string {
  const rows = cases.map(({ name, title, promises, needs = [] }) => ({
    name,
    title,
    promises,
    needs,
  }));
  if (json) return `${JSON.stringify({ cases: rows }, null, 2)}\n`;
  return rows.map((row) => `${row.name}  ${row.title}  [${row.promises.join(', ')}]\n`).join('');
}

async function keep(file: string, text: string): Promise<void> {
  await writeFile(file, text).catch((cause: unknown) => {
    throw new TaskError(
      'FILE_NOT_WRITTEN',
      `The report ${file} cannot be written: ${(cause as Error).message}.`,
      {
        hint: 'Name another file with --junit.',
        cause,
      },
    );
  });
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
