import { expect, same, shown } from '../check.ts';
import type { Seen, Sent } from './caller.ts';
import { issuesOf, limitsOf, refusesAt } from './faults.ts';
import type { ControlPlaneCase } from './index.ts';
import { given } from './steps.ts';
import type { ControlPlaneWorld } from './world.ts';

/** One refusal of each kind that anybody can cause. */
async function refusals(world: ControlPlaneWorld): Promise<readonly (readonly [Seen, string])[]> {
  const { producer, worker } = world.keys;
  const { inlineBytes } = await limitsOf(world);
  const cancelled = await world.submit();
  const cancel = `/tasks/${cancelled.id}/cancel`;
  (await world.post(cancel, {})).is(200);
  const post = { method: 'POST', path: '/tasks', key: producer } as const;
  return [
    [await world.submitting({ type: 'no type' }), 'INVALID_REQUEST'],
    [await world.call({ method: 'GET', path: '/tasks' }), 'UNAUTHENTICATED'],
    [await world.get('/tasks', worker), 'SCOPE_DENIED'],
    [await world.get(`/tasks/${world.id('tsk')}`), 'NOT_FOUND'],
    [await world.post(cancel, {}), 'TASK_TERMINAL'],
    [await world.submitting({ input: 'x'.repeat(inlineBytes) }), 'PAYLOAD_TOO_LARGE'],
    [
      await world.call({ ...post, text: 'x', headers: { 'content-type': 'text/plain' } }),
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    [
      await world.call({ ...post, body: {}, headers: { 'interlock-contract': '999999' } }),
      'CONTRACT_UNSUPPORTED',
    ],
  ];
}

const STATUS: Readonly<Record<string, number>> = {
  INVALID_REQUEST: 400,
  UNAUTHENTICATED: 401,
  SCOPE_DENIED: 403,
  NOT_FOUND: 404,
  TASK_TERMINAL: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  CONTRACT_UNSUPPORTED: 426,
};

/** A stack of any of the usual languages. */
const STACK =
  /\bat [\w.<>$ ]+\(?[\w/\\.:-]+:\d+:\d+\)?|Traceback \(most recent call last\)|\.(?:go|rs|py|java|rb):\d+|goroutine \d+/;

/** How refusals look. */
export const errors: readonly ControlPlaneCase[] = [
  {
    name: 'errors/shape',
    title: 'answers each refusal in the problem shape, with the status of its code',
    promises: ['8.1'],
    async run(world) {
      for (const [seen, code] of await refusals(world)) {
        const problem = seen.refuses(STATUS[code] ?? 0, code).body();
        same(problem.status, seen.status, `status in the refusal of ${seen.what}`);
        for (const name of ['type', 'title', 'detail', 'requestId'])
          expect(
            typeof problem[name] === 'string' && problem[name] !== '',
            `${name} in the refusal of ${seen.what} is ${shown(problem[name])}; expected is a text.`,
          );
      }
    },
  },
  {
    name: 'errors/request-ids',
    title: 'gives each refusal a requestId of its own',
    promises: ['8.1'],
    async run(world) {
      const seen = (await refusals(world)).map(([{ json }]) => json?.requestId);
      same(new Set(seen).size, seen.length, `the number of different ids in ${shown(seen)}`);
    },
  },
  {
    name: 'errors/catalogue',
    title: 'points type to a page that can be read',
    promises: ['8.2'],
    async run(world) {
      const seen = await world.get(`/tasks/${world.id('tsk')}`);
      const { type } = seen.refuses(404, 'NOT_FOUND').body();
      const service = `${world.serviceUrl}/`;
      const there = URL.canParse(String(type), service)
        ? new URL(String(type), service)
        : undefined;
      expect(
        there !== undefined && /^https?:$/.test(there.protocol),
        `type is ${shown(type)}, which is no address of a page.`,
      );
      // A page that stands elsewhere is somebody else's server.
      if (!there.href.startsWith(service)) return;
      const path = `/${there.href.slice(service.length)}`.replace(/#.*/, '');
      const page = await world.call({ method: 'GET', path, below: 'service' });
      expect(page.is(200).text.includes('NOT_FOUND'), `The page ${path} does not tell NOT_FOUND.`);
    },
  },
  {
    name: 'errors/not-found',
    title: 'names in a 404 what was not found and the project of the key',
    promises: ['8.4'],
    async run(world) {
      const { project } = (await world.get('/doctor')).is(200).body();
      const { worker, attempt } = await given(world);
      const nowhere = { ...attempt, attemptId: world.id('att') };
      for (const [kind, seen] of [
        ['task', await world.get(`/tasks/${world.id('tsk')}`)],
        ['task', await world.get(`/tasks/${world.id('tsk')}/events`)],
        ['worker', await world.get(`/workers/${world.fresh('nobody')}`)],
        ['attempt', await worker.report(nowhere, 'renew')],
      ] as const) {
        const problem = seen.refuses(404, 'NOT_FOUND').body();
        same([problem.kind, problem.project], [kind, project], `kind and project of ${seen.what}`);
      }
    },
  },
  {
    name: 'errors/paths',
    title: 'tells faults deep in a request with their paths',
    promises: ['8.3'],
    async run(world) {
      const wrong = { policy: { backoff: { factor: 'two', jitter: 7 } }, labels: { 'a b': 5 } };
      const seen = await world.submitting(wrong);
      refusesAt(seen, 'policy.backoff.factor', 'policy.backoff.jitter', 'labels.a b');
      for (const { message } of issuesOf(seen)) expect(message !== '', 'An issue says nothing.');
      const claim = await world.worker().claim([], {
        more: { want: [{ type: world.type(), schemaVersion: 1, slots: 'many' }] },
      });
      refusesAt(claim, 'want[0].slots');
    },
  },
  {
    name: 'errors/no-secrets',
    title: 'shows no key, token or stack in a refusal',
    promises: ['9.22'],
    async run(world) {
      const unknown = `il_${world.id('x').slice(2)}`;
      const { worker, attempt } = await given(world);
      const { leaseToken } = attempt;
      const get = (key: string): Sent => ({ method: 'GET', path: '/tasks', key });
      const secrets = [unknown, leaseToken, ...Object.values(world.keys)];
      for (const seen of [
        await world.call(get(unknown)),
        await world.call(get(world.keys.worker)),
        await worker.report(attempt, 'complete', { result: 1, fence: attempt.fence + 1 }),
        await worker.report(attempt, 'complete', { result: 1, taskId: 7 }),
        await world.submitting({}, { text: '{"a":\u0000' }),
        await world.get(`/tasks/${'x'.repeat(2_000)}`),
        await world.get('/tasks/%00%ff'),
        await world.get('/tasks?limit=NaN&cursor=%F0%9F'),
      ]) {
        if (seen.status < 400) continue;
        expect(seen.status < 500, `${seen.what.slice(0, 100)} was answered ${seen.status}.`);
        for (const secret of secrets)
          expect(
            secret === undefined || !seen.text.includes(secret),
            `The refusal of ${seen.what} shows a key or a token.`,
          );
        expect(!STACK.test(seen.text), `The refusal of ${seen.what} shows a stack: ${seen.text}`);
      }
    },
  },
  {
    name: 'errors/media-type',
    title: 'answers a body that is not sent as JSON, or compressed, with 415',
    promises: ['8.7'],
    async run(world) {
      const text = JSON.stringify(world.submission());
      const others: readonly Record<string, string>[] = [
        { 'content-type': 'text/plain' },
        { 'content-type': 'application/x-www-form-urlencoded' },
        { 'content-encoding': 'gzip' },
        { 'content-encoding': 'br' },
      ];
      for (const headers of others)
        (await world.submitting({}, { text, headers })).refuses(415, 'UNSUPPORTED_MEDIA_TYPE');
      const headers = { 'content-type': 'Application/JSON; charset=utf-8' };
      (await world.submitting({}, { text, headers })).is(201);
    },
  },
  {
    name: 'errors/method',
    title: 'answers another method of a call with 405 and the methods it has',
    promises: ['8.8'],
    async run(world) {
      for (const [method, path, allowed] of [
        ['DELETE', '/tasks', ['GET', 'POST']],
        ['PUT', `/tasks/${world.id('tsk')}`, ['GET']],
        ['GET', '/claims', ['POST']],
        ['POST', `/workers/${world.fresh('nobody')}`, ['GET', 'PUT']],
      ] as const) {
        const key = path === '/claims' ? world.keys.worker : world.keys.producer;
        const seen = await world.call({ method, path, key });
        seen.refuses(405, 'UNSUPPORTED_OPERATION');
        const allow = (seen.headers.get('allow') ?? '').split(/\s*,\s*/);
        for (const one of allowed)
          expect(allow.includes(one), `Allow of ${seen.what} is ${shown(allow)} without ${one}.`);
      }
    },
  },
];
