import { TaskError } from '../../contract/index.ts';
import { defineCommand } from '../command.ts';
import { conformanceOptions, conformanceRun } from '../conformance-run.ts';
import { parseDuration } from '../duration.ts';
import { usageError } from '../usage.ts';

const PATH = 'conformance worker';

export const conformanceWorker = defineCommand({
  path: PATH,
  summary: 'Prove that a worker, in any language, keeps the contract',
  description:
    'Prove that a worker keeps the contract: a control plane that plays every trick, on this machine, and a worker that is started for each case, killed, stopped and started again. It is judged by what it sends and by what its handlers leave. It gets its address, its key and its folders through the environment and must offer a few handlers: --manifest tells both. Ends with 20 if a case fails.',
  options: {
    ...conformanceOptions,
    manifest: {
      form: 'switch',
      help: 'Tell the environment and the handlers that a worker must offer, as JSON, and play none',
    },
    keep: { form: 'switch', help: 'Leave the folders of the cases, and tell where they are' },
    patience: {
      form: 'text',
      argument: 'duration',
      help: 'How long a worker may take for what it has to do, its backoff included [30s]',
    },
    jobs: { form: 'text', argument: 'count', help: 'Cases at the same time [10]' },
  },
  rest: { name: 'command', help: 'The command line that starts the worker' },
  examples: [
    ['conformance worker -- python3 worker.py', 'all cases'],
    [
      'conformance worker --only spool --junit report.xml -- interlock-worker --handlers samples/conformance-handlers',
      'one group, and a report for CI',
    ],
    ['conformance worker --list', 'what is checked'],
  ],
  async run(call) {
    const { args, rest, io } = call;
    if (args.manifest) {
      const { environment, handlerName, manifest } = await import(
        '../../conformance/worker/manifest.ts'
      );
      const handlers = manifest.map((one) => ({ name: handlerName(one), ...one }));
      const told = { environment: Object.fromEntries(environment), handlers };
      await io.out.write(`${JSON.stringify(told, null, 2)}\n`);
      return 'ok';
    }
    if (rest.length === 0 && !args.list)
      throw usageError(
        'conformance worker needs the command that starts a worker, after --.',
        PATH,
      );
    if (process.platform === 'win32' && !args.list)
      throw new TaskError('USAGE', 'The kit for workers needs the signals of Unix.', {
        hint: 'Run it on Linux or macOS, for instance in a container.',
      });
    // Late, so that no other command loads them.
    const [{ promises }, { workerCases }, { runWorkerKit }] = await Promise.all([
      import('../../conformance/promises.ts'),
      import('../../conformance/worker/index.ts'),
      import('../../conformance/worker/kit.ts'),
    ]);
    return conformanceRun(call, {
      kit: 'worker',
      target: rest.join(' '),
      cases: workerCases,
      promise: (number) => promises.get(number)?.text,
      play: (chosen, onVerdict, signal) =>
        runWorkerKit({
          command: rest,
          cases: workerCases.filter((one) => chosen.includes(one)),
          env: io.env,
          cwd: io.cwd,
          concurrency: jobs(args.jobs),
          keep: args.keep,
          patienceMs: patience(args.patience),
          clock: io.clock,
          random: io.random,
          signal,
          onVerdict,
        }),
    });
  },
});

function patience(text = '30s'): number {
  const ms = parseDuration(text);
  if (ms) return ms;
  throw usageError(`--patience must be a duration such as 30s, not "${text}".`, PATH);
}

function jobs(text = '10'): number {
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  throw usageError(`--jobs must be a whole number from 1 to 99, not "${text}".`, PATH);
}
