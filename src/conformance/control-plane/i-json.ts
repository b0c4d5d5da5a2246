import { Broken } from '../case.ts';
import { same } from '../check.ts';
import { listed, refusesAt } from './faults.ts';
import type { ControlPlaneCase } from './index.ts';
import type { ControlPlaneWorld } from './world.ts';

/** Sends a submission whose `input` is this text, as it is. */
async function sending(world: ControlPlaneWorld, input: string) {
  const body = JSON.stringify(world.submission({ input: 'HERE' }));
  return world.submitting({}, { text: body.replace('"HERE"', () => input) });
}

/** Each is refused with the path of the value, and no task is made of it. */
async function refused(world: ControlPlaneWorld, inputs: Readonly<Record<string, string>>) {
  for (const [input, path] of Object.entries(inputs)) refusesAt(await sending(world, input), path);
  same((await listed(world, world.type())).length, 0, 'the number of tasks that were made');
}

/** JSON that not every reader reads the same: refused, never altered. */
export const iJson: readonly ControlPlaneCase[] = [
  {
    name: 'i-json/minus-zero',
    title: 'refuses −0 with its path',
    promises: ['6.2'],
    run: (world) => refused(world, { '{"a":[1,-0]}': 'input.a[1]', '{"b":-0.0}': 'input.b' }),
  },
  {
    name: 'i-json/large-integers',
    title: 'refuses integers beyond 2^53 with their path',
    promises: ['6.2'],
    run: (world) =>
      refused(world, {
        '{"id":9007199254740993}': 'input.id',
        '[[-9223372036854775808]]': 'input[0][0]',
        '{"n":9007199254740993.0}': 'input.n',
      }),
  },
  {
    name: 'i-json/huge-numbers',
    title: 'refuses numbers that no double holds with their path',
    promises: ['6.2'],
    run: (world) => refused(world, { '{"a":1e400}': 'input.a', '[-1e999999]': 'input[0]' }),
  },
  {
    name: 'i-json/duplicate-names',
    title: 'refuses a name that is twice in an object, also in another spelling',
    promises: ['6.2'],
    run: (world) =>
      refused(world, { '{"a":{"b":1,"b":1}}': 'input.a.b', '{"a":1,"\\u0061":2}': 'input.a' }),
  },
  {
    name: 'i-json/lone-surrogates',
    title: 'refuses a lone surrogate with its path',
    promises: ['6.2'],
    run: (world) => refused(world, { '{"a":"\\ud800"}': 'input.a', '["x\\udc00y"]': 'input[0]' }),
  },
  {
    name: 'i-json/in-results',
    title: 'refuses a result that is no I-JSON with its path, and the attempt goes on',
    promises: ['6.2'],
    async run(world) {
      const task = await world.submit();
      const worker = world.worker();
      const attempt = await worker.claimOne(task.type);
      const body = JSON.stringify(worker.reporting(attempt, 'complete', { result: 'HERE' }).body);
      const text = body.replace('"HERE"', '{"id":9007199254740993}');
      const sent = { ...worker.reporting(attempt, 'complete'), body: undefined, text };
      refusesAt(await world.call(sent), 'result.id');
      same((await world.task(task.id)).status, 'running', 'the status of the task');
      (await worker.report(attempt, 'complete', { result: { id: '9007199254740993' } })).is(200);
    },
  },
  {
    name: 'i-json/no-json',
    title: 'refuses a body that is no JSON with 400, and goes on',
    promises: ['6.1', '8.1'],
    async run(world) {
      for (const text of ['{"type":', '{} {}', "{'type':1}", 'NaN', '{"a":01}', '\u0000'])
        (await world.submitting({}, { text })).refuses(400, 'INVALID_REQUEST');
      await world.submit();
    },
  },
  {
    name: 'i-json/no-utf-8',
    title: 'refuses a body that is no UTF-8',
    promises: ['6.1'],
    async run(world) {
      const [before, after] = JSON.stringify(world.submission({ input: 'HERE' })).split('HERE');
      for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82]]) {
        const text = new Uint8Array(
          Buffer.concat([Buffer.from(`${before}`), Buffer.from(bytes), Buffer.from(`${after}`)]),
        );
        (await world.submitting({}, { text })).refuses(400, 'INVALID_REQUEST');
      }
      same((await listed(world, world.type())).length, 0, 'the number of tasks that were made');
    },
  },
  {
    name: 'i-json/deep-nesting',
    title: 'answers a deeply nested body with a refusal or keeps it whole, and goes on',
    promises: ['6.20', '8.1'],
    async run(world) {
      for (const depth of [1_000, 50_000]) {
        const seen = await sending(world, '['.repeat(depth) + ']'.repeat(depth));
        if (seen.status === 413) seen.refuses(413, 'PAYLOAD_TOO_LARGE');
        else if (seen.status === 400) seen.refuses(400, 'INVALID_REQUEST');
        else {
          const { id } = seen.is(201).body();
          const read = (await world.get(`/tasks/${id}`)).is(200);
          if (!read.text.includes('['.repeat(depth)))
            throw new Broken(`An input ${depth} levels deep was taken, and came back otherwise.`);
        }
      }
      await world.submit();
    },
  },
];
