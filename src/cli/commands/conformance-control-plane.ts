import { resolve } from 'node:path';
import type { KeyOrigins } from '../../conformance/control-plane/given-keys.ts';
import type { KitKeys } from '../../conformance/control-plane/world.ts';
import { type KeyKind, TaskError } from '../../contract/index.ts';
import { keyFromFile } from '../../transports/key-source.ts';
import { openFetch } from '../../wire/open-fetch.ts';
import { proxyFromEnvironment } from '../../wire/proxy.ts';
import { serviceAddress } from '../../wire/service-url.ts';
import { type Call, defineCommand } from '../command.ts';
import { conformanceOptions, conformanceRun } from '../conformance-run.ts';
import { connectionSettings } from '../connect.ts';
import { type FoundKey, findKey, keyCandidates } from '../keys.ts';

const file = (whose: string) =>
  ({ form: 'text', argument: 'file', help: `File that holds ${whose}` }) as const;

export const conformanceControlPlane = defineCommand({
  path: 'conformance control-plane',
  summary: 'Prove that a control plane keeps the contract',
  description:
    'Prove that a control plane keeps the contract: black-box cases for the promises of docs/contract.md, against any address. Safe on a shared system: types, pool and labels of its own, few calls at a time, and what it makes is ended with its case. Needs a task-worker and a task-producer key of one project, from these files, INTERLOCK_WORKER_KEY and INTERLOCK_PRODUCER_KEY, or the profile; with more keys more cases are played. Ends with 20 if a case fails, with 76 where something else answers, which gets no key.',
  options: {
    ...conformanceOptions,
    'worker-key-file': file('the task-worker key'),
    'producer-key-file': file('the task-producer key'),
    'operator-key-file': file('a task-operator key, for retry and resolve'),
    'admin-key-file': file('an admin key, for the cases about keys'),
    'other-worker-key-file': file('a task-worker key of another project'),
    'other-producer-key-file': file('a task-producer key of another project'),
  },
  settings: connectionSettings,
  examples: [
    ['conformance control-plane --url https://tasks.example.com', 'with the keys of the profile'],
    [
      'conformance control-plane --only fencing --junit report.xml',
      'one group, and a report for CI',
    ],
    ['conformance control-plane --list', 'what is checked'],
  ],
  async run(call) {
    const { io, settings } = call;
    const { shown } = serviceAddress(settings.url, settings.insecureHttp);
    // Hundreds of cases, which no other command needs.
    const [{ controlPlaneCases }, { runControlPlaneKit }, looks, { promises }] = await Promise.all([
      import('../../conformance/control-plane/index.ts'),
      import('../../conformance/control-plane/kit.ts'),
      looksAtPeers(),
      import('../../conformance/promises.ts'),
    ]);
    return conformanceRun(call, {
      kit: 'control-plane',
      target: shown,
      cases: controlPlaneCases,
      promise: (number) => promises.get(number)?.text,
      play: async (cases, onVerdict, signal) => {
        const { keys, from } = await kitKeys(call);
        const { clock, random } = io;
        const proxy = proxyFromEnvironment(io.env);
        const open = openFetch({ clock, caFile: settings.caFile, proxy, connections: CONNECTIONS });
        try {
          const peer = { serviceUrl: shown, fetch: open.fetch, clock, signal };
          await meets(peer, keys, from, looks);
          const onLeft = (says: string) => void io.err.line(says);
          return await runControlPlaneKit({ ...peer, keys, cases, random, onVerdict, onLeft });
        } finally {
          await open.close();
        }
      },
    });
  },
});

type KeyCall = Pick<Call, 'io' | 'keyPlaces'> & {
  readonly args: { readonly [K in `${string}-key-file`]?: string | undefined };
};

async function kitKeys({ args, io, keyPlaces }: KeyCall) {
  const from: { -readonly [Whose in keyof KitKeys]?: string } = {};
  const fromFile = async (path: string | undefined) =>
    path === undefined ? undefined : (await keyFromFile(resolve(io.cwd, path))).current();
  const found = (whose: keyof KitKeys, key: FoundKey | undefined) => {
    if (key !== undefined) from[whose] = key.from;
    return key?.source.current();
  };
  const must = async (whose: keyof KitKeys, path: string | undefined, kind: KeyKind) =>
    (await fromFile(path)) ?? (found(whose, await findKey([kind], keyPlaces)) as string);
  const may = async (whose: keyof KitKeys, path: string | undefined, kind: KeyKind) =>
    (await fromFile(path)) ??
    found(
      whose,
      await keyCandidates(keyPlaces)
        .find((candidate) => candidate.kind === kind)
        ?.load(),
    );
  const keys: KitKeys = {
    worker: await must('worker', args['worker-key-file'], 'task-worker'),
    producer: await must('producer', args['producer-key-file'], 'task-producer'),
    operator: await may('operator', args['operator-key-file'], 'task-operator'),
    admin: await may('admin', args['admin-key-file'], 'admin'),
    otherWorker: await fromFile(args['other-worker-key-file']),
    otherProducer: await fromFile(args['other-producer-key-file']),
  };
  return { keys, from };
}

async function looksAtPeers() {
  const [{ NoAnswer }, { strangerAt }, { keyTrouble, keyAdvice }] = await Promise.all([
    import('../../conformance/control-plane/caller.ts'),
    import('../../conformance/control-plane/what-answers.ts'),
    import('../../conformance/control-plane/given-keys.ts'),
  ]);
  return { NoAnswer, strangerAt, keyTrouble, keyAdvice };
}

type Looks = Awaited<ReturnType<typeof looksAtPeers>>;
type Peer = Parameters<Looks['strangerAt']>[0];

/** Before any case: a control plane of this contract answers, and the keys are what they are meant to be. */
async function meets(peer: Peer, keys: KitKeys, from: KeyOrigins, looks: Looks): Promise<void> {
  const { NoAnswer, strangerAt, keyTrouble, keyAdvice } = looks;
  const asked = <T>(answer: Promise<T>) =>
    answer.catch((cause: unknown) => {
      if (peer.signal.aborted) return undefined;
      if (!(cause instanceof NoAnswer)) throw cause;
      throw new TaskError('UNREACHABLE', `No answer from a control plane: ${cause.cause}`, {
        hint: 'Start the control plane, or check --url, network and proxy.',
        cause,
      });
    });
  const stranger = await asked(strangerAt(peer));
  if (stranger !== undefined)
    throw new TaskError('NOT_THE_CONTRACT', stranger, {
      hint: 'Check --url and what stands before it. No key was sent there.',
    });
  const trouble = await asked(keyTrouble(peer, keys, from));
  if (trouble === undefined) return;
  throw new TaskError(trouble.code, trouble.says, {
    hint: keyAdvice(trouble.whose, from[trouble.whose]),
  });
}

/** Cases at the same time play many workers: one that waits must hold up no other. */
const CONNECTIONS = { calls: 100, stream: 100 };
