import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { limits } from '../../src/contract/index.ts';
import { type Plane, startPlane } from './plane.ts';
import { interlock } from './run.ts';
import { temporaryFolder } from './world.ts';

/** What a person may do wrong: command, exit code, words. Nothing of it makes a task. */
interface Row {
  readonly what: string;
  readonly argv: readonly string[];
  readonly input?: string;
  readonly env?: (plane: Plane) => Record<string, string>;
  readonly exit: number;
  readonly says: RegExp;
}

const producer = (plane: Plane) => plane.env('task-producer');
const hello = (input: string) => ['tasks', 'submit', 'demo/hello', '--input', input];

const table: readonly Row[] = [
  {
    what: 'a type that is none',
    argv: ['tasks', 'submit', 'demo//hello'],
    exit: 64,
    says: /"demo\/\/hello" is no type of tasks: it must be segments of letters/,
  },
  {
    what: 'a type in another alphabet, with a version',
    argv: ['tasks', 'submit', 'café@1'],
    exit: 64,
    says: /"café" is no type of tasks/,
  },
  {
    what: 'a version in the type that is none',
    argv: ['tasks', 'submit', 'order/price@x', '--input', '{}'],
    exit: 64,
    says: /"order\/price@x": its version "x" is no whole number from 1[\s\S]+order\/price@1/,
  },
  {
    what: 'what is no instant, by its flag',
    argv: [...hello('{}'), '--not-before', 'tomorrow', '--idempotency-key', ''],
    env: producer,
    exit: 65,
    says: /--idempotency-key must have at least 1 character; --not-before must be/,
  },
  {
    what: 'type@1 and another version',
    argv: ['tasks', 'submit', 'demo/hello@1', '--schema-version', '2'],
    exit: 64,
    says: /demo\/hello@1 and --schema-version 2 name two versions/,
  },
  {
    what: 'a version that is none',
    argv: ['tasks', 'submit', 'demo/hello', '--schema-version', 'latest'],
    exit: 64,
    says: /--schema-version "latest" must be a whole number from 1/,
  },
  {
    what: 'JSON that breaks off',
    argv: hello('{"name":'),
    exit: 65,
    says: /--input: the text is not valid JSON: .+ \(line 1, column 9\)[\s\S]+single quotes/,
  },
  {
    what: 'an integer that a double cannot hold',
    argv: hello('{"items":[{"id":9007199254740993}]}'),
    exit: 65,
    says: /--input: items\[0\]\.id is 9007199254740993, an integer beyond 2\^53/,
  },
  { what: 'a number that none holds', argv: hello('[1e400]'), exit: 65, says: /\[0\] is 1e400/ },
  { what: '-0', argv: hello('{"a":-0}'), exit: 65, says: /--input: a is -0/ },
  {
    what: 'a name that is there twice',
    argv: hello('{"a":1,"a":2}'),
    exit: 65,
    says: /--input: a is there twice/,
  },
  {
    what: 'half a character',
    argv: hello('{"a":"\\ud800"}'),
    exit: 65,
    says: /--input: a holds a lone surrogate/,
  },
  {
    what: 'input in another encoding',
    argv: hello('@latin1.json'),
    exit: 65,
    says: /latin1\.json is no UTF-8 text/,
  },
  {
    what: 'a file that is not there',
    argv: hello('@nowhere.json'),
    exit: 66,
    says: /nowhere\.json cannot be read \(ENOENT\)/,
  },
  {
    what: 'a body over the cap, from stdin',
    argv: hello('-'),
    input: JSON.stringify('x'.repeat(limits.inlineBytes)),
    exit: 65,
    says: /262144[\s\S]+code {3}PAYLOAD_TOO_LARGE/,
  },
  {
    what: 'a policy with an unknown field',
    argv: ['tasks', 'submit', 'demo/hello', '--policy', 'maxAttemps=3'],
    exit: 65,
    says: /policy has no field "maxAttemps" \(is maxAttempts meant\?\)/,
  },
  {
    what: 'a policy beyond its bounds',
    argv: ['tasks', 'submit', 'demo/hello', '--policy', 'maxAttempts=0'],
    exit: 65,
    says: /policy\.maxAttempts must be at least 1/,
  },
  {
    what: 'a priority beyond its bounds',
    argv: ['tasks', 'submit', 'demo/hello', '--priority', '1000'],
    exit: 64,
    says: /from -100 to 100[\s\S]+tasks submit --help/,
  },
  {
    what: 'a result that is no JSON',
    argv: ['tasks', 'resolve', 'tsk_1', '--as', 'succeeded', '--reason', 'x', '--result', '{bad'],
    exit: 65,
    says: /single quotes: --result/,
  },
  {
    what: 'an address that is none, without a key',
    argv: ['tasks', 'list', '--url', 'foo'],
    env: () => ({}),
    exit: 64,
    says: /INVALID_ADDRESS/,
  },
  {
    what: 'a key that looks like none',
    argv: ['tasks', 'list'],
    env: (plane) => ({ INTERLOCK_URL: plane.url, INTERLOCK_PRODUCER_KEY: 'foo' }),
    exit: 77,
    says: /INTERLOCK_PRODUCER_KEY is no key: it does not begin with "il_"/,
  },
  {
    what: 'a key of the other kind',
    argv: ['tasks', 'list'],
    env: (plane) => ({
      INTERLOCK_URL: plane.url,
      INTERLOCK_PRODUCER_KEY: plane.key('task-worker'),
    }),
    exit: 77,
    says: /needs a key of kind task-producer.+ It came from INTERLOCK_PRODUCER_KEY\.[\s\S]+SCOPE_DENIED/,
  },
  {
    what: 'a key without authority over tasks',
    argv: ['tasks', 'list'],
    env: (plane) => ({ INTERLOCK_URL: plane.url, INTERLOCK_PRODUCER_KEY: plane.key('sdk') }),
    exit: 77,
    says: /It came from INTERLOCK_PRODUCER_KEY\.[\s\S]+SCOPE_DENIED/,
  },
  {
    what: 'a key that nobody made',
    argv: ['tasks', 'list'],
    env: (plane) => ({ INTERLOCK_URL: plane.url, INTERLOCK_PRODUCER_KEY: 'il_nobodymadethis' }),
    exit: 77,
    says: /It came from INTERLOCK_PRODUCER_KEY\.[\s\S]+UNAUTHENTICATED/,
  },
  {
    what: 'no key at all',
    argv: ['tasks', 'list'],
    env: (plane) => ({ INTERLOCK_URL: plane.url }),
    exit: 77,
    says: /INTERLOCK_PRODUCER_KEY, INTERLOCK_OPERATOR_KEY and INTERLOCK_ADMIN_KEY are not set, no \.interlock\/profile\.json was found/,
  },
  {
    what: 'a producer key for what an operator does',
    argv: ['tasks', 'retry', 'tsk_1', '--reason', 'x'],
    exit: 77,
    says: /There is no task-operator or admin key/,
  },
  {
    what: 'http beyond this machine',
    argv: ['tasks', 'list', '--url', 'http://tasks.example.com'],
    exit: 64,
    says: /plain http beyond this machine[\s\S]+--insecure-http/,
  },
  {
    what: 'an address that is none',
    argv: ['tasks', 'list', '--url', 'tasks.example.com'],
    exit: 64,
    says: /The address of the control plane/,
  },
  {
    what: 'a task that is not there',
    argv: ['tasks', 'show', 'tsk_nowhere'],
    exit: 66,
    says: /no task tsk_nowhere in project default/,
  },
  {
    what: 'a config file that is not there',
    argv: ['tasks', 'list', '--config', 'nowhere.json'],
    exit: 78,
    says: /The config file .+nowhere\.json does not exist/,
  },
  {
    what: 'a CA file that is not there',
    argv: ['tasks', 'list', '--ca-file', 'nowhere.pem'],
    exit: 74,
    says: /nowhere\.pem cannot be read \(ENOENT\)/,
  },
];

describe('bad input', () => {
  it.each(table)('$what ends with $exit and says so', async ({ argv, input, env, exit, says }) => {
    const plane = await startPlane();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'latin1.json'), Buffer.from('{"name":"caf\xe9"}', 'latin1'));
    const given = (env ?? producer)(plane);
    const ran = await interlock(argv, { cwd, env: given, ...(input !== undefined && { input }) });
    expect(ran.err).toMatch(says);
    expect(ran).toMatchObject({ code: exit, out: '' });
    expect(ran.err).toMatch(/^next {3}/m);
    for (const key of Object.values(given).filter((value) => value.startsWith('il_')))
      expect(ran.err).not.toContain(key);
    // The same as one JSON object.
    const json = await interlock([...argv, '--json'], {
      cwd,
      env: given,
      ...(input !== undefined && { input }),
    });
    expect(JSON.parse(json.err)).toMatchObject({ error: { exitCode: exit } });
    const tasks = await interlock(['tasks', 'list', '--json'], { env: producer(plane) });
    expect(JSON.parse(tasks.out)).toEqual({ tasks: [] });
  });

  it('takes a type that nobody serves, and says what it waits for', async () => {
    const plane = await startPlane();
    const env = producer(plane);
    for (const [argv, key] of [
      [['nobody/serves'], 'nobody/serves@1'],
      [['demo/hello@7'], 'demo/hello@7'],
      [['demo/hello', '--schema-version', '7'], 'demo/hello@7'],
    ] as const) {
      const ran = await interlock(['tasks', 'submit', ...argv], { env });
      expect(ran).toMatchObject({ code: 0 });
      expect(ran.out).toContain(`${key} is queued: no worker for ${key} in pool default`);
    }
  });

  it('tells an idempotency key that was used for another request, and takes the same one again', async () => {
    const plane = await startPlane();
    const env = producer(plane);
    const submit = (name: string) =>
      interlock([...hello(JSON.stringify({ name })), '--idempotency-key', 'k'], { env });
    const [first, again, other] = [await submit('Ada'), await submit('Ada'), await submit('Bo')];
    expect(first.code).toBe(0);
    expect(again.out).toContain('submitted before');
    expect(again.out.split(' ')[0]).toBe(first.out.split(' ')[0]);
    expect(other).toMatchObject({ code: 79, out: '' });
  });

  it('F47 hands input over unaltered: from the flag, a file and stdin', async () => {
    const plane = await startPlane();
    const env = producer(plane);
    const cwd = temporaryFolder();
    const text =
      '{"price":1.10,"big":"9007199254740993","safe":9007199254740991,"text":"\\u0000é"}';
    writeFileSync(join(cwd, 'input.json'), `\uFEFF${text}`);
    for (const [given, input] of [
      [text, ''],
      ['@input.json', ''],
      ['-', text],
    ] as const) {
      const made = await interlock([...hello(given), '--json'], { env, cwd, input });
      const { id } = JSON.parse(made.out);
      const shown = await interlock(['tasks', 'show', id, '--json'], { env });
      expect(JSON.parse(shown.out).input).toEqual(JSON.parse(text));
    }
  });
});

it('reads a config file only where it is named', async () => {
  const plane = await startPlane();
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'interlock.json'), JSON.stringify({ url: 'http://127.0.0.1:9' }));
  const env = producer(plane);
  expect((await interlock(['tasks', 'list'], { cwd, env })).code).toBe(0);
  const { INTERLOCK_URL: _, ...without } = env;
  const named = ['tasks', 'list', '--config', 'interlock.json'];
  expect((await interlock(named, { cwd, env: without })).err).toContain('127.0.0.1:9');
});

describe('what answers instead of a control plane', () => {
  it('with a path too much is told so, and as no address of a control plane', async () => {
    const plane = await startPlane();
    const env = { ...producer(plane), INTERLOCK_URL: `${plane.url}/foo` };
    const list = await interlock(['tasks', 'list'], { env });
    expect(list).toMatchObject({ code: 76, out: '' });
    expect(list.err).toContain('is "/foo" in the address too much?');
    expect(list.err).toContain(`Give the address without it: ${plane.url}.`);
    expect(list.err).not.toContain('Check the id');
  });

  it('is told as unreachable where nothing listens', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const env = { INTERLOCK_URL: `http://127.0.0.1:${port}`, INTERLOCK_PRODUCER_KEY: 'il_x' };
    const ran = await interlock(['tasks', 'list'], { env });
    expect(ran).toMatchObject({ code: 68, out: '' });
    expect(ran.err).toMatch(/refused the connection \(ECONNREFUSED\)[\s\S]+next /);
  });

  it.each([
    [200, 'text/html', '<html>Sign in</html>'],
    [502, 'text/html', '<html>Bad gateway</html>'],
    [200, 'application/json', '{}'],
    [200, 'application/json', ''],
  ])('is told as something else where it says %i %s', async (status, type, body) => {
    const server = createServer((_request, response) => {
      response.writeHead(status, { 'Content-Type': type }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const env = { INTERLOCK_URL: `http://127.0.0.1:${port}`, INTERLOCK_PRODUCER_KEY: 'il_x' };
    const ran = await interlock(['tasks', 'list'], { env });
    expect(ran).toMatchObject({ code: 76, out: '' });
    expect(ran.err).toMatch(/code {3}NOT_THE_CONTRACT/);
  });
});
