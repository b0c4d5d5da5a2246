import { CONTRACT_HEADER, CONTRACT_VERSION } from '../../contract/limits.ts';
import { expect, same, shown } from '../check.ts';
import type { Seen } from './caller.ts';
import { isInstant, limitsOf, listed } from './faults.ts';
import type { ControlPlaneCase } from './index.ts';
import { given } from './steps.ts';

const spoken = ({ what, headers, status }: Seen) =>
  same(
    headers.get(CONTRACT_HEADER),
    String(CONTRACT_VERSION),
    `${CONTRACT_HEADER} of the answer ${status} to ${what}`,
  );

/** A call that every control plane has, as the document may write it: the names of parameters are its own. */
const CALLS: readonly (readonly [string, string])[] = [
  ['post', '/tasks'],
  ['post', '/tasks/batch'],
  ['get', '/tasks'],
  ['get', '/tasks/{}'],
  ['get', '/tasks/{}/events'],
  ['post', '/tasks/{}/cancel'],
  ['put', '/workers/{}'],
  ['post', '/claims'],
  ['post', '/attempts/batch'],
];

/** What anybody may ask, and how both sides agree on a version. */
export const service: readonly ControlPlaneCase[] = [
  {
    name: 'service/discovery',
    title: 'tells its versions, limits and features to anybody, without a key',
    promises: ['6.5', '7.3', '6.1'],
    async run(world) {
      const seen = (await world.call({ method: 'GET', path: '/' })).is(200);
      const { contracts, serverTime, features } = seen.body();
      expect(
        Array.isArray(contracts) && contracts.includes(CONTRACT_VERSION),
        `contracts is ${shown(contracts)}; expected is a list that holds ${CONTRACT_VERSION}.`,
      );
      expect(isInstant(serverTime), `serverTime is ${shown(serverTime)}; expected is an instant.`);
      expect(
        Array.isArray(features) && features.every((name) => typeof name === 'string'),
        `features is ${shown(features)}; expected is a list of names.`,
      );
      const limits = await limitsOf(world);
      const {
        inlineBytes,
        batch,
        claimMax = 1,
        batchBytes,
        checkpointBytes,
        logLineBytes,
      } = limits;
      for (const [name, value] of Object.entries({
        inlineBytes,
        batch,
        claimMax,
        batchBytes,
        checkpointBytes,
        logLineBytes,
      }))
        expect(
          Number.isInteger(value) && value > 0,
          `limits.${name} is ${shown(value)}; expected is a positive integer.`,
        );
      const { min, default: usual, max } = limits.leaseMs;
      expect(
        0 < min && min <= usual && usual <= max,
        `limits.leaseMs is ${shown(limits.leaseMs)}; expected is min ≤ default ≤ max.`,
      );
    },
  },
  {
    name: 'service/version-in-answers',
    title: 'says which version of the contract it speaks in answers and refusals',
    promises: ['7.1'],
    async run(world) {
      spoken(await world.call({ method: 'GET', path: '/' }));
      spoken((await world.submitting()).is(201));
      spoken((await world.submitting({ type: 'no type' })).is(400));
      spoken((await world.get(`/tasks/${world.id('tsk')}`)).is(404));
      spoken((await world.call({ method: 'GET', path: '/tasks' })).is(401));
    },
  },
  {
    name: 'service/no-version',
    title: 'takes a request without a version as version 1',
    promises: ['7.1'],
    async run(world) {
      const headers = { [CONTRACT_HEADER]: '' };
      (await world.submitting({}, { headers })).is(201);
      (await world.call({ method: 'GET', path: '/', headers })).is(200);
    },
  },
  {
    name: 'service/other-version',
    title: 'refuses another version with 426 and the versions it speaks, and does nothing',
    promises: ['7.2'],
    async run(world) {
      const headers = { [CONTRACT_HEADER]: '999999' };
      const sent = [
        await world.submitting({}, { headers }),
        await world.call({ method: 'GET', path: '/doctor', key: world.keys.producer, headers }),
      ];
      for (const seen of sent) {
        const { supported } = seen.refuses(426, 'CONTRACT_UNSUPPORTED').body();
        expect(
          Array.isArray(supported) && supported.includes(CONTRACT_VERSION),
          `supported is ${shown(supported)}; expected is a list that holds ${CONTRACT_VERSION}.`,
        );
      }
      same((await listed(world, world.type())).length, 0, 'the number of tasks that were made');
    },
  },
  {
    name: 'service/openapi',
    title: 'describes its calls in an OpenAPI 3.1 document, without a key',
    promises: ['6.6'],
    async run(world) {
      const seen = (await world.call({ method: 'GET', path: '/openapi.json' })).is(200);
      const { openapi, paths = {} } = seen.body<{
        openapi?: unknown;
        paths?: Record<string, Record<string, unknown>>;
      }>();
      expect(/^3\.1\b/.test(String(openapi)), `openapi is ${shown(openapi)}; expected is 3.1.`);
      const told = Object.entries(paths).flatMap(([path, calls]) =>
        Object.keys(calls).map((method) => `${method} ${path.replace(/\{[^}]*\}/g, '{}')}`),
      );
      for (const [method, path] of CALLS)
        expect(
          told.some((one) => one.startsWith(`${method} `) && one.endsWith(path)),
          `The document has no ${method.toUpperCase()} ${path}.`,
        );
    },
  },
  {
    name: 'service/slash-at-end',
    title: 'answers at its base address with and without a slash at the end',
    promises: ['6.7'],
    async run(world) {
      for (const path of ['', '/']) {
        const seen = (await world.call({ method: 'GET', path })).is(200);
        expect(
          Array.isArray(seen.body().contracts),
          `The answer at the base address${path ? ' with' : ' without'} a slash is not that of discovery.`,
        );
      }
    },
  },
  {
    name: 'service/unserved-call',
    title: 'refuses a call that it does not have with 404 or 405',
    promises: ['7.9', '8.1'],
    async run(world) {
      const path = '/conformance/no-such-call';
      for (const seen of [await world.get(path), await world.post(path, {})]) {
        seen.is(404, 405);
        seen.refuses(seen.status, seen.status === 404 ? 'NOT_FOUND' : 'UNSUPPORTED_OPERATION');
      }
    },
  },
  {
    name: 'service/unserved-op',
    title: 'refuses a report that it does not have as an unsupported operation',
    promises: ['7.9'],
    async run(world) {
      const { worker, attempt, task } = await given(world);
      (await worker.report(attempt, 'applaud')).refuses(400, 'UNSUPPORTED_OPERATION');
      const seen = (await worker.batch([worker.item(attempt, 'applaud')])).is(200);
      const { results } = seen.body<{ results: { status: number; body: { code?: string } }[] }>();
      same(results[0]?.status, 400, 'the status of the item');
      same(results[0]?.body.code, 'UNSUPPORTED_OPERATION', 'the code of the item');
      same((await world.task(task.id)).status, 'running', 'the status of the task');
    },
  },
];
